// Instructions on Manual axes, in groups that become manual computations.
#pragma once
#include <vector>

#include "ir/program.h"

namespace tessera::stablehlo {

using Instructions = std::vector<const ir::Instruction*>;

// Returns the number of Manual axes of the mesh of a value.
int ManualAxes(const ir::Type* type);

// Instructions that run one after another, on a mesh with the same Manual axes or, if the group is
// inner, with more.
struct InstructionGroup {
  bool is_inner = false;
  Instructions instructions;
};

// Returns the instructions in groups, each after those whose values it uses. `outside`: the number
// of Manual axes where the instructions are.
std::vector<InstructionGroup> GroupsOf(const ir::Program& program, const Instructions& all,
                                       int outside);

}  // namespace tessera::stablehlo
