// Unicode: decomposition, categories and lower case are those of utf8proc.
#include "wordpiece.h"

#include <utf8proc.h>

#include <array>
#include <fstream>
#include <stdexcept>

namespace minilm {
namespace {

constexpr size_t kLongestWord = 100;  // characters; a longer word is unknown

bool is_white(int32_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 ||
         utf8proc_category(c) == UTF8PROC_CATEGORY_ZS ||
         utf8proc_category(c) == UTF8PROC_CATEGORY_ZL ||
         utf8proc_category(c) == UTF8PROC_CATEGORY_ZP;
}

// Controls, formats, surrogates and private use.
bool is_control(int32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
      return true;
    default:
      return false;
  }
}

bool is_punctuation(int32_t c) {
  if (c < 128) return c > ' ' && c < 127 && !std::isalnum(c);
  const utf8proc_category_t category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_chinese(int32_t c) {
  constexpr std::array<std::pair<int32_t, int32_t>, 8> kBlocks{{{0x4E00, 0x9FFF},
                                                                {0x3400, 0x4DBF},
                                                                {0x20000, 0x2A6DF},
                                                                {0x2A700, 0x2B73F},
                                                                {0x2B740, 0x2B81F},
                                                                {0x2B920, 0x2CEAF},
                                                                {0xF900, 0xFAFF},
                                                                {0x2F800, 0x2FA1F}}};
  for (const auto& [first, last] : kBlocks)
    if (c >= first && c <= last) return true;
  return false;
}

void append(std::string& out, int32_t c) {
  std::array<utf8proc_uint8_t, 4> bytes;
  const auto size = static_cast<size_t>(utf8proc_encode_char(c, bytes.data()));
  out.append(bytes.begin(), bytes.begin() + size);
}

// Collects words from characters.
class Words {
 public:
  // Ends the last word.
  void end() { open_ = false; }
  // Adds a character without its accents and in lower case. A punctuation mark is a word.
  void add(int32_t c) {
    std::array<utf8proc_int32_t, 32> parts;
    int last_class = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(c, parts.data(), parts.size(), UTF8PROC_DECOMPOSE, &last_class);
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      const int32_t part = parts[static_cast<size_t>(i)];
      if (utf8proc_category(part) == UTF8PROC_CATEGORY_MN) continue;
      const bool alone = is_punctuation(part);
      if (alone || !open_) words_.emplace_back();
      append(words_.back(), utf8proc_tolower(part));
      open_ = !alone;
    }
  }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
  bool open_ = false;  // whether the last word may grow
};

// Returns the words of a text. A punctuation mark and a Chinese character are words.
std::vector<std::string> words_of(std::string_view text) {
  Words words;
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t size = utf8proc_iterate(at, left, &c);
    at += size > 0 ? size : 1, left -= size > 0 ? size : 1;
    if (size <= 0 || c == 0xFFFD || is_control(c)) continue;  // not UTF-8, or not visible
    const bool white = is_white(c), alone = white || is_chinese(c);
    if (alone) words.end();
    if (!white) words.add(c);
    if (alone) words.end();
  }
  return words.take();
}

// Returns where the character before position `end` starts.
size_t start_of_last(std::string_view text, size_t end) {
  do --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

}  // namespace

WordPiece::WordPiece(const std::vector<std::string>& tokens) {
  for (const std::string& token : tokens)
    numbers_.emplace(token, static_cast<int32_t>(numbers_.size()));
  unknown_ = special("[UNK]"), first_ = special("[CLS]"), last_ = special("[SEP]");
}

int32_t WordPiece::special(const char* token) const {
  const auto found = numbers_.find(token);
  if (found == numbers_.end())
    throw std::runtime_error(std::string("the vocabulary has no ") + token);
  return found->second;
}

WordPiece WordPiece::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> tokens;
  for (std::string line; std::getline(file, line);) tokens.push_back(line);
  if (tokens.empty()) throw std::runtime_error(path + ": cannot be read");
  return WordPiece(tokens);
}

WordPiece WordPiece::letters() {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
  for (char c = '!'; c < 127; ++c) {
    tokens.emplace_back(1, c);
    tokens.push_back(std::string("##") + c);
  }
  return WordPiece(tokens);
}

// The longest piece that the vocabulary has comes first, then the longest of the rest.
void WordPiece::add_word(std::string_view word, std::vector<int32_t>& ids) const {
  const size_t known = ids.size();
  size_t begin = 0;
  if (count_characters(word) <= kLongestWord) {
    while (begin < word.size()) {
      size_t end = word.size();
      for (; end > begin; end = start_of_last(word, end)) {
        const auto found =
            numbers_.find((begin ? "##" : "") + std::string(word.substr(begin, end - begin)));
        if (found == numbers_.end()) continue;
        ids.push_back(found->second);
        break;
      }
      if (end == begin) break;
      begin = end;
    }
  }
  if (begin == word.size()) return;
  ids.resize(known);
  ids.push_back(unknown_);
}

std::vector<int32_t> WordPiece::encode(std::string_view text, size_t most) const {
  std::vector<int32_t> ids = {first_};
  for (const std::string& word : words_of(text)) {
    add_word(word, ids);
    if (ids.size() >= most) break;
  }
  ids.resize(std::min(ids.size(), most - 1));
  ids.push_back(last_);
  return ids;
}

}  // namespace minilm
