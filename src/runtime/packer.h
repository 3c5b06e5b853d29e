// Offsets for blocks whose lifetimes are known in advance.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "runtime/arena.h"

namespace tessera::runtime {

// Packs by best fit among the holes, in the order of time. Give must be called with the size passed
// to Take.
class Packer {
 public:
  int64_t Take(int64_t bytes) {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    const int64_t size = Size(bytes);
    auto best = holes_.end();
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second < size || (best != holes_.end() && hole->second >= best->second)) continue;
      best = hole;
    }
    if (best == holes_.end()) return Extend(size);
    const auto [offset, space] = *best;
    holes_.erase(best);
    if (space > size) holes_[offset + size] = space - size;
    return offset;
  }

  void Give(int64_t offset, int64_t bytes) {
    live_ -= bytes;
    if (Size(bytes) == 0) return;
    auto [hole, fresh] = holes_.emplace(offset, Size(bytes));
    if (auto next = std::next(hole); next != holes_.end() && offset + hole->second == next->first) {
      hole->second += next->second;
      holes_.erase(next);
    }
    if (hole == holes_.begin()) return;
    if (auto before = std::prev(hole); before->first + before->second == offset) {
      before->second += hole->second;
      holes_.erase(hole);
    }
  }

  // Bytes from the start of the first block to the end of the last one, and the most bytes taken at
  // one time.
  int64_t extent() const { return extent_; }
  int64_t peak() const { return peak_; }

 private:
  static int64_t Size(int64_t bytes) { return RoundUp(bytes, kLine) + Colour(bytes); }

  // Takes `size` bytes at the end, starting with the hole there, if there is one.
  int64_t Extend(int64_t size) {
    int64_t offset = extent_;
    if (!holes_.empty()) {
      auto last = std::prev(holes_.end());
      if (last->first + last->second == extent_) {
        offset = last->first;
        holes_.erase(last);
      }
    }
    extent_ = offset + size;
    return offset;
  }

  std::map<int64_t, int64_t> holes_;  // offset -> size
  int64_t extent_ = 0, live_ = 0, peak_ = 0;
};

}  // namespace tessera::runtime
