// BERT's tokens: words, and pieces of the words that the vocabulary lacks.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace minilm {

// Splits text as Hugging Face's BertNormalizer, BertPreTokenizer and WordPiece do for models in
// lower case, but a text that names a special token, such as [SEP], does not get one.
class WordPiece {
 public:
  // Reads a vocabulary: one token per line, whose number is its line. Throws std::runtime_error if
  // the file cannot be read or lacks [UNK], [CLS] or [SEP].
  static WordPiece load(const std::string& path);
  // Returns a vocabulary of letters and digits, for weights that nobody trained.
  static WordPiece letters();

  // Returns [CLS], the tokens of the text and [SEP]: at most `most` numbers.
  std::vector<int32_t> encode(std::string_view text, size_t most) const;

 private:
  explicit WordPiece(const std::vector<std::string>& tokens);
  int32_t special(const char* token) const;
  void add_word(std::string_view word, std::vector<int32_t>& ids) const;

  std::unordered_map<std::string, int32_t> numbers_;
  int32_t unknown_ = 0, first_ = 0, last_ = 0;
};

}  // namespace minilm
