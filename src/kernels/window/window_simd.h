// Reductions and choices over rows of contiguous elements, in vectors.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tessera/dtype.h"
#include "tessera/reduction.h"

namespace tessera::kernels {

// Sets out[i] to the reduction of rows[k][i] over k < count, for i < n and count >= 1. `out` may be
// rows[0], and a later row may be further along in it. Fetches the rows `ahead` bytes after those
// that are read, unless it is 0.
using CombineRowsFn = void (*)(const std::byte* const* rows, int64_t count, std::byte* out,
                               int64_t n, int64_t ahead);

struct RowCombiner {
  DType accumulator;  // f16 and bf16 accumulate in f32, others in their own dtype
  // from elements or accumulators to elements or accumulators
  CombineRowsFn elements = nullptr, widen = nullptr, accumulators = nullptr, narrow = nullptr;
};
// Returns the functions for a reduction that the dtype has.
RowCombiner RowCombinerOf(DType dtype, Reduction reduction);

// Rows of elements, at equal distances in bytes.
struct RowTable {
  const std::byte* first = nullptr;
  int64_t next = 0;
};
// A row of a table, and the number by which the choice of it is stored.
struct WindowRow {
  int64_t index, number;
};
// How one of some rows is chosen for each of `n` columns: the first row, or a later one if the
// chosen element is not >= (<=) the later row's.
struct ChosenRows {
  RowTable rows, values;  // the elements that are compared, and others
  const WindowRow* list;
  int64_t count, n;  // count >= 1
};
struct RowChooser {
  int number_size = 0;  // bytes of a row's number: 4 or 8
  // Sets out[i] to the value of the chosen row.
  void (*take)(const ChosenRows& c, std::byte* out) = nullptr;
  // Sets out[i] to the number of the chosen row.
  void (*choose)(const ChosenRows& c, std::byte* out) = nullptr;
  // Here rows hold numbers. Sets out[i] to the sum of the values of those rows that hold their own
  // number; count may be 0.
  void (*add)(const ChosenRows& c, std::byte* out) = nullptr;
  // Here `values` is one row. Sets the listed rows of a table at `out`, whose rows are as far apart
  // as those that are compared: the chosen one has the value of its column, the others have 0.
  void (*put)(const ChosenRows& c, std::byte* out) = nullptr;
};
// For kMax and kMin.
RowChooser RowChooserOf(DType dtype, Reduction reduction);

struct ElementPairs {
  // Sets even[i] = in[2 * i] and odd[i] = in[2 * i + 1] for i < n.
  void (*split)(const std::byte* in, std::byte* even, std::byte* odd, int64_t n) = nullptr;
  // Sets out[2 * i] = even[i] and out[2 * i + 1] = odd[i] for i < n.
  void (*join)(const std::byte* even, const std::byte* odd, std::byte* out, int64_t n) = nullptr;
};
// For elements of 1, 2, 4 or 8 bytes.
ElementPairs PairsOfSize(int64_t size);

}  // namespace tessera::kernels
