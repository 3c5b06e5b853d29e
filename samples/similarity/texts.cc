// Finding and reading text files, and counting their n-grams in columns chosen by a hash.
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

// Returns the text in lower case, with each run of white space as one blank, and none at the ends.
std::string normalize(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool blank = c == ' ' || (c >= '\t' && c <= '\r');
    if (!blank) {
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// FNV-1a, with its bits mixed once more, because only the low ones select the column.
uint64_t hash(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  h ^= h >> 32;
  return h * 0x9e3779b97f4a7c15 >> 16;
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

std::vector<float> count_ngrams(std::string_view text, int64_t size) {
  std::vector<float> counts(static_cast<size_t>(size));
  std::string plain = normalize(text);
  for (size_t n = 3; n <= 5; ++n) {
    for (size_t i = 0; i + n <= plain.size(); ++i) {
      counts[hash(std::string_view(plain).substr(i, n)) % counts.size()] += 1;
    }
  }
  return counts;
}
