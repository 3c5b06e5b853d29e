// conformance_runner [options] FILE.jsonl...: runs conformance tables and reports differences.
// With --rules, tables of propagation are run with the rules of our ops, which are compared, too;
// with --frontend, as programs of ours.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "isolate.h"
#include "propagation.h"
#include "typing.h"
#include "values.h"

namespace tessera::conformance {
namespace {

struct Options {
  bool verbose = false, stats = false, rules = false, frontend = false;
  std::string only;
  std::string families = CONFORMANCE_FAMILIES;
  std::string rule_differences = CONFORMANCE_RULE_DIFFERENCES;
  std::vector<std::string> files;
};

constexpr std::array<const char*, 6> kKinds = {"same",      "accepts more", "refuses",
                                               "different", "wrong place",  "unsupported"};

struct Tally {
  std::array<int, kKinds.size()> kinds{};
  int passed = 0, failed = 0, skipped = 0, loose = 0, resharded = 0;
  std::map<std::string, int> families;

  void Add(const Outcome& o) {
    ++kinds[static_cast<size_t>(o.kind)];
    ++(o.kind == Kind::kUnsupported ? skipped : o.passed ? passed : failed);
    loose += o.loose;
    resharded += o.resharded;
    if (o.passed && !o.family.empty()) ++families[o.family];
  }
  std::string KindLine() const {
    std::string line;
    for (size_t i = 0; i < kinds.size(); ++i) {
      line += fmt::format("{}{} {}", i ? ", " : "", kKinds[i], kinds[i]);
    }
    return line;
  }
};

void Print(const Case& c, const Outcome& o, bool verbose) {
  const char* kind = kKinds[static_cast<size_t>(o.kind)];
  if (o.kind == Kind::kSame) {
    if (verbose) fmt::print("{}: same{}\n", c.id, o.loose ? " (loose)" : "");
  } else if (o.kind == Kind::kUnsupported) {
    if (verbose) fmt::print("{}: unsupported: {}\n", c.id, o.came);
  } else {
    std::string family = o.family.empty() ? "" : " (" + o.family + ")";
    fmt::print("{} {}: {}{}: expected {}; came {}\n", o.passed ? "pass" : "FAIL", c.id, kind,
               family, o.expected, o.came);
  }
}

void Summarize(const Tally& tally, const std::map<std::string, Tally>& themes, bool stats) {
  if (stats) {
    for (const auto& [theme, t] : themes) fmt::print("{:<18} {}\n", theme, t.KindLine());
    for (const auto& [family, n] : tally.families) fmt::print("family {}: {}\n", family, n);
  }
  fmt::print("loose {}, resharded {}\n", tally.loose, tally.resharded);
  fmt::print("{}\n", tally.KindLine());
  fmt::print("{} passed, {} failed, {} skipped\n", tally.passed, tally.failed, tally.skipped);
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    bool more = i + 1 < argc;
    if (arg == "--verbose")
      options.verbose = true;
    else if (arg == "--stats")
      options.stats = true;
    else if (arg == "--rules")
      options.rules = true;
    else if (arg == "--frontend")
      options.frontend = true;
    else if (arg == "--only" && more)
      options.only = argv[++i];
    else if (arg == "--families" && more)
      options.families = argv[++i];
    else if (arg.rfind("--", 0) == 0)
      throw std::runtime_error("unknown option " + arg);
    else
      options.files.push_back(arg);
  }
  if (options.files.empty()) {
    throw std::runtime_error(
        "usage: conformance_runner [--verbose] [--stats] [--rules | --frontend] [--only ID] "
        "[--families FILE] "
        "FILE.jsonl...");
  }
  return options;
}

int RunTables(const Options& options) {
  Families families = Families::Load(options.families);
  RuleDifferences differences = RuleDifferences::Load(options.rule_differences);
  Tally tally;
  std::map<std::string, Tally> themes;
  for (const std::string& file : options.files) {
    Table table = LoadTable(file);
    std::vector<const Case*> cases;
    for (const Case& c : table.cases) {
      if (options.only.empty() || c.id == options.only) cases.push_back(&c);
    }
    Runner run = [&](const Case& c) {
      if (c.propagates() && options.frontend) return RunFrontend(c);
      if (c.propagates()) return options.rules ? RunRules(c, differences) : RunPropagation(c);
      return table.typing ? RunTyping(c, families) : RunValues(c, families);
    };
    std::vector<Outcome> outcomes = RunIsolated(cases, run, [] { SetDeviceCount(4); });
    for (size_t i = 0; i < cases.size(); ++i) {
      Print(*cases[i], outcomes[i], options.verbose);
      tally.Add(outcomes[i]);
      themes[cases[i]->theme].Add(outcomes[i]);
    }
  }
  Summarize(tally, themes, options.stats);
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::conformance

int main(int argc, char** argv) {
  try {
    return tessera::conformance::RunTables(tessera::conformance::ParseOptions(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "conformance_runner: %s\n", e.what());
    return 2;
  }
}
