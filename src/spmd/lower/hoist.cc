// Emits the invariants of regions before the instruction that has the regions.
#include "spmd/lower/hoist.h"

#include "base/ids.h"
#include "spmd/lower/loop_regions.h"

namespace tessera::spmd {
namespace {

using ir::kNoValue;

// Emits the invariants of a region. Returns, per value of the region, its value before the loop.
base::IdVector<ir::ValueId, ir::ValueId> EmitBefore(const ir::Instruction& instruction,
                                                    const ir::Program& body,
                                                    const Invariants& invariants,
                                                    const Constants& constants,
                                                    const std::vector<ir::ValueId>& operands,
                                                    Draft& draft, OpEmitter& emitter) {
  base::IdVector<ir::ValueId, ir::ValueId> outside(body.values.size(), kNoValue);
  for (size_t i = 0; i < constants.count; ++i)
    outside[body.inputs[i]] = operands[constants.first + i];
  for (ir::InstructionId i : invariants.instructions) {
    const ir::Instruction& inner = InstructionAt(body, i);
    const ir::ValueId operand = inner.operands.empty() ? kNoValue : outside[inner.operands[0]];
    if (IsPadding(inner)) {  // the slice after it pads again, if it must
      outside[inner.results[0]] = operand;
      continue;
    }
    if (IsSlice(inner)) {
      const auto cause = inner.cost->implied ? MoveCause::kImplied : MoveCause::kAsked;
      outside[inner.results[0]] =
          emitter.Reshard(operand, body.place(inner.results[0]), cause, instruction.loc);
      continue;
    }
    ir::Instruction before = inner;
    for (ir::ValueId& v : before.operands) v = outside[v];
    for (ir::ValueId& v : before.results) v = outside[v] = draft.AddValue(body.place(v), inner.loc);
    draft.Emit(std::move(before));
  }
  return outside;
}

// Hoists from one region. Adds constants after the existing ones, and returns how many.
size_t HoistFrom(const ir::Instruction& instruction, std::vector<ir::Program>& regions, size_t r,
                 const Constants& constants, std::vector<ir::ValueId>& operands, Draft& draft,
                 OpEmitter& emitter) {
  ir::Program& body = regions[r];
  const Invariants invariants = FindInvariants(body, constants);
  if (invariants.results.empty()) return 0;
  const base::IdVector<ir::ValueId, ir::ValueId> outside =
      EmitBefore(instruction, body, invariants, constants, operands, draft, emitter);
  std::vector<ir::ValueId> given;
  std::vector<const ir::Type*> places;
  for (ir::ValueId v : invariants.results) {
    given.push_back(outside[v]);
    places.push_back(body.place(v));
  }
  const std::vector<ir::ValueId> none(given.size(), kNoValue);
  for (ir::Program& region : regions)
    MakeInputs(region, &region == &body ? invariants.results : none, constants.count, places);
  operands.insert(operands.begin() + static_cast<long>(constants.first + constants.count),
                  given.begin(), given.end());
  return given.size();
}

}  // namespace

ir::ParamsPtr Hoist(const ir::Instruction& instruction, std::vector<ir::Program>& regions,
                    std::vector<ir::ValueId>& operands, Draft& draft, OpEmitter& emitter) {
  Constants constants = ConstantsOf(instruction);
  const auto before = static_cast<int64_t>(constants.count);
  for (size_t r = constants.of_all_regions ? 0 : regions.size() - 1; r < regions.size(); ++r)
    constants.count += HoistFrom(instruction, regions, r, constants, operands, draft, emitter);
  constants.count -= DropUnreadConstants(regions, constants, operands);
  return WithConstants(instruction, static_cast<int64_t>(constants.count) - before);
}

}  // namespace tessera::spmd
