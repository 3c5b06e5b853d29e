// Joins a source file with the types of TESSERA_TYPES.
#include "cli/annotate.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <vector>

#include "cli/output.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// More types of one line are shown as `...`.
constexpr size_t kMostShown = 4;

[[noreturn]] void Fail(const std::string& reason) {
  throw std::runtime_error("tessera: " + reason);
}

std::string TextOf(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || fs::is_directory(path))
    Fail("cannot read " + path + ": " + ReasonOf({errno, std::generic_category()}));
  return text;
}

struct LineTypes {
  std::vector<std::string> types, ops;  // distinct types, and the op that made each
};

// Returns the number of last parts in which two paths agree.
size_t CommonParts(const fs::path& a, const fs::path& b) {
  const std::vector<fs::path> x(a.begin(), a.end()), y(b.begin(), b.end());
  size_t n = 0;
  while (n < std::min(x.size(), y.size()) && x[x.size() - 1 - n] == y[y.size() - 1 - n]) ++n;
  return n;
}

// Returns the file of the run that `path` names: the one with the most last parts in common, as
// the compiler may have been given another path to it.
std::string FileOfRun(const Json& values, const std::string& path) {
  const fs::path wanted = fs::absolute(path).lexically_normal();
  std::string best;
  size_t most = 0;
  for (const Json& v : values)
    if (const size_t n = CommonParts(wanted, fs::path(v["file"].get<std::string>())); n > most) {
      most = n;
      best = v["file"];
    }
  if (most == 0) Fail("the run made no value in " + path);
  return best;
}

std::map<int, LineTypes> TypesOfLines(const std::string& types, const std::string& path) {
  std::map<int, LineTypes> lines;
  try {
    const Json json = Json::parse(TextOf(types));
    const Json& values = json.at("values");
    const std::string file = FileOfRun(values, path);
    for (const Json& v : values) {
      if (v.at("file") != file || !v.at("result")) continue;
      LineTypes& line = lines[v.at("line")];
      const std::string type = v.at("type");
      if (std::ranges::find(line.types, type) != line.types.end()) continue;
      line.types.push_back(type);
      line.ops.push_back(v.at("op"));
    }
  } catch (const Json::exception&) {
    Fail(types + " is not a file of TESSERA_TYPES");
  }
  return lines;
}

std::string ListText(const std::vector<std::string>& types) {
  std::string text;
  for (size_t k = 0; k < std::min(types.size(), kMostShown); ++k)
    text += (k == 0 ? "" : " | ") + types[k];
  return text + (types.size() > kMostShown ? " | ..." : "");
}

// Returns the line without a comment of this command at its end.
std::string WithoutTypes(const std::string& line) {
  static const std::regex comment(
      R"re(^(.*\S)\s+// (?:\w+\[[^\]\s]*\](?:\{[^{}|]*\})*)(?: \| (?:\w+\[[^\]\s]*\](?:\{[^{}|]*\})*|\.\.\.))*$)re");
  std::smatch m;
  return std::regex_match(line, m, comment) ? m[1].str() : line;
}

void PrintComments(const std::string& source, const std::map<int, LineTypes>& lines,
                   std::ostream& out) {
  int number = 0;
  for (size_t at = 0; at < source.size(); ++number) {
    const size_t end = std::min(source.find('\n', at), source.size());
    std::string line = source.substr(at, end - at);
    const auto types = lines.find(number + 1);
    // A comment would end a macro, whose next line continues it.
    if (types != lines.end() && !line.ends_with('\\'))
      line = WithoutTypes(line) + "  // " + ListText(types->second.types);
    out << line << (end < source.size() ? "\n" : "");
    at = end + 1;
  }
}

void PrintHints(const std::string& source, const std::map<int, LineTypes>& lines,
                std::ostream& out) {
  constexpr int kTypeHint = 1;  // InlayHintKind.Type
  Json hints = Json::array();
  int number = 0;
  for (size_t at = 0; at < source.size(); ++number) {
    const size_t end = std::min(source.find('\n', at), source.size());
    if (const auto types = lines.find(number + 1); types != lines.end()) {
      std::string ops;
      for (const std::string& op : types->second.ops) ops += (ops.empty() ? "" : ", ") + op;
      hints.push_back(
          {{"position",
            {{"line", number}, {"character", WithoutTypes(source.substr(at, end - at)).size()}}},
           {"label", ListText(types->second.types)},
           {"kind", kTypeHint},
           {"paddingLeft", true},
           {"tooltip", ops}});
    }
    at = end + 1;
  }
  out << hints.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

}  // namespace

void PrintAnnotated(const AnnotateRequest& request, std::ostream& out) {
  const std::string source = TextOf(request.file);
  const std::map<int, LineTypes> lines = TypesOfLines(request.types, request.file);
  if (request.hints)
    PrintHints(source, lines, out);
  else
    PrintComments(source, lines, out);
}

}  // namespace tessera::cli
