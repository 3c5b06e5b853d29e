// Counts n-grams in columns chosen by a hash.
#include "ngrams.h"

namespace {

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
