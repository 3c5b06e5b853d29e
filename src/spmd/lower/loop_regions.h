// Operands and invariants of the regions of loops and branches.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// The operands `first`, `first` + 1, ... that regions read unchanged: the first inputs of
// each region.
struct Constants {
  size_t first, count;
  bool of_all_regions;  // slices of them are hoisted from every branch; of a loop, from its body
  bool repeats;         // the body may run more than once: its invariants are worth hoisting
};
Constants ConstantsOf(const ir::Instruction& instruction);

// Instructions of a region that can run before it.
struct Invariants {
  std::vector<ir::InstructionId> instructions;  // with those that they depend on, in order
  std::vector<ir::ValueId> results;             // those that the rest of the body reads
};

// Whether the instruction is an all_slice, which sends nothing.
bool IsSlice(const ir::Instruction& instruction);
// Whether the instruction pads a dim to a size that an all_slice divides.
bool IsPadding(const ir::Instruction& instruction);

// Returns the slices of constants and, if the body repeats, collectives and work that depend on
// constants alone. Work is hoisted only if its results need no more memory than its operands.
Invariants FindInvariants(const ir::Program& body, const Constants& constants);

// Makes `values` inputs of the region, from input `at` on, and removes the instructions that define
// them. If values[k] is none, adds a new value of place places[k].
void MakeInputs(ir::Program& region, const std::vector<ir::ValueId>& values, size_t at,
                const std::vector<const ir::Type*>& places);

// Removes the constants that no region reads, and their operands. Returns their number.
size_t DropUnreadConstants(std::vector<ir::Program>& regions, const Constants& constants,
                           std::vector<ir::ValueId>& operands);

// Returns the parameters of a loop or branch with `more` constants.
ir::ParamsPtr WithConstants(const ir::Instruction& instruction, int64_t more);

// Whether devices that run the program independently compute different values from equal inputs,
// because the program reads the position of the device.
bool DependsOnDevice(const ir::Program& program);

}  // namespace tessera::spmd
