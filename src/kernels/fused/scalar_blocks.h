// Blocks of a register-threaded program that are plain loops: conversions, loads and stores of
// dtypes that lanes do not hold as they are stored, and rare functions.
#pragma once
#include <algorithm>

#include "kernels/fused/fused_program.h"

namespace tessera::kernels {

// acc = acc converted from one lane type to another. From float to int it saturates, and NaN
// gives 0.
BlockFn ConvertBlock(Lane from, Lane to);
// To f32 on the way to f16 or bf16: rounds to odd, so that the final result is rounded only once.
BlockFn ConvertOddBlock(Lane from);
// From the bits of an f8 dtype, in lanes of u32, to f32; and back, rounding to nearest even.
BlockFn ReadFloat8Block(DType dtype);
BlockFn WriteFloat8Block(DType dtype);

// acc = the elements at `a`; the elements at `a` = acc. `wide`: the lanes of a bool have 64 bits.
BlockFn LoadBlock(DType dtype, bool wide);
BlockFn StoreBlock(DType dtype, bool wide);

// Parts of `size` bytes of complex numbers. acc = every other number at `a`; the numbers at `a` =
// acc as part `held` (0: real), and the values at `b` as the other.
BlockFn LoadPartBlock(int size);
BlockFn StorePartsBlock(int size, int held);

// acc = i + `a`, where `a` is a number and not an address. If `b.base` != 0, i is not added.
BlockFn IotaBlock(Lane lane);

// A walk over strided elements. acc = elements of the walk that `info` (a StridedWalk) describes,
// from the origin `a`.
struct StridedWalk {
  std::vector<int64_t> dims, strides;  // outer first; strides in elements
};
// Calls f(k, offset in elements) for elements i .. i + n of the walk.
template <class F>
void Walk(const StridedWalk& g, size_t i, size_t n, F f) {
  constexpr size_t kMostDims = 64;
  int64_t index[kMostDims];
  int64_t offset = 0, rest = static_cast<int64_t>(i);
  const size_t rank = std::min(g.dims.size(), kMostDims);
  for (size_t d = rank; d-- > 0;) {
    index[d] = rest % g.dims[d];
    rest /= g.dims[d];
    offset += index[d] * g.strides[d];
  }
  for (size_t k = 0; k < n; ++k) {
    f(k, offset);
    for (size_t d = rank; d-- > 0;) {
      offset += g.strides[d];
      if (++index[d] < g.dims[d]) break;
      offset -= g.dims[d] * g.strides[d];
      index[d] = 0;
    }
  }
}
BlockFn GatherBlock(int itemsize);
// The same for one part of complex numbers, which has `size` bytes. Strides count numbers.
BlockFn GatherPartBlock(int size);
// The same walk for an index that is not linear in i: acc = origin + offset, in `lane`.
BlockFn GatherIotaBlock(Lane lane);
// acc = the i64 indices at `a`, in `lane`.
BlockFn IndexBlock(Lane lane);

}  // namespace tessera::kernels
