// Copies between strided boxes.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// out[i0, i1, ...] = in[in_offset + sum(i_d * in_strides[d])] at out_offset + sum(i_d *
// out_strides[d]) for all i in `box`. Strides may be 0 or negative. Covers transpose, slice,
// broadcast, reverse. `itemsize` is 1, 2, 4 or 8 bytes. If the box does not cover the output, the
// rest is filled with the element at in[1][0] when `fill`, else left as it is.
struct CopyDesc {
  int32_t itemsize = 4;
  Shape box, in_strides, out_strides;
  int64_t in_offset = 0, out_offset = 0;
  int64_t out_size = 0;  // elements of out
  bool fill = false;     // takes in[1], a scalar
  bool streams = false;  // out is part of something larger than the caches
};
plan::Kernel Copy(const CopyDesc& desc);

// As Copy, but the offsets are those of the instance's device: in_offsets[device] is added to
// in_offset, out_offsets[device] to out_offset. Either table may be empty. A device whose `skip`
// entry is set only fills. Covers all_slice and the making of unreduced values.
struct DeviceCopyDesc {
  CopyDesc copy;
  std::vector<int64_t> in_offsets, out_offsets;
  std::vector<bool> skip;
};
plan::Kernel DeviceCopy(const DeviceCopyDesc& desc);

// All of in[0]; nothing to do if out is the same buffer.
plan::Kernel CopyWhole(int64_t bytes);

}  // namespace tessera::kernels
