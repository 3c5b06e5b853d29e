// The pass widen_storage: no arithmetic on storage dtypes.
#pragma once
#include <memory>

#include "ir/program.h"

namespace tessera::spmd {

// Converts the operands of ops that compute with f8 or integers of 2 and 4 bits to f32, i8 or u8,
// and their results back:
//   f8 = dot_general f8, f8   becomes   convert, convert, f32 = dot_general f32, f32, convert
// Ops that only move elements keep their dtype, and so do elementwise ops, whose kernels read and
// write every dtype. A reduction over devices also computes; unreduced values are not rounded
// before it.
std::shared_ptr<const ir::Program> WidenStorage(std::shared_ptr<const ir::Program> program);

}  // namespace tessera::spmd
