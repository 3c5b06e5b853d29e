// The shortest edit script between two sequences (E. Myers, An O(ND) difference algorithm, 1986).
#include "cli/diff_align.h"

#include <algorithm>
#include <cstdint>

namespace tessera::cli {
namespace {

using Texts = std::vector<std::string>;
using Pairs = std::vector<std::pair<size_t, size_t>>;

// The part of two sequences between a common start and a common end.
class Middle {
 public:
  Middle(const Texts& a, const Texts& b, size_t start, size_t end)
      : a_(a),
        b_(b),
        start_(start),
        rows_(static_cast<int64_t>(a.size() - start - end)),
        columns_(static_cast<int64_t>(b.size() - start - end)) {}

  // Returns no pairs if there are more than `most` differences.
  Pairs Run(int64_t most) {
    const int64_t width = std::min(most, rows_ + columns_);
    std::vector<int64_t> furthest(static_cast<size_t>(2 * width + 3), 0);
    const auto at = [&](int64_t diagonal) -> int64_t& {
      return furthest[static_cast<size_t>(diagonal + width + 1)];
    };
    for (int64_t d = 0; d <= width; ++d) {
      for (int64_t k = -d; k <= d; k += 2) {
        const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
        int64_t i = down ? at(k + 1) : at(k - 1) + 1;
        while (i < rows_ && i - k < columns_ && Equal(i, i - k)) ++i;
        at(k) = i;
        if (i >= rows_ && i - k >= columns_) return Backtrack(d, k);
      }
      // Only the diagonals from -d to d are set.
      history_.emplace_back(furthest.begin() + width + 1 - d, furthest.begin() + width + 2 + d);
    }
    return {};
  }

 private:
  bool Equal(int64_t i, int64_t j) const {
    return a_[start_ + static_cast<size_t>(i)] == b_[start_ + static_cast<size_t>(j)];
  }
  // Walks back from the end, which is on diagonal k after d differences.
  Pairs Backtrack(int64_t d, int64_t k) const {
    Pairs pairs;
    int64_t i = rows_, j = columns_;
    for (; d > 0; --d) {
      const std::vector<int64_t>& before = history_[static_cast<size_t>(d - 1)];
      const auto at = [&](int64_t diagonal) {
        return before[static_cast<size_t>(diagonal + d - 1)];
      };
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      const int64_t from = down ? at(k + 1) : at(k - 1);
      const int64_t begin = down ? from : from + 1;
      for (; i > begin; --i, --j) Add(pairs, i - 1, j - 1);
      k += down ? 1 : -1;
      i = from;
      j = from - k;
    }
    for (; i > 0; --i, --j) Add(pairs, i - 1, j - 1);
    std::ranges::reverse(pairs);
    return pairs;
  }
  void Add(Pairs& pairs, int64_t i, int64_t j) const {
    pairs.emplace_back(start_ + static_cast<size_t>(i), start_ + static_cast<size_t>(j));
  }

  const Texts &a_, &b_;
  const size_t start_;
  const int64_t rows_, columns_;
  std::vector<std::vector<int64_t>> history_;  // after each number of differences
};

}  // namespace

Pairs Align(const Texts& a, const Texts& b, size_t most) {
  const size_t shorter = std::min(a.size(), b.size());
  size_t start = 0, end = 0;
  while (start < shorter && a[start] == b[start]) ++start;
  while (end < shorter - start && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
  Pairs pairs;
  for (size_t i = 0; i < start; ++i) pairs.emplace_back(i, i);
  const Pairs middle = Middle(a, b, start, end).Run(static_cast<int64_t>(most));
  pairs.insert(pairs.end(), middle.begin(), middle.end());
  for (size_t i = end; i > 0; --i) pairs.emplace_back(a.size() - i, b.size() - i);
  return pairs;
}

}  // namespace tessera::cli
