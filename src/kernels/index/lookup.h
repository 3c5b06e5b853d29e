// What gather and scatter kernels share: where the slices of index vectors lie.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/dtype.h"
#include "kernels/kernel.h"

namespace tessera::kernels {

// Where slices of a dense operand lie, in the parts of a device. A slice begins where a vector
// along the last dim of the indices says; the loops over these vectors are the queries. `slices`
// are the result of a gather or the updates of a scatter.
struct LookupDesc {
  struct Dim {                             // of the operand
    int64_t size = 1, stride = 0;          // of what is held here
    int64_t window = 1, slice_stride = 0;  // how long slices are along it, and their stride
    int64_t entry = -1;                    // of an index vector: where a slice begins; -1: at 0
    int64_t last = 0;             // where the last slice inside of the whole dim begins; -1: none
    int64_t query = -1;           // the query whose position this is: there is no slice along it
    std::vector<int64_t> begins;  // per device: of what is held; empty: the whole
  };
  struct Query {
    int64_t size = 1, index_stride = 0, slice_stride = 0;
    int64_t whole = 1;            // those of all devices
    std::vector<int64_t> begins;  // per device: the first one held; empty: all are
  };
  DType dtype, index;
  bool clip = false;    // slices begin at the nearest place inside; else those outside are dropped
  int64_t entries = 0;  // of an index vector
  std::vector<bool> leads;  // per device, of those whose results are combined: one of them; or all
  std::vector<Dim> dims;
  std::vector<Query> queries;
};

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
