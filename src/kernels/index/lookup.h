// The description of slices and index vectors shared by gather and scatter kernels.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/dtype.h"
#include "kernels/kernel.h"

namespace tessera::kernels {

// Slices of a dense operand on one device. An index vector, along the last dim of the indices,
// gives the start of a slice; the dims over these vectors are the queries. `slices` are the result
// of a gather, or the updates of a scatter.
struct LookupDesc {
  struct Dim {                             // a dim of the operand
    int64_t size = 1, stride = 0;          // of the part held here
    int64_t window = 1, slice_stride = 0;  // size of slices along the dim, and their stride
    int64_t entry = -1;  // entry of the index vector with the slice's start; -1: it starts at 0
    int64_t last = 0;    // the last start of a slice inside the whole dim; -1: none
    int64_t query = -1;  // the query that runs along this dim: slices do not extend along it
    std::vector<int64_t> begins;  // per device: begin of the held part; empty: all is held
  };
  struct Query {
    int64_t size = 1, index_stride = 0, slice_stride = 0;
    int64_t whole = 1;            // size of the query over all devices
    std::vector<int64_t> begins;  // per device: the first position held; empty: all are held
  };
  DType dtype, index;
  bool clip = false;    // clamp starts to the valid range; otherwise drop slices outside of it
  int64_t entries = 0;  // entries of an index vector
  // per device: whether it leads. One of the devices whose results are combined leads; empty:
  // all do.
  std::vector<bool> leads;
  std::vector<Dim> dims;
  std::vector<Query> queries;
};

// An entry of an index vector, or a dim without one, along which slices start at 0.
struct LookupEntry {
  int64_t at = -1;              // position in the index vector; -1: the start is 0
  int64_t last = 0;             // the last start inside the whole dim
  int64_t dim = 0;              // dim of the operand
  std::vector<int64_t> begins;  // per device: begin of the held part; empty: all is held
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

// Returns the start of a slice, which is outside of [0, last] if the slice does not fit.
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

// An entry of index vectors on one device: which starts are held, and the step from one to the
// next.
struct HeldEntry {
  int64_t at = -1, last = 0;    // as LookupEntry
  int64_t before = 0;           // the start that is 0 here
  int64_t first = 0, held = 0;  // the starts of [first, first + held) are held
  int64_t stride = 0;
};
enum : int64_t { kOutside = -1, kElsewhere = -2 };

// Sets offsets[i] to the offset of the slice of index vector i, kOutside, or kElsewhere if the
// slice is not held; vectors are `step` indices apart. Without branches that depend on the indices.
template <class Index>
void OffsetsOf(const std::vector<HeldEntry>& entries, bool clip, const Index* vectors, int64_t step,
               int64_t n, int64_t* offsets) {
  std::fill_n(offsets, n, 0);
  for (const HeldEntry& held : entries) {
    const HeldEntry entry = held;
    const Index* vector = vectors + std::max<int64_t>(entry.at, 0);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t start = entry.at < 0 ? 0 : Begin(vector[i * step], entry.last, clip);
      const int64_t here = start - entry.before, before = offsets[i];
      const bool is_held =
          static_cast<uint64_t>(here - entry.first) < static_cast<uint64_t>(entry.held);
      int64_t offset = is_held ? before + here * entry.stride : kElsewhere;
      offset = before == kElsewhere ? kElsewhere : offset;
      offset = before == kOutside || !Inside(start, entry.last) ? kOutside : offset;
      offsets[i] = offset;
    }
  }
}

// Returns f(value of the index's host type); null unless the dtype is an integer.
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
