// Texts as rows of numbers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Returns the number of times that the text has each n-gram of 3 to 5 characters, hashed to one of
// `size` columns. Ignores case and the kind of white space.
std::vector<float> count_ngrams(std::string_view text, int64_t size);
