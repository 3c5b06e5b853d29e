// docs/coverage.md: every public function of JAX 0.10.2's modules with ours, or why there is none;
// their options, and every operation of its texts.
//
// tests/coverage has a file per module, with a line per name: the name, TAB, our function. Or TAB
// `!` TAB why it is missing; or TAB `~` TAB why it is left out of the count. A function of ours
// counts if the tables have rows of it: tests/functions, or tests/conformance under JAX's name.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "functions/coverage_options.h"
#include "functions/coverage_stablehlo.h"
#include "functions/rows.h"

namespace tessera::functions {

namespace {

const std::filesystem::path kRoot = TESSERA_SOURCE_DIR;

std::vector<std::string> LinesOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The functions of the public headers, with their namespaces inside tessera.
std::set<std::string> PublicFunctions() {
  static const std::regex space("^namespace (?:TESSERA_PUBLIC )?(\\w+) \\{"),
      end("^\\}  // namesp"), name("(?:^|[\\s>&*])(\\w+)\\(");
  std::set<std::string> found;
  for (const auto& header : std::filesystem::directory_iterator(kRoot / "include/tessera")) {
    std::vector<std::string> inside = {""};  // per open namespace
    for (const std::string& line : LinesOf(header.path())) {
      const std::string code = line.substr(0, line.find("//"));
      std::smatch m;
      if (std::regex_search(code, m, space) && m[1] != "tessera" && m[1] != "detail" &&
          m[1] != "trace")
        inside.push_back(inside.back() + m[1].str() + "::");
      if (std::regex_search(line, end) && inside.size() > 1) inside.pop_back();
      for (std::sregex_iterator at(code.begin(), code.end(), name), none; at != none; ++at)
        found.insert(inside.back() + (*at)[1].str());
    }
  }
  return found;
}

// The ops that the tables of measured values and types name, as JAX writes them.
std::set<std::string> MeasuredOps() {
  std::set<std::string> found;
  const std::string key = "\"op\":";
  for (const char* kind : {"values", "explicit", "random"})
    for (const auto& table :
         std::filesystem::directory_iterator(kRoot / "tests/conformance" / kind))
      for (const std::string& line : LinesOf(table.path()))
        for (size_t at = line.find(key); at != std::string::npos; at = line.find(key, at + 1)) {
          const size_t first = line.find('"', at + key.size()) + 1;
          found.insert(line.substr(first, line.find('"', first) - first));
        }
  return found;
}

// The ops of docs/ops.md. Each has samples (OpSuite.HasSamples).
std::set<std::string> Ops() {
  static const std::regex title("^#+ `?(\\w+)`?$");
  std::set<std::string> found;
  for (const std::string& line : LinesOf(kRoot / "docs/ops.md"))
    if (std::smatch m; std::regex_search(line, m, title)) found.insert(m[1]);
  return found;
}

// Returns "linalg.det" for "linalg::det".
std::string Dotted(const std::string& name) {
  const size_t at = name.find("::");
  return at == std::string::npos ? name : name.substr(0, at) + "." + name.substr(at + 2);
}

struct Module {
  const char* name;
  const char* prefix;  // of its functions in the conformance tables
  int goal;            // percent
};
constexpr Module kModules[] = {{"lax", "", 95},
                               {"numpy", "np.", 90},
                               {"nn", "nn.", 100},
                               {"nn.initializers", "", 100},
                               {"scipy.special", "special.", 90},
                               {"numpy.linalg", "np.linalg.", 90},
                               {"scipy.linalg", "scipy.linalg.", 90},
                               {"numpy.fft", "np.fft.", 100},
                               {"scipy.ndimage", "scipy.ndimage.", 100},
                               {"scipy.signal", "scipy.signal.", 90},
                               {"scipy.stats", "scipy.stats.", 90}};

struct Line {
  std::string name, ours, reason;
  bool counts = true, has_rows = false;
};

class Coverage {
 public:
  Coverage() : functions_(PublicFunctions()), measured_(MeasuredOps()), ops_(Ops()) {
    for (const Row* row : AllRows())
      rows_.insert(std::string(row->name.substr(0, row->name.find('.'))));
  }

  std::vector<Line> Of(const Module& module) const {
    std::vector<Line> lines;
    for (const std::string& text :
         LinesOf(kRoot / "tests/coverage" / (std::string(module.name) + ".txt"))) {
      std::vector<std::string> parts(1);
      for (char c : text) c == '\t' ? void(parts.emplace_back()) : parts.back().push_back(c);
      Line line{parts[0], "", parts.size() == 3 ? parts[2] : ""};
      line.counts = parts.size() != 3 || parts[1] != "~";
      if (parts.size() == 2) line.ours = parts[1];
      EXPECT_TRUE(parts.size() == 2 || (parts.size() == 3 && parts[1].size() == 1)) << text;
      EXPECT_TRUE(line.ours.empty() || functions_.contains(line.ours))
          << line.name << " of " << module.name << ": there is no function " << line.ours;
      const auto is_measured = [&](const std::string& op) { return measured_.contains(op); };
      line.has_rows = rows_.contains(line.ours) || ops_.contains(line.ours) ||
                      is_measured(module.prefix + line.name) ||
                      is_measured("np." + Dotted(line.ours));
      lines.push_back(std::move(line));
    }
    EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
      return a.name < b.name;
    })) << module.name;
    return lines;
  }

 private:
  const std::set<std::string> functions_, measured_, ops_;
  std::set<std::string> rows_;
};

// Returns "3 of 4: no `a`, `b` (a reason)", or nothing for a function without options.
std::string OptionText(const OptionCoverage& options) {
  if (options.all == 0) return "";
  std::string text = std::to_string(options.ours) + " of " + std::to_string(options.all);
  for (size_t i = 0; i < options.missing.size(); ++i)
    text += (i == 0 ? ": no " : ", ") + options.missing[i];
  return text;
}

// Adds a module's row of the summary, and its table.
void AddModule(const Module& module, const Coverage& coverage, OptionTable& options,
               std::stringstream& summary, std::stringstream& tables) {
  size_t all = 0, counted = 0, options_all = 0, options_ours = 0;
  tables << "\n## jax." << module.name << "\n\n| JAX | ours | options |\n|---|---|---|\n";
  for (const Line& line : coverage.Of(module)) {
    all += line.counts;
    counted += line.has_rows && !line.ours.empty();
    const std::string ours = line.ours.empty()
                                 ? line.reason
                                 : "`" + line.ours + "`" + (line.has_rows ? "" : " (without rows)");
    OptionCoverage of;
    if (!line.ours.empty()) of = options.Of(module.name, line.name, line.ours);
    options_all += of.all;
    options_ours += of.ours;
    tables << "| `" << line.name << "` | " << (line.counts ? "" : "not counted: ") << ours << " | "
           << OptionText(of) << " |\n";
  }
  summary << "| `jax." << module.name << "` | " << all << " | " << counted << " | "
          << 100 * counted / all << " % | " << module.goal << " % | " << options_ours << " of "
          << options_all << " |\n";
}

std::string Page() {
  const Coverage coverage;
  OptionTable options;
  const OperationPages operations = PagesOfOperations();
  std::stringstream summary, tables;
  for (const Module& module : kModules) AddModule(module, coverage, options, summary, tables);
  for (const std::string& unused : options.Unused())
    ADD_FAILURE() << "tests/coverage/renames.txt: no option needs " << unused;
  return "# Coverage of JAX's functions and operations\n\nGenerated by `UPDATE_GOLDEN=1 "
         "build/tests/functions_tests --gtest_filter='CoveragePage*'` from the names in\n"
         "`tests/coverage`. A name counts if a function of ours has rows in `tests/functions` or "
         "`tests/conformance`,\nor is an op with samples in `tests/suite`.\n\nThe options of a "
         "function are the parameters with a "
         "default of JAX 0.10.2 (`tests/coverage/options.py`). Ours are the\nparameters and the "
         "fields "
         "of option structs in the headers, under the names that `tests/coverage/renames.txt` "
         "gives\n"
         "them. Options that say nothing here, such as `out`, are left out of the count.\n\n"
         "| module | names | counted | share | goal | options |\n"
         "|---|---|---|---|---|---|\n" +
         summary.str() +
         "\nThe operations of StableHLO's dialects and the custom calls of JAX come last. Each one "
         "that is not read has a\nreason; those that are written are enough for every program.\n\n"
         "| dialect | operations | read | written |\n|---|---|---|---|\n" +
         operations.summary + tables.str() + operations.tables;
}

TEST(CoveragePage, IsUpToDate) {
  const std::filesystem::path path = kRoot / "docs/coverage.md";
  const std::string page = Page();
  if (std::getenv("UPDATE_GOLDEN")) {
    std::ofstream(path) << page;
    return;
  }
  std::ifstream file(path);
  std::stringstream old;
  old << file.rdbuf();
  EXPECT_TRUE(old.str() == page)
      << "run UPDATE_GOLDEN=1 functions_tests --gtest_filter='CoveragePage*'";
}

}  // namespace
}  // namespace tessera::functions
