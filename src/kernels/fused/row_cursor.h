// Tracks the addresses of tensors while a call moves from row to row.
#pragma once
#include <algorithm>

#include "base/at.h"
#include "kernels/fused/fused_config.h"

namespace tessera::kernels {

class RowCursor {
 public:
  // Starts at row 0. `at` has room for one address per tensor, `index` for the position along the
  // outer dims.
  RowCursor(const FusedConfig& f, const plan::KernelArgs& call, std::byte** at, int64_t* index)
      : layout_(f.layout), at_(at), index_(index) {
    for (size_t k = 0; k < f.inputs; ++k)
      if (f.operand_of[k] >= 0)
        *at++ = const_cast<std::byte*>(base::At(call.in, f.operand_of[k])) + f.offset_of[k];
      else
        ++at;
    for (size_t k = 0; k < f.outputs; ++k) *at++ = call.out[k];
    for (const std::vector<int64_t>& offsets : f.index_offsets) {
      const int64_t first = offsets.empty() ? 0 : base::At(offsets, call.device);
      *at++ = reinterpret_cast<std::byte*>(first);
    }
    std::fill_n(index, layout_.outer.size(), 0);
  }

  // Moves from row 0 to `row`.
  void Seek(int64_t row) {
    for (size_t d = layout_.outer.size(); d-- > 0;) {
      index_[d] = row % layout_.outer[d];
      row /= layout_.outer[d];
      if (index_[d] != 0) Move(d, index_[d]);
    }
  }
  // Returns how many rows, from this one on, are one stride apart.
  int64_t RowsInStride() const {
    const size_t rank = layout_.outer.size();
    return rank == 0 ? 1 : layout_.outer[rank - 1] - index_[rank - 1];
  }
  // Moves on by `rows`, at most RowsInStride().
  void Advance(int64_t rows) {
    for (size_t d = layout_.outer.size(); d-- > 0; rows = 1) {
      index_[d] += rows;
      if (index_[d] < layout_.outer[d]) return Move(d, rows);
      Move(d, rows - layout_.outer[d]);
      index_[d] = 0;
    }
  }

 private:
  void Move(size_t dim, int64_t steps) {
    for (size_t t = 0; t < layout_.tensors.size(); ++t)
      at_[t] = reinterpret_cast<std::byte*>(reinterpret_cast<intptr_t>(at_[t]) +
                                            steps * layout_.tensors[t].outer[dim]);
  }

  const RowLayout& layout_;
  std::byte** at_;
  int64_t* index_;
};

}  // namespace tessera::kernels
