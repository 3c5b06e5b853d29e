// The copy engine: a CopyDesc is normalised once, with a strategy, and then run many times.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/copy/copy.h"
#include "kernels/copy/copy_bytes.h"
#include "kernels/parts.h"

namespace tessera::kernels {

struct CopyPlan {
  struct Dim {
    int64_t n, in, out;  // strides in bytes; output strides are positive
  };
  // Copies a plane, a box over the last two dims.
  using PlaneFn = void (*)(const CopyPlan&, const std::byte* in, std::byte* out, int64_t rows,
                           int64_t cols);
  enum Gaps : uint8_t {
    kNone,    // the box covers the output, or the rest stays unchanged
    kNested,  // the rows of the box are in the output in the order of `fill_dims`
    kAny,     // any other order: fill everything first, then copy
  };

  int64_t item = 1;       // bytes that are copied together: an element, or at most 16 bytes
  std::vector<Dim> dims;  // in the order of the loops, at least two
  PlaneFn plane = nullptr;
  TransposeTileFn transpose = nullptr;
  bool stream = false;  // non-temporal stores
  bool empty = false;   // the box is empty
  size_t split = 0;     // the dim that is divided between parts, at multiples of `grain`
  int64_t grain = 1;
  int64_t in_offset = 0, out_offset = 0, out_bytes = 0;  // bytes
  int64_t box_bytes = 0;

  Gaps gaps = kNone;
  int64_t element = 1;         // bytes of the value to fill with
  std::vector<Dim> fill_dims;  // in the order of the output; the first is dims[split]
  // rows of the first dim whose gaps are filled just before they are copied
  int64_t fill_chunk = 1;

  int64_t split_size() const { return dims[split].n; }
  int32_t max_parts() const;
  double bytes_touched() const;
};

// `keep_outer`: keep box[0] as a dim of its own and split it, with grain 1.
CopyPlan MakeCopyPlan(const CopyDesc& desc, bool keep_outer = false);

struct CopyArgs {
  const std::byte* in;
  std::byte* out;
  const std::byte* fill = nullptr;      // the value to fill with, if the plan has gaps
  int64_t in_shift = 0, out_shift = 0;  // bytes added to the plan's offsets
};

// Does the copies and fills of share `part` of `parts`.
void RunCopy(const CopyPlan& plan, const CopyArgs& args, int32_t part, int32_t parts);

// Copies only the indices `range` of the split dim and fills nothing.
void RunCopyRange(const CopyPlan& plan, const CopyArgs& args, Range range);

// Fills share `part` of the whole output.
void RunFill(const CopyPlan& plan, const CopyArgs& args, int32_t part, int32_t parts);

}  // namespace tessera::kernels
