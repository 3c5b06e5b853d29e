// A fused group as the description that its kernel is made from.
#pragma once
#include "plan/fused.h"
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

plan::FusedDesc Fuse(const ir::Program& program, const Item& item);

// Returns a value of a device program as one device sees it.
ir::LocalTensor LocalOf(const ir::Program& device, ir::ValueId v);

// Returns the bits of a constant instruction's element.
uint64_t ConstantBits(const ir::Instruction& instruction);

}  // namespace tessera::spmd
