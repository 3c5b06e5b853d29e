// Reads a text, numbers its characters, and computes the bigram baseline.
#include "text.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace train_lm {
namespace {

namespace fs = std::filesystem;

// Skips links: in /usr/share/common-licenses they are second names of files in the same folder.
std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string Text::decode(const std::vector<int32_t>& numbers) const {
  std::string text;
  for (int32_t n : numbers) text += static_cast<size_t>(n) < alphabet.size() ? alphabet[n] : '?';
  return text;
}

Text read_text(const std::string& path) {
  std::string bytes;
  for (const fs::path& file : files_of(path)) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw std::runtime_error(file.string() + ": cannot be read");
    bytes.append(std::istreambuf_iterator<char>(in), {});
  }
  if (bytes.size() < 10000)
    throw std::runtime_error(path + ": a text of at least 10000 characters is needed, this has " +
                             std::to_string(bytes.size()));
  Text text{.alphabet = bytes, .train = {}, .held_back = {}};
  std::sort(text.alphabet.begin(), text.alphabet.end());
  text.alphabet.erase(std::unique(text.alphabet.begin(), text.alphabet.end()), text.alphabet.end());
  const size_t train = bytes.size() / 10 * 9;
  for (size_t i = 0; i < bytes.size(); ++i)
    (i < train ? text.train : text.held_back)
        .push_back(static_cast<int32_t>(text.alphabet.find(bytes[i])));
  return text;
}

double bigram_loss(const Text& text) {
  const size_t n = text.alphabet.size();
  // Every count starts at one, so that unseen pairs are unlikely but not impossible.
  std::vector<double> counts(n * n, 1), totals(n, static_cast<double>(n));
  for (size_t i = 1; i < text.train.size(); ++i) {
    const auto before = static_cast<size_t>(text.train[i - 1]);
    ++counts[before * n + static_cast<size_t>(text.train[i])];
    ++totals[before];
  }
  double sum = 0;
  for (size_t i = 1; i < text.held_back.size(); ++i) {
    const auto before = static_cast<size_t>(text.held_back[i - 1]);
    sum -= std::log(counts[before * n + static_cast<size_t>(text.held_back[i])] / totals[before]);
  }
  return sum / static_cast<double>(text.held_back.size() - 1);
}

}  // namespace train_lm
