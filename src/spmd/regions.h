// What lowering does with the regions of loops.
#pragma once
#include "spmd/device_program.h"

namespace tessera::spmd {

// Collectives of a loop's body that give the same in every iteration.
struct Invariants {
  std::vector<size_t> instructions;  // they and what they are computed from, in order
  std::vector<ir::ValueId> results;  // those of their results that the rest of the body uses
};

// Returns the collectives that depend on nothing but the first `constants` inputs.
Invariants FindInvariants(const DeviceProgram& body, size_t constants);

// Makes `values`, which instructions of the region made, inputs of it, from place `at` on. Those
// that it does not have yet (-1) are added: a type for each.
void MakeInputs(DeviceProgram& region, const std::vector<ir::ValueId>& values, size_t at,
                const std::vector<const ir::Type*>& placed);

// Returns the parameters of a loop with so many more constants, and how many it has.
ir::ParamsPtr WithConstants(const ir::Instruction& loop, size_t more);
size_t ConstantsOf(const ir::Instruction& loop);

}  // namespace tessera::spmd
