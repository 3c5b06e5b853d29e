// Fixes that are code repeat the call as the user wrote it. The sources are read for functions
// that would leave a parameter out.
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>

#include "unit/base/sources.h"

namespace tessera::call_code_test {
namespace {

// A function at the first column: the text of its parameters and of its body.
struct SourceFunction {
  std::string name;
  std::vector<std::string> parameters;
  std::string body;
};

// Returns the index after the bracket that closes the one before `at`, or the end.
size_t Closed(const std::string& text, size_t at) {
  for (int depth = 1; at < text.size() && depth > 0; ++at)
    depth += std::string("({[").find(text[at]) != std::string::npos   ? 1
             : std::string(")}]").find(text[at]) != std::string::npos ? -1
                                                                      : 0;
  return at;
}

// Returns the parts between commas of the text that begins at `at`, at most this many, up to the
// bracket that closes it.
std::vector<std::string> Parts(const std::string& text, size_t at, size_t most = 100) {
  std::vector<std::string> parts(1);
  for (; at < text.size() && parts.size() <= most; ++at) {
    const char c = text[at];
    if (c == ')') break;
    if (std::string("({[").find(c) != std::string::npos) {
      const size_t end = Closed(text, at + 1);
      parts.back() += text.substr(at, end - at);
      at = end - 1;
    } else if (c == ',') {
      parts.emplace_back();
    } else if (c != '\n') {
      parts.back() += c;
    }
  }
  return parts;
}

std::vector<SourceFunction> FunctionsIn(const std::vector<std::string>& lines) {
  std::vector<SourceFunction> functions;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || !isalpha(lines[i][0]) || lines[i].starts_with("namespace")) continue;
    std::string text = lines[i];
    while (text.find_first_of("{;") == std::string::npos && i + 1 < lines.size())
      text += "\n" + lines[++i];
    const size_t open = text.find('(');
    if (open == std::string::npos || text.back() != '{') continue;
    while (i + 1 < lines.size() && lines[i] != "}") text += "\n" + lines[++i];
    size_t name = open;
    while (name > 0 && (isalnum(text[name - 1]) || text[name - 1] == '_')) --name;
    functions.push_back({text.substr(name, open - name), Parts(text, open + 1),
                         text.substr(Closed(text, open + 1))});
  }
  return functions;
}

bool HasWord(const std::string& text, const std::string& word) {
  return std::regex_search(text, std::regex("\\b" + word + "\\b"));
}

// Returns the text of the arguments that the calls of AsOne in a body name.
std::string ArgumentsIn(const std::string& body) {
  static const std::regex call(R"(\b(AsOne|AsOneWith|RunAsOne)\()"), variable(R"(\s*(\w+)[\w.]*)");
  std::string named;
  for (std::sregex_iterator m(body.begin(), body.end(), call), end; m != end; ++m) {
    const std::vector<std::string> parts =
        Parts(body, static_cast<size_t>(m->position() + m->length()), 2);
    if (parts.size() < 2) continue;
    std::smatch name;
    named += parts[1];
    if (!std::regex_match(parts[1], name, variable)) continue;
    // The statements that make a list of arguments.
    std::istringstream statements(body.substr(0, static_cast<size_t>(m->position())));
    for (std::string s; std::getline(statements, s, ';');)
      if (HasWord(s, name[1])) named += s;
  }
  return named;
}

// Returns the parameters that the code of the call would leave out. Functions of several names are
// checked for their options alone, and so are those that write the code themselves.
std::vector<std::string> LeftOut(const SourceFunction& f) {
  std::vector<std::string> left_out;
  const std::string named = ArgumentsIn(f.body);
  if (named.empty()) return left_out;
  const bool all = f.body.find("Call call{\"") != std::string::npos && named != " {}" &&
                   f.body.find("{.code = ") == std::string::npos;
  const auto operands =
      std::count_if(f.parameters.begin(), f.parameters.end(), [](const std::string& p) {
        return HasWord(p, "Operand") && p.find('<') == std::string::npos;
      });
  for (const std::string& parameter : f.parameters) {
    static const std::regex declaration(R"(\s*(?:const )?(.*?)[&\s]+(\w+)(?: = .*)?)");
    std::smatch m;
    if (!std::regex_match(parameter, m, declaration) || m[1] == "Loc" || m[1] == "Call") continue;
    const std::string type = m[1], name = m[2];
    if (!type.ends_with("Options") && !all) continue;
    const bool needs_name = all && type == "Operand" && operands > 2;
    if (!(needs_name ? std::regex_search(named, std::regex("\", *" + name + "\\}"))
                     : HasWord(named, name)))
      left_out.push_back(f.name + ": " + name);
  }
  return left_out;
}

std::vector<std::string> LeftOutIn(const std::vector<std::string>& lines, size_t* functions) {
  std::vector<std::string> all;
  for (const SourceFunction& f : FunctionsIn(lines)) {
    *functions += !ArgumentsIn(f.body).empty();
    for (std::string& one : LeftOut(f)) all.push_back(std::move(one));
  }
  return all;
}

TEST(CallCode, HasAllParameters) {
  size_t functions = 0;
  for (const std::filesystem::path& file : Sources("src/api"))
    EXPECT_THAT(LeftOutIn(Lines(file), &functions), testing::IsEmpty())
        << Inside(file) << ": name the parameters in the arguments of AsOne";
  EXPECT_GT(functions, 250u);
}

TEST(CallCode, IsReadFromSources) {
  const std::vector<std::string> lines = {
      "Array roll(Operand x, int64_t shift,",
      "           RollOptions options, Loc loc) {",
      "  const Call call{\"roll\", loc};",
      "  return AsOne(call, {x}, [&](const Operand& a) { return Rolled(a, shift, options); });",
      "}",
      "static Array Both(const char* name, const Operand& x, const RollOptions& options, Loc loc) "
      "{",
      "  Arguments given{x};",
      "  return AsOne({name, loc}, given, [&](const Operand& a) { return Rolled(a, options); });",
      "}",
      "Array fill(Operand x, Operand low, Operand high, FillOptions options, Loc loc) {",
      "  const Call call{\"fill\", loc};",
      "  Arguments given{{\"operand\", x}, {\"low\", low}, high};",
      "  given.emplace_back(options);",
      "  return AsOne(call, given, [&](const Operands& xs) { return Filled(xs, options); });",
      "}",
  };
  size_t functions = 0;
  EXPECT_THAT(LeftOutIn(lines, &functions),
              testing::ElementsAre("roll: shift", "roll: options", "Both: options", "fill: high"));
  EXPECT_EQ(functions, 3u);
}

}  // namespace
}  // namespace tessera::call_code_test
