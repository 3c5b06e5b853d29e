// The copy engine: a CopyDesc normalised once, with its strategy, and the call that runs it.
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
    int64_t n, in, out;  // strides in bytes; those of `out` are positive
  };
  // Moves a 2-D box whose strides are those of the last two dims.
  using PlaneFn = void (*)(const CopyPlan&, const std::byte* in, std::byte* out, int64_t rows,
                           int64_t cols);
  enum Gaps : uint8_t {
    kNone,    // the box covers the output, or the rest stays as it is
    kNested,  // rows of the box lie in the output in the order of `fill_dims`
    kAny,     // otherwise: fill everything, then copy
  };

  int64_t item = 1;       // bytes that stay together: the element, or 16 bytes at most
  std::vector<Dim> dims;  // in loop order, at least two
  PlaneFn plane = nullptr;
  TransposeTileFn transpose = nullptr;
  bool stream = false;  // non-temporal stores
  bool empty = false;   // nothing in the box
  size_t split = 0;     // the dim cut into parts, at multiples of `grain`
  int64_t grain = 1;
  int64_t in_offset = 0, out_offset = 0, out_bytes = 0;  // bytes
  int64_t box_bytes = 0;

  Gaps gaps = kNone;
  int64_t element = 1;         // bytes of the fill value
  std::vector<Dim> fill_dims;  // in the order of the output; the first one is dims[split]
  int64_t fill_chunk = 1;      // rows of the first dim whose gaps are filled just before their copy

  int64_t split_size() const { return dims[split].n; }
  int32_t max_parts() const;
  double bytes_touched() const;
};

// `keep_outer`: box[0] stays a dim of its own and is the one to split, with grain 1.
CopyPlan MakeCopyPlan(const CopyDesc& desc, bool keep_outer = false);

struct CopyArgs {
  const std::byte* in;
  std::byte* out;
  const std::byte* fill = nullptr;      // the value, if the plan has gaps
  int64_t in_shift = 0, out_shift = 0;  // bytes, added to the plan's offsets
};

// Copies and fills share `part` of `parts`.
void RunCopy(const CopyPlan& plan, const CopyArgs& args, int32_t part, int32_t parts);

// Copies only the indices `range` of the split dim, without filling.
void RunCopyRange(const CopyPlan& plan, const CopyArgs& args, Range range);

// Fills share `part` of the whole output.
void RunFill(const CopyPlan& plan, const CopyArgs& args, int32_t part, int32_t parts);

}  // namespace tessera::kernels
