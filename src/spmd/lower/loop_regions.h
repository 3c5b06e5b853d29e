// What lowering does with the regions of loops.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// What regions use of the outside: operands first, first + 1, ..., which are their first inputs.
struct Constants {
  size_t first, count;
  // Branches: every region may have slices that are taken before. Of a loop only its body.
  bool of_all_regions;
  // The body runs more than once, or it is not known how often: its collectives may be done before.
  bool repeats;
};
Constants ConstantsOf(const ir::Instruction& instruction);

// What a region does that can be done before it.
struct Invariants {
  std::vector<size_t> instructions;  // they and what they are computed from, in order
  std::vector<ir::ValueId> results;  // those of their results that the rest of the body uses
};

// Whether the instruction takes a part of its operand, which moves nothing; whether it makes a dim
// divide before that.
bool IsSlice(const ir::Instruction& instruction);
bool IsPadding(const ir::Instruction& instruction);

// Returns the slices of constants and, where the body repeats, the collectives and the work that
// depend on nothing else. Work only where its results need no more memory than its operands.
Invariants FindInvariants(const ir::Program& body, const Constants& constants);

// Makes `values`, which instructions of the region made, inputs of it, from number `at` on. Those
// that it does not have yet (-1) are added: a place for each.
void MakeInputs(ir::Program& region, const std::vector<ir::ValueId>& values, size_t at,
                const std::vector<const ir::Type*>& places);

// Takes those constants away that no region reads, and their operands. Returns how many.
size_t DropUnreadConstants(std::vector<ir::Program>& regions, const Constants& constants,
                           std::vector<ir::ValueId>& operands);

// Returns the parameters of a loop or branch with so many more constants.
ir::ParamsPtr WithConstants(const ir::Instruction& instruction, int64_t more);

// Whether what a device does in the program, of which it runs its part by itself, depends on which
// one it is.
bool DependsOnDevice(const ir::Program& program);

}  // namespace tessera::spmd
