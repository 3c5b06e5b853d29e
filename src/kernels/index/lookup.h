// What gather and scatter kernels share: where the slice of an index vector begins.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/defaults.h"
#include "kernels/kernels.h"

namespace tessera::kernels {

// One entry of an index vector, or a dim without one, along which slices begin at 0.
struct LookupEntry {
  int64_t at = -1;              // in the vector; -1: 0
  int64_t last = 0;             // the last begin inside of the whole dim
  int64_t dim = 0;              // of the operand
  std::vector<int64_t> begins;  // per device: of what is held; empty: the whole
};

inline std::vector<LookupEntry> EntriesOf(const LookupDesc& desc) {
  std::vector<LookupEntry> entries;
  for (size_t d = 0; d < desc.dims.size(); ++d) {
    const LookupDesc::Dim& dim = desc.dims[d];
    if (dim.query < 0 && (dim.entry >= 0 || !dim.begins.empty()))
      entries.push_back({dim.entry, dim.last, static_cast<int64_t>(d), dim.begins});
  }
  return entries;
}

// Returns where a slice begins; anything outside of [0, last] where it does not fit.
template <class Index>
inline int64_t Begin(Index index, int64_t last, bool clip) {
  int64_t begin = static_cast<int64_t>(index);
  if constexpr (std::is_same_v<Index, uint64_t>)
    if (begin < 0) begin = std::numeric_limits<int64_t>::max();
  if (clip) begin = begin < 0 ? 0 : begin > last ? last : begin;
  return begin;
}
template <class Index>
inline int64_t BeginOf(const LookupEntry& entry, const Index* vector, bool clip) {
  return entry.at < 0 ? 0 : Begin(vector[entry.at], entry.last, clip);
}
inline bool Inside(int64_t begin, int64_t last) {
  return static_cast<uint64_t>(begin) < static_cast<uint64_t>(last + 1);
}

// Returns f(value of the index's host type) for integer dtypes.
template <class F>
plan::KernelFn VisitIndex(DType index, F f) {
  return base::VisitDType(index, [&](auto zero) -> plan::KernelFn {
    if constexpr (std::is_integral_v<decltype(zero)> && !std::is_same_v<decltype(zero), bool>)
      return f(zero);
    else
      return nullptr;
  });
}

}  // namespace tessera::kernels
