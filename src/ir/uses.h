// The values and instructions that a program uses.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Returns the values that the program returns or an instruction reads. Instructions in `without` do
// not count.
ValueSet UsedValues(const Program& program, const InstructionSet& without = {});

// Returns the instructions on whose results any of `values` depends. Inputs of the program need no
// instruction.
InstructionSet NeededFor(const Program& program, absl::Span<const ValueId> values);

// Returns `seeds` and all values that depend on them.
ValueSet MadeOf(const Program& program, ValueSet seeds);

// Returns the strongest effect of an instruction's op and regions.
Effect EffectOf(const Instruction& instruction);
bool HasEffects(const Program& program);

// Removes instructions without effects that no output needs, also in regions; the region inputs and
// outputs that become unneeded; and the names of removed values. Values keep their ids.
void RemoveDead(Program& program);
// Removes such instructions of the program itself, and leaves regions alone.
void RemoveDeadOutsideRegions(Program& program);

// Removes the instructions that are not in `kept`, and the names of their results.
void KeepInstructions(Program& program, const InstructionSet& kept);

// Removes instructions with effects and without results, also from regions. For a program that
// repeats the computation of another.
void RemoveEffects(Program& program);

}  // namespace tessera::ir
