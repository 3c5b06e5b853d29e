// A text as numbers: its characters are the bytes that occur in it, in order.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace train_lm {

struct Text {
  std::string alphabet;                   // character of each number
  std::vector<int32_t> train, held_back;  // the last tenth is held back

  std::string decode(const std::vector<int32_t>& numbers) const;
};

// Reads a file, or all files of a folder one after the other. Throws std::runtime_error.
Text read_text(const std::string& path);

// Returns the mean of -log p over the held-back text for a bigram table of the training text: the
// frequency of each character after each other one.
double bigram_loss(const Text& text);

}  // namespace train_lm
