// Blocks of a register-threaded program that are plain loops: conversions, loads and stores of
// dtypes that are not held as they are stored, and rare functions.
#pragma once
#include "kernels/fused/fused_program.h"

namespace tessera::kernels {

// acc = op(acc, a). Null if op has none.
BlockFn FloatBlock(Lane lane, plan::ScalarOp op);
BlockFn IntegerBlock(Lane lane, plan::ScalarOp op);
// nextafter steps in the dtype's own numbers, whatever it is held as.
BlockFn NextafterBlock(DType dtype);

// acc's values converted from one lane type to another; float to int saturates, NaN gives 0.
BlockFn ConvertBlock(Lane from, Lane to);
// To f32 on the way to f16 or bf16: rounded to odd, so that the result is rounded once.
BlockFn ConvertOddBlock(Lane from);

// acc = the elements at `a`; elements at `a` = acc. `wide`: how a bool is held.
BlockFn LoadBlock(DType dtype, bool wide);
BlockFn StoreBlock(DType dtype, bool wide);

// acc = i + the address of `a`, which is no address but a number. For `b.base` != 0 i is not added.
BlockFn IotaBlock(Lane lane);

// Copies elements, of which `info` (a Gather) tells where they are, to acc. `a` is their origin.
struct Gather {
  std::vector<int64_t> dims, strides;  // outer first; strides in elements
};
BlockFn GatherBlock(int itemsize);
// The same walk for an index that is not linear in i: acc = origin + offset, held as `lane`.
BlockFn GatherIotaBlock(Lane lane);

}  // namespace tessera::kernels
