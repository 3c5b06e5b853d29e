// The instructions that run in one loop over blocks of a dim.
#pragma once
#include <vector>

#include "spmd/blocks/factors.h"
#include "spmd/definitions.h"

namespace tessera::spmd {

// Where an instruction has the dim that is cut into blocks.
struct DimOfCall {
  static constexpr int kNone = kNoDim;
  absl::InlinedVector<int, 3> operands;  // the dim of each operand, or kNone
  int result = kNone;                    // the dim of the result, or kNone
  bool sums = false;     // the instruction sums over the dim: blocks give partial sums
  bool returns = false;  // an instruction outside of the loop reads the result
  bool HasDim() const {
    return result != kNone || absl::c_any_of(operands, [](int d) { return d != kNone; });
  }
};

struct BlockedCall {
  InstructionId instruction;
  bool is_shared = false;  // the program keeps the instruction, since others need its result too
  DimOfCall dims;
};

struct BlockGroup {
  int64_t size = 0, block = 0;     // of the dim: the whole, and one block
  std::vector<BlockedCall> calls;  // in program order
};

}  // namespace tessera::spmd
