// Searches texts for operations that are not supported.
#include "stablehlo/text/unsupported.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "stablehlo/text/lexer.h"
#include "stablehlo/text/types.h"

namespace tessera::stablehlo {
namespace {

constexpr size_t kMostPlaces = 3;

bool IsNameLetter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
}

std::string_view WordAt(std::string_view line, size_t begin) {
  size_t end = begin;
  while (end < line.size() && IsNameLetter(line[end])) ++end;
  return line.substr(begin, end - begin);
}

// Returns the text after `mark` up to `end`; "" if the line has no mark.
std::string_view Between(std::string_view line, std::string_view mark, char end) {
  const size_t begin = line.find(mark);
  if (begin == line.npos) return "";
  const std::string_view behind = line.substr(begin + mark.size());
  return behind.substr(0, behind.find(end));
}

// Returns where the operation of a line begins: after `%0, %1 = `.
size_t BeginOfOperation(std::string_view line) {
  size_t begin = line.find_first_not_of(" \t");
  if (begin == line.npos || line[begin] != '%') return begin;
  begin = line.find(" = ", begin);
  return begin == line.npos ? begin : line.find_first_not_of(' ', begin + 3);
}

class Search {
 public:
  Search(Loc file, IsSupported is_supported) : file_(file), is_supported_(is_supported) {}

  void Line(std::string_view line, size_t place, int number) {
    const Loc loc = file_.line() != 0 ? file_ : base::LineOf(file_.file(), number);
    const size_t begin = BeginOfOperation(line);
    if (begin == line.npos) return;
    const bool quoted = line[begin] == '"';
    const std::string_view name =
        quoted ? Between(line.substr(begin), "\"", '"') : WordAt(line, begin);
    if (name.find('.') != name.npos && !IsOfModule(name)) {
      const std::string_view target = name != "stablehlo.custom_call" ? ""
                                      : quoted ? Between(line, "call_target_name = \"", '"')
                                               : Between(line, "custom_call @", '(');
      if (!is_supported_(name, target))
        unsupported.Add(ShownName(name, target), place + begin, loc);
    }
    for (size_t at = line.find_first_of("#!\"", begin); at != line.npos;
         at = line.find_first_of("#!\"", at + 1)) {
      if (line[at] == '"') {
        at = std::min(line.find('"', at + 1), line.size() - 1);
        continue;
      }
      const std::string_view word = WordAt(line, at + 1);
      const std::string_view dialect = word.substr(0, word.find('.'));
      if (dialect != word && !IsKnownDialect(dialect) && dialect != "quant")
        unsupported.Add(fmt::format("{}{}", line[at], word), place + at, loc);
    }
  }

  Unsupported unsupported;

 private:
  static bool IsOfModule(std::string_view name) {
    return name == "func.func" || name == "sdy.mesh" || name == "builtin.module";
  }

  const Loc file_;
  const IsSupported is_supported_;
};

}  // namespace

void FailAtUnknownPart(std::string_view text, Loc file, size_t place, std::string reason) {
  try {
    FailInText(text, file, place, std::move(reason));
  } catch (const RuntimeError& e) {
    throw UnknownPartError(e.detail());
  }
}

void Unsupported::Add(const std::string& name, size_t place, Loc loc) {
  Part& part = parts_[name];
  if (part.count++ == 0) part.place = place;
  if (part.first.size() < kMostPlaces) part.first.push_back(loc);
}

void Unsupported::Fail(std::string_view text, Loc file) const {
  std::vector<std::string> notes;
  size_t place = std::string::npos;
  bool are_operations = true;
  for (const auto& [name, part] : parts_) {
    std::vector<std::string> lines;
    for (Loc loc : part.first) lines.push_back(base::Where(loc));
    notes.push_back(fmt::format("{} ({}): {}{}", name, base::CountText(part.count, "time"),
                                fmt::join(lines, ", "), part.count > lines.size() ? ", ..." : ""));
    place = std::min(place, part.place);
    are_operations = are_operations && name[0] != '#' && name[0] != '!';
  }
  const char* what = !are_operations      ? "these parts are"
                     : parts_.size() == 1 ? "this operation is"
                                          : "these operations are";
  FailInText(text, file, place, fmt::format("{} not supported: {}", what, fmt::join(notes, "; ")));
}

std::string ShownName(std::string_view operation, std::string_view target) {
  return target.empty() ? std::string(operation) : fmt::format("{} @{}", operation, target);
}

Unsupported UnsupportedIn(std::string_view text, Loc file, IsSupported is_supported) {
  Search search(file, is_supported);
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    search.Line(text.substr(begin, end - begin), begin, ++number);
    begin = end + 1;
  }
  return std::move(search.unsupported);
}

}  // namespace tessera::stablehlo
