// Groups of values at the regions of an instruction, and instructions rebuilt from them.
#include "transforms/regions.h"

#include <absl/algorithm/container.h>

#include "base/at.h"
#include "ir/builder.h"
#include "ir/control_params.h"
#include "ir/regions.h"

namespace tessera::transforms {

using ir::ValueId;

RegionLayout::RegionLayout(const ir::Instruction& instruction)
    : kind(std::get<ir::AsRegions>(*instruction.op->lowering).kind) {
  switch (kind) {
    case ir::AsRegions::kWhile:
      constants = base::Size(ir::As<ir::WhileParams>(instruction.params.get()).constants);
      carries = instruction.operands.size() - constants;
      bodies = {1};
      break;
    case ir::AsRegions::kScan: {
      const auto& params = ir::As<ir::ScanParams>(instruction.params.get());
      constants = base::Size(params.constants);
      carries = base::Size(params.carries);
      bodies = {0};
      break;
    }
    case ir::AsRegions::kSwitch:
      first = 1;
      for (size_t b = 0; b < instruction.regions.size(); ++b) bodies.push_back(b);
      break;
    case ir::AsRegions::kCall:
      bodies = {0};
      break;
  }
}

RegionFlags SpreadFlags(const ir::Instruction& instruction, std::vector<bool> ins,
                        OutputFlags outputs_of) {
  const RegionLayout layout(instruction);
  for (;;) {
    std::vector<bool> wanted(instruction.results.size());
    for (size_t c = 0; c < layout.carries; ++c) wanted[c] = ins[layout.CarryInput(c)];
    std::vector<bool> outs = wanted;
    for (size_t b : layout.bodies) {
      const std::vector<bool> of_body = outputs_of(*instruction.regions[b], ins, wanted);
      for (size_t r = 0; r < outs.size(); ++r) outs[r] = outs[r] || of_body[r];
    }
    bool grew = false;
    for (size_t c = 0; c < layout.carries; ++c) {
      const size_t in = layout.CarryInput(c);
      grew = grew || (outs[c] && !ins[in]);
      ins[in] = outs[c];
    }
    if (!grew) return {std::move(ins), std::move(outs)};
  }
}

RegionEdit::RegionEdit(const ir::Instruction& from, std::vector<ir::Program> regions)
    : from_(from), regions_(std::move(regions)) {}

void RegionEdit::AddInput(RegionGroup group, ValueId operand, size_t input) {
  base::At(inputs_, group).push_back({operand, input});
}

void RegionEdit::AddOutput(RegionGroup group, const ir::Type* type, size_t output) {
  size_t call = 0;
  for (const auto& outputs : outputs_) call += outputs.size();
  base::At(outputs_, group).push_back({type, output, call});
}

std::vector<ir::RegionPtr> RegionEdit::EditedRegions(const RegionLayout& layout) && {
  std::vector<ir::RegionPtr> edited;
  for (size_t r = 0; r < regions_.size(); ++r) {
    ir::Program& region = regions_[r];
    std::vector<ValueId> inputs, outputs;
    for (const auto& group : inputs_)
      for (const EditedInput& in : group) inputs.push_back(region.inputs[in.number]);
    region.inputs = std::move(inputs);
    // A condition keeps its predicate.
    if (absl::c_linear_search(layout.bodies, r)) {
      for (const auto& group : outputs_)
        for (const EditedOutput& out : group) outputs.push_back(region.outputs[out.number]);
      region.outputs = std::move(outputs);
    }
    edited.push_back(ir::Shared(std::move(region)));
  }
  return edited;
}

std::vector<ValueId> RegionEdit::Emit(ir::Builder& builder) && {
  std::vector<ValueId> operands = index_;
  for (const auto& group : inputs_)
    for (const EditedInput& in : group) operands.push_back(in.operand);
  std::vector<const ir::Type*> types;
  std::vector<size_t> calls;
  for (const auto& group : outputs_)
    for (const EditedOutput& out : group) {
      types.push_back(out.type);
      calls.push_back(out.call);
    }
  const ir::ParamsPtr params =
      ir::WithCounts(from_, base::At(inputs_, RegionGroup::kConstants).size(),
                     base::At(inputs_, RegionGroup::kCarries).size());
  const auto made = builder.EmitTyped(*from_.op, params, operands, types,
                                      std::move(*this).EditedRegions(RegionLayout(from_)));
  std::vector<ValueId> results(made.size());
  for (size_t n = 0; n < made.size(); ++n) results[calls[n]] = made[n];
  return results;
}

}  // namespace tessera::transforms
