// Text files as rows of numbers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct Text {
  std::string name;  // of the file, without its folder
  std::string contents;
};

// Returns the text of every path. A folder stands for the plain files in it, by name. Throws
// std::runtime_error, with a message for the user, if a file cannot be read.
std::vector<Text> read_texts(const std::vector<std::string>& paths);

// Returns the number of times that the text has each n-gram of 3 to 5 characters, hashed to one of
// `size` columns. Ignores case and the kind of white space.
std::vector<float> count_ngrams(std::string_view text, int64_t size);
