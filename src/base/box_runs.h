// The contiguous pieces of a box of a row-major array.
#pragma once
#include <cstdint>

#include "base/shape.h"

namespace tessera::base {

// Iterates over the box [first, first + box) of an array as runs of contiguous bytes, in ascending
// order. The box must have elements.
class BoxRuns {
 public:
  BoxRuns(const Shape& shape, int64_t item_bytes, const Shape& first, const Shape& box);
  // Advances to the next run. Returns false after the last one.
  bool Next();
  // The first byte of the current run, counted from the start of the array, and its size.
  int64_t begin() const { return begin_; }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t begin_ = 0, bytes_;
  Shape sizes_, strides_, at_;  // the dims outside of a run, and the position in them
};

}  // namespace tessera::base
