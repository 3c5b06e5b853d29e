// Instructions with regions, as transforms see and rebuild them: values enter and leave regions in
// three groups.
//
//   while   constants, carries              -> carries
//   scan    constants, carries, slices      -> carries, slices
//   switch  index, slices                   -> slices
//   call    slices                          -> slices
#pragma once
#include <absl/functional/function_ref.h>

#include <array>
#include <vector>

#include "ir/op.h"
#include "ir/program.h"

namespace tessera::transforms {

enum class RegionGroup : uint8_t {
  kConstants,  // the same in every iteration
  kCarries,    // handed from one iteration to the next
  kSlices,     // one for each iteration: xs and ys of a scan. A switch or a call has one iteration
};

// The groups of an instruction. Input k of a region is operand `first` + k; output r of a body is
// result r.
struct RegionLayout {
  explicit RegionLayout(const ir::Instruction& instruction);

  RegionGroup InputGroup(size_t k) const {
    if (k < constants) return RegionGroup::kConstants;
    return k < constants + carries ? RegionGroup::kCarries : RegionGroup::kSlices;
  }
  RegionGroup OutputGroup(size_t r) const {
    return r < carries ? RegionGroup::kCarries : RegionGroup::kSlices;
  }
  // Returns the input of carry c, which is output c.
  size_t CarryInput(size_t c) const { return constants + c; }
  // Whether operands and results of the group have the iterations as their first dim.
  bool IsStacked(RegionGroup group) const {
    return kind == ir::AsRegions::kScan && group == RegionGroup::kSlices;
  }

  ir::AsRegions::Kind kind;
  size_t first = 0;  // 1 for a switch: operand 0 is its index
  size_t constants = 0, carries = 0;
  std::vector<size_t> bodies;  // all regions except the condition of a while loop
};

// A property of the inputs and outputs of the bodies.
struct RegionFlags {
  std::vector<bool> ins, outs;
};
// Returns which outputs of a body have the property if the inputs in `ins` have it. Outputs that
// are true in `wanted` always have it.
using OutputFlags = absl::FunctionRef<std::vector<bool>(
    const ir::Program& body, const std::vector<bool>& ins, const std::vector<bool>& wanted)>;
// Spreads a property from the inputs `ins` until nothing changes: an output has the property
// if it has it in any body; a carry has it both at the start and at the end of an iteration,
// or at neither.
RegionFlags SpreadFlags(const ir::Instruction& instruction, std::vector<bool> ins,
                        OutputFlags outputs_of);

// Rebuilds an instruction with edited regions. A transform names the inputs and outputs to keep,
// by their numbers in the edited regions; each joins the end of its group.
class RegionEdit {
 public:
  // `regions` take the place of those of `from`. `from` gives the op and its other parameters.
  RegionEdit(const ir::Instruction& from, std::vector<ir::Program> regions);

  // Adds the index of a switch.
  void AddIndex(ir::ValueId operand) { index_.push_back(operand); }
  // Adds an operand, which input `input` of every region receives.
  void AddInput(RegionGroup group, ir::ValueId operand, size_t input);
  // Adds a result of this type, which output `output` of the bodies gives.
  void AddOutput(RegionGroup group, const ir::Type* type, size_t output);
  // Emits the instruction. Returns its results in the order of the calls of AddOutput.
  std::vector<ir::ValueId> Emit(ir::Builder& builder) &&;

 private:
  struct EditedInput {
    ir::ValueId operand;
    size_t number;
  };
  struct EditedOutput {
    const ir::Type* type;
    size_t number, call;
  };
  std::vector<ir::RegionPtr> EditedRegions(const RegionLayout& layout) &&;

  const ir::Instruction& from_;
  std::vector<ir::Program> regions_;
  std::vector<ir::ValueId> index_;
  std::array<std::vector<EditedInput>, 3> inputs_;
  std::array<std::vector<EditedOutput>, 3> outputs_;
};

}  // namespace tessera::transforms
