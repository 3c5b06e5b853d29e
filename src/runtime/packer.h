// Offsets for blocks whose lifetimes are known in advance.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "runtime/arena.h"

namespace tessera::runtime {

// Packs by best fit among the holes. Blocks come in the order in which they are taken and given.
class Packer {
 public:
  // Takes a block in a region of its own, which never joins others; returns its offset. Once the
  // block is given, others may take its place. All regions come before the first call of Take.
  int64_t TakeRegion(int64_t bytes) {
    const int64_t offset = extent_, size = RoundUp(bytes, kLine);
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    sizes_[offset] = size;
    start_ = extent_ += size + kLine;
    return offset;
  }

  int64_t Take(int64_t bytes) {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    const int64_t least = RoundUp(bytes, kLine);
    if (least == 0) return 0;
    auto best = holes_.end();
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second < least || (best != holes_.end() && hole->second >= best->second)) continue;
      best = hole;
    }
    if (best == holes_.end()) return Extend(least + Colour(bytes));
    const auto [offset, space] = *best;
    const int64_t size = std::min(space, least + Colour(bytes));
    holes_.erase(best);
    if (space > size) holes_[offset + size] = space - size;
    sizes_[offset] = size;
    return offset;
  }

  void Give(int64_t offset, int64_t bytes) {
    live_ -= bytes;
    if (bytes == 0) return;
    const auto taken = sizes_.find(offset);
    auto [hole, fresh] = holes_.emplace(offset, taken->second);
    sizes_.erase(taken);
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

  // The offset at which the regions end, the bytes from there to the end of the last block, and the
  // most bytes taken at one time.
  int64_t start() const { return start_; }
  int64_t extent() const { return extent_ - start_; }
  int64_t peak() const { return peak_; }

 private:
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
    sizes_[offset] = size;
    return offset;
  }

  std::map<int64_t, int64_t> holes_, sizes_;  // offset -> size; of blocks with their padding
  int64_t start_ = 0, extent_ = 0, live_ = 0, peak_ = 0;
};

}  // namespace tessera::runtime
