// Pairs the equal elements of two sequences.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

// Returns pairs of indices of equal texts, ascending in both: a longest such list, by Myers'
// algorithm. If the sequences differ in more than `most` elements, between a common start and a
// common end, only these two are paired.
std::vector<std::pair<size_t, size_t>> Align(const std::vector<std::string>& a,
                                             const std::vector<std::string>& b, size_t most = 2000);

}  // namespace tessera::cli
