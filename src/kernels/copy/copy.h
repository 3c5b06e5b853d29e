// Copies between strided boxes.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// Copies the element at in_offset + sum(i_d * in_strides[d]) to out_offset + sum(i_d *
// out_strides[d]) for every index i in `box`. Strides may be 0 or negative. Covers transpose,
// slice, broadcast and reverse. `itemsize` is 1, 2, 4 or 8 bytes. If the box does not cover the
// output, the rest is filled with the element in[1][0] if `fill` is set, and else left unchanged.
struct CopyDesc {
  int32_t itemsize = 4;
  Shape box, in_strides, out_strides;
  int64_t in_offset = 0, out_offset = 0;
  int64_t out_size = 0;  // elements of the output
  bool fill = false;     // the kernel takes in[1], a scalar
  bool streams = false;  // the output is part of something larger than the caches
};
plan::Kernel Copy(const CopyDesc& desc);

// As Copy, with offsets that depend on the device: in_offsets[device] is added to in_offset, and
// out_offsets[device] to out_offset. Either table may be empty. A device whose `skip` entry is set
// only fills. Covers all_slice and the conversion to an unreduced value.
struct DeviceCopyDesc {
  CopyDesc copy;
  std::vector<int64_t> in_offsets, out_offsets;
  std::vector<bool> skip;
};
plan::Kernel DeviceCopy(const DeviceCopyDesc& desc);

// Copies all of in[0]. Does nothing if the output is the same buffer.
plan::Kernel CopyWhole(int64_t bytes);

}  // namespace tessera::kernels
