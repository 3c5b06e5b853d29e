// The sources of the project as text, for tests of rules that all sources keep.
#pragma once
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace tessera {

inline const std::filesystem::path kRoot = TESSERA_SOURCE_DIR;

inline std::string Text(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<std::string> Lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Returns the .h and .cc files below a folder of the project.
inline std::vector<std::filesystem::path> Sources(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::exists(kRoot / folder)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / folder)) {
    const std::string extension = entry.path().extension();
    if (entry.is_regular_file() && (extension == ".h" || extension == ".cc"))
      files.push_back(entry.path());
  }
  return files;
}

// Returns the path of a file relative to the project.
inline std::string Inside(const std::filesystem::path& file) {
  return std::filesystem::relative(file, kRoot).string();
}

// Returns the function defined at the line, as `Name` or `Class::Name`, if other files can link
// to it.
inline std::optional<std::string> FunctionAt(const std::vector<std::string>& lines, size_t i) {
  static const std::regex declarator(
      R"(^([^=(]*?[\s&*>])?((?:\w+::)*(?:operator[^\s(]+|~?\w+))\()");
  static const std::set<std::string> kLocal = {"static", "inline", "constexpr", "template", "class",
                                               "struct", "enum",   "using",     "namespace"};
  const std::string& line = lines[i];
  if (line.empty() || !(isalpha(line[0]) || line[0] == '[' || line[0] == ':')) return std::nullopt;
  if (kLocal.contains(line.substr(0, line.find_first_of(" <")))) return std::nullopt;
  if (i > 0 && lines[i - 1].starts_with("template")) return std::nullopt;
  // Reads to the body. A declaration has none.
  std::string head = line;
  for (size_t j = i + 1; head.find_first_of("{;") == std::string::npos && j < lines.size(); ++j)
    head += lines[j];
  std::smatch match;
  if (!std::regex_search(head, match, declarator)) return std::nullopt;
  const size_t body = head.find('{'), end = head.find(';');
  if (body == std::string::npos || end < body) return std::nullopt;
  const std::string name = match[2];
  return std::isupper(name[0]) &&
                 name.find_first_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos
             ? std::nullopt  // a macro
             : std::optional(name);
}

// Returns the functions of a source that other files can link to.
inline std::vector<std::string> FunctionsOf(const std::vector<std::string>& lines) {
  std::vector<std::string> names;
  // hidden: depth at which an anonymous namespace begins; depth: of namespaces
  int hidden = 0, depth = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.starts_with("namespace ")) {
      ++depth;
      if (hidden == 0 && (line == "namespace {" || line.find("HWY_NAMESPACE") != std::string::npos))
        hidden = depth;
    } else if (line.starts_with("}  // namespace")) {
      if (hidden == depth) hidden = 0;
      --depth;
    } else if (hidden == 0) {
      if (auto name = FunctionAt(lines, i)) names.push_back(*name);
    }
  }
  return names;
}

}  // namespace tessera
