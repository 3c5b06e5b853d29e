// tests/coverage/options.txt has the options of JAX (options.py writes it). Ours are the parameters
// of the declarations in the public headers, and the fields of the structs that they take.
//
// tests/coverage/renames.txt has a line per difference: the option, `module:option` or, for one
// function, `module.name:option`. Then TAB, our names for it, or functions of ours that do it. Or
// TAB `!` TAB why it is missing; or TAB `~` TAB why it is left out of the count.
#include "functions/coverage_options.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace tessera::functions {

namespace {

const std::filesystem::path kRepository = TESSERA_SOURCE_DIR;

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (char c : text) c == at ? void(parts.emplace_back()) : parts.back().push_back(c);
  return parts;
}

// Returns the text without these brackets and their content.
std::string Without(const std::string& text, char open, char close) {
  std::string kept;
  int depth = 0;
  for (char c : text) {
    if (c == open) ++depth;
    if (depth == 0) kept.push_back(c);
    if (c == close && depth > 0) --depth;
  }
  return kept;
}

// Returns the last words of the parts of a list: the declared names. Defaults are left out.
std::set<std::string> DeclaredNames(const std::string& list) {
  static const std::regex last("(\\w+)\\s*$");
  std::set<std::string> names;
  const std::string plain = Without(Without(Without(list, '{', '}'), '<', '>'), '(', ')');
  for (const std::string& part : Split(plain, ',')) {
    const std::string declared = part.substr(0, part.find('='));
    if (std::smatch m; std::regex_search(declared, m, last)) names.insert(m[1]);
  }
  return names;
}

// Returns a header's code in one line, without comments and preprocessor lines.
std::string CodeOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string code;
  for (std::string line; std::getline(file, line);)
    if (line[0] != '#') code += line.substr(0, line.find("//")) + " ";
  return code;
}

// Returns the position after the bracket that closes the one at `at`.
size_t AfterBracket(const std::string& code, size_t at) {
  int depth = 0;
  do {
    if (code[at] == '(' || code[at] == '{') ++depth;
    if (code[at] == ')' || code[at] == '}') --depth;
    ++at;
  } while (depth > 0 && at < code.size());
  return at;
}

// Adds the fields of the structs in the code.
void AddStructs(const std::string& code, std::map<std::string, std::set<std::string>>& structs) {
  static const std::regex begin("struct (\\w+) (?:: [\\w ]+)?\\{");
  for (std::sregex_iterator m(code.begin(), code.end(), begin), end; m != end; ++m) {
    const size_t open = static_cast<size_t>(m->position() + m->length()) - 1;
    const std::string body = code.substr(open + 1, AfterBracket(code, open) - open - 2);
    for (const std::string& field : Split(Without(body, '{', '}'), ';'))
      structs[(*m)[1]].merge(DeclaredNames(field));
  }
}

// Adds the options of the functions in the code, by their names inside tessera.
void AddFunctions(const std::string& code,
                  const std::map<std::string, std::set<std::string>>& structs,
                  std::map<std::string, std::set<std::string>>& functions) {
  static const std::regex token("namespace (?:TESSERA_PUBLIC )?(\\w+) \\{|(\\w+)\\(|[{}]"),
      word("\\w+");
  std::vector<std::string> inside;  // the name before the function, at each open brace
  const auto end = code.end();
  std::smatch m;
  for (auto at = code.begin(); std::regex_search(at, end, m, token);) {
    const std::string space = inside.empty() ? "" : inside.back();
    at = m[0].second;
    if (m[1].matched) {
      inside.push_back(m[1] == "tessera" ? "" : space + m[1].str() + "::");
    } else if (m[0] == "{") {
      inside.push_back(space);
    } else if (m[0] == "}") {
      if (!inside.empty()) inside.pop_back();
    } else {
      const auto open = static_cast<size_t>(at - code.begin()) - 1;
      const size_t close = AfterBracket(code, open);
      const std::string list = code.substr(open + 1, close - open - 2);
      std::set<std::string>& options = functions[space + m[2].str()];
      options.merge(DeclaredNames(list));
      const std::string types = Without(list, '<', '>');
      for (std::sregex_iterator w(types.begin(), types.end(), word), none; w != none; ++w)
        if (const auto found = structs.find(w->str()); found != structs.end())
          options.insert(found->second.begin(), found->second.end());
      at = code.begin() + static_cast<long>(close);
    }
  }
}

}  // namespace

OptionTable::OptionTable() {
  std::map<std::string, std::set<std::string>> structs;
  std::vector<std::string> headers;
  for (const auto& header : std::filesystem::directory_iterator(kRepository / "include/tessera"))
    headers.push_back(CodeOf(header.path()));
  for (const std::string& code : headers) AddStructs(code, structs);
  for (const std::string& code : headers) AddFunctions(code, structs, ours_);
  std::ifstream options(kRepository / "tests/coverage/options.txt");
  EXPECT_TRUE(options) << "run tests/coverage/options.py";
  for (std::string line; std::getline(options, line);) {
    const std::vector<std::string> parts = Split(line, '\t');
    jax_[parts[0] + "." + parts[1]] = Split(parts[2], ' ');
  }
  std::ifstream renames(kRepository / "tests/coverage/renames.txt");
  EXPECT_TRUE(renames);
  for (std::string line; std::getline(renames, line);) {
    const std::vector<std::string> parts = Split(line, '\t');
    const bool has_reason = parts.size() == 3 && (parts[1] == "!" || parts[1] == "~");
    EXPECT_TRUE(parts.size() == 2 || has_reason) << line;
    EXPECT_TRUE(renames_.emplace(parts[0], Rename{parts[1], parts.back()}).second) << line;
  }
}

OptionTable::Rename* OptionTable::Find(const std::string& module, const std::string& name,
                                       const std::string& option) {
  for (const std::string& key : {module + "." + name + ":" + option, module + ":" + option, option})
    if (const auto found = renames_.find(key); found != renames_.end()) return &found->second;
  return nullptr;
}

OptionCoverage OptionTable::Of(const std::string& module, const std::string& name,
                               const std::string& ours) {
  OptionCoverage made;
  const auto jax = jax_.find(module + "." + name);
  if (jax == jax_.end()) return made;
  const std::set<std::string>& has = ours_[ours];
  for (const std::string& option : jax->second) {
    Rename* rename = Find(module, name, option);
    bool found = has.contains(option);
    if (!found && rename && rename->reason == rename->names)
      for (const std::string& other : Split(rename->names, ' '))
        found = found || has.contains(other) || ours_.contains(other);
    if (!found && rename) rename->used = true;
    if (found && rename && !has.contains(option)) rename->used = true;
    if (!found && rename && rename->names == "~") continue;
    ++made.all;
    made.ours += found;
    if (found) continue;
    const bool has_reason = rename && rename->names == "!";
    made.missing.push_back("`" + option + "`" + (has_reason ? " (" + rename->reason + ")" : ""));
  }
  return made;
}

std::set<std::string> OptionTable::Taking(const std::string& option) const {
  std::set<std::string> names;
  for (const auto& [name, options] : ours_)
    if (options.contains(option)) names.insert(name);
  return names;
}

std::vector<std::string> OptionTable::Unused() const {
  std::vector<std::string> lines;
  for (const auto& [key, rename] : renames_)
    if (!rename.used) lines.push_back(key);
  return lines;
}

}  // namespace tessera::functions
