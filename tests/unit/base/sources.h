// The sources of the project as text, for the tests of what they must keep to as a whole.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
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

// Returns a file's path inside of the project.
inline std::string Inside(const std::filesystem::path& file) {
  return std::filesystem::relative(file, kRoot).string();
}

}  // namespace tessera
