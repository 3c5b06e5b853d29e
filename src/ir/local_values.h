// Shards of the values of a device program, and literals.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Returns the shard of a value that one device holds.
inline LocalTensor LocalTensorOf(const Program& device, ValueId v) {
  const Type *local = device.type(v), *global = device.place(v);
  return {local->dtype(), local->shape(), global->shape(), &global->sharding()};
}

// Returns the bits of every element that a constant instruction defines.
inline base::ElementBits ConstantBits(const Instruction& constant) {
  return std::get<AsConstant>(*constant.op->lowering).bits(constant.params.get());
}

}  // namespace tessera::ir
