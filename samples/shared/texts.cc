// Finds and reads text files.
#include "texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace fs = std::filesystem;

namespace samples {
namespace {

// Skips links: in /usr/share/common-licenses they are second names of files in the same folder.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
  }
  if (files.empty()) {
    throw std::runtime_error(fmt::format("{}: no files in this folder", folder.string()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_file(const fs::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string contents((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) {
    throw std::runtime_error(fmt::format("{}: cannot be read: {}", path.string(),
                                         errno ? std::strerror(errno) : "input error"));
  }
  return contents;
}

}  // namespace

std::vector<Text> read_texts(const std::vector<std::string>& paths) {
  std::vector<Text> texts;
  for (const std::string& path : paths) {
    std::error_code none;
    std::vector<fs::path> files =
        fs::is_directory(path, none) ? files_in(path) : std::vector<fs::path>{path};
    for (const fs::path& file : files) texts.push_back({file.filename().string(), read_file(file)});
  }
  return texts;
}

std::string licence_texts(const char* other) {
  const char* system = "/usr/share/common-licenses";
  std::error_code none;
  return fs::is_directory(system, none) ? system : other;
}

}  // namespace samples
