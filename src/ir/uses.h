// What a program uses of what it makes.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Returns, per value, whether the program returns it or an instruction reads it. Instructions that
// are true in `without` do not count.
std::vector<bool> UsedValues(const Program& program, const std::vector<bool>& without = {});

// Returns, per instruction, whether its results or what is made of them are among `values`. What
// is an input of the program needs no instruction.
std::vector<bool> NeededFor(const Program& program, absl::Span<const ValueId> values);

// Returns, per value, whether it is made of the values that are true in `seeds`, or is one.
std::vector<bool> MadeOf(const Program& program, std::vector<bool> seeds);

// Returns what an instruction does beside making its results: its op, or what its regions hold.
Effect EffectOf(const Instruction& instruction);
bool HasEffects(const Program& program);

// Removes instructions without effects that no output needs, in regions too, what such regions
// take and give, and names of what is gone. Values keep their ids.
void RemoveDead(Program& program);
// The same of whole instructions of the program itself only.
void RemoveInstructions(Program& program);

// Removes the instructions that are false in `kept`, and names of what they made.
void KeepInstructions(Program& program, const std::vector<bool>& kept);

// Removes what has effects and no results, also from regions: of a program that computes a second
// time what another one has computed.
void RemoveEffects(Program& program);

}  // namespace tessera::ir
