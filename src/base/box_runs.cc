// Finds the largest runs of a box.
#include "base/box_runs.h"

namespace tessera::base {

BoxRuns::BoxRuns(const Shape& shape, int64_t item_bytes, const Shape& first, const Shape& box)
    : bytes_(item_bytes), sizes_(box) {
  int64_t stride = item_bytes;
  bool whole = true;
  for (size_t d = box.size(); d-- > 0;) {
    begin_ += first[d] * stride;
    if (whole) {
      bytes_ *= box[d];
      whole = box[d] == shape[d];
      sizes_.pop_back();
    } else {
      strides_.insert(strides_.begin(), stride);
    }
    stride *= shape[d];
  }
  at_.resize(sizes_.size());
}

bool BoxRuns::Next() {
  for (size_t d = sizes_.size(); d-- > 0;) {
    begin_ += strides_[d];
    if (++at_[d] < sizes_[d]) return true;
    begin_ -= strides_[d] * sizes_[d];
    at_[d] = 0;
  }
  return false;
}

}  // namespace tessera::base
