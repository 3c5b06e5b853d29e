// Instructions with regions, as transforms see them: groups of operands that go with groups of
// region inputs, and of region outputs that go with groups of results.
#pragma once
#include "ir/program.h"
#include "transforms/jvp.h"

namespace tessera::transforms {

// How an instruction's operands enter its regions. A transform adds values behind their group:
// constants, [carries,] [xs] become constants, more constants, carries, more carries, xs, more xs.
struct RegionLayout {
  explicit RegionLayout(const ir::Instruction& instruction);

  // Region input i is operand `first` + i (1 behind the index of a branch).
  size_t first = 0;
  std::vector<size_t> ins,
      outs;                    // sizes of the groups of inputs; of outputs, which are the results
  size_t carries = 0;          // of the loop: group 1 of the inputs, group 0 of the outputs
  std::vector<size_t> bodies;  // regions whose outputs are the results; the others: a condition
  // Where carry c is among the inputs; outputs begin with the carries.
  size_t CarryInput(size_t c) const { return ins[0] + c; }
};

// A value, or its companion: its tangent.
struct Slot {
  size_t index;
  bool companion;
};
// Returns the values 0, 1, ... in groups of these sizes, and behind each group the companions of
// those of its values that have one.
std::vector<Slot> WithCompanions(const std::vector<size_t>& groups,
                                 const std::vector<bool>& companions);

// The instruction with tangents: see WithCompanions.
struct RegionsJvp {
  std::vector<ir::RegionPtr> regions;
  ir::ParamsPtr params;
  std::vector<Slot> operands, results;  // companion: the tangent
};
RegionsJvp JvpOfRegions(const ir::Instruction& instruction,
                        const std::vector<ir::ValueId>& tangents, const ir::Program& program,
                        JvpMemo& memo);

}  // namespace tessera::transforms
