// Finds the loop-invariant instructions of regions, and adds and removes constants of loops
// and branches.
#include "spmd/lower/loop_regions.h"

#include <absl/algorithm/container.h>

#include "base/at.h"
#include "base/dtype.h"
#include "base/ids.h"
#include "ir/control_params.h"
#include "ir/uses.h"
#include "spmd/cost.h"
#include "spmd/local_type.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

ir::AsRegions::Kind KindOf(const ir::Instruction& i) {
  return std::get<ir::AsRegions>(*i.op->lowering).kind;
}

}  // namespace

bool IsSlice(const ir::Instruction& i) { return IsStep(i, sharding::StepKind::kAllSlice); }

bool IsPadding(const ir::Instruction& i) { return IsStep(i, sharding::StepKind::kPadToShards); }

Constants ConstantsOf(const ir::Instruction& i) {
  if (KindOf(i) == ir::AsRegions::kSwitch)
    return {.first = 1, .count = i.operands.size() - 1, .of_all_regions = true, .repeats = false};
  Times times = TimesOf(i);
  int64_t count = KindOf(i) == ir::AsRegions::kWhile
                      ? ir::As<ir::WhileParams>(i.params.get()).constants
                      : ir::As<ir::ScanParams>(i.params.get()).constants;
  return {.first = 0,
          .count = base::Size(count),
          .of_all_regions = false,
          .repeats = times.times > 1 || !times.known};
}

ir::ParamsPtr WithConstants(const ir::Instruction& i, int64_t more) {
  switch (KindOf(i)) {
    case ir::AsRegions::kWhile: {
      ir::WhileParams params = ir::As<ir::WhileParams>(i.params.get());
      params.constants += more;
      return ir::MakeParams(params);
    }
    case ir::AsRegions::kScan: {
      ir::ScanParams params = ir::As<ir::ScanParams>(i.params.get());
      params.constants += more;
      return ir::MakeParams(params);
    }
    default:
      return i.params;
  }
}

namespace {

int64_t BytesOf(const ir::Program& p, absl::Span<const ir::ValueId> values) {
  int64_t bytes = 0;
  for (ir::ValueId v : values) bytes += base::BytesOf(p.type(v)->elements(), p.type(v)->dtype());
  return bytes;
}

// Whether to keep the results rather than to compute them in each iteration: a pass over memory
// does not hide the work, or the operands are larger. Results that need more memory than the
// operands are never kept.
bool IsWorthKeeping(const ir::Program& body, const ir::Instruction& i) {
  constexpr double kHidden = 8;  // FLOPs per element
  if (i.op->opaque || i.op->effect != ir::Effect::kNone || i.cost->flops == 0) return false;
  if (BytesOf(body, i.results) > BytesOf(body, i.operands)) return false;
  return !std::holds_alternative<ir::AsElementwise>(*i.op->lowering) ||
         i.cost->flops >= kHidden * static_cast<double>(body.type(i.results[0])->elements());
}

}  // namespace

Invariants FindInvariants(const ir::Program& body, const Constants& constants) {
  ir::ValueSet invariant(body.values.size());
  for (size_t i = 0; i < constants.count; ++i) invariant[body.inputs[i]] = true;
  ir::ValueSet sliced = invariant;  // constants, and slices of them
  ir::InstructionSet hoists(body.instructions.size());
  std::vector<ir::ValueId> moved;
  for (ir::InstructionId i : InstructionIds(body)) {
    const ir::Instruction& instruction = InstructionAt(body, i);
    bool same = instruction.regions.empty();
    for (ir::ValueId v : instruction.operands) same = same && invariant[v];
    for (ir::ValueId v : instruction.results) invariant[v] = same;
    const bool of_sliced = same && !instruction.operands.empty() && sliced[instruction.operands[0]];
    const bool slice = of_sliced && IsSlice(instruction);
    if (slice || (of_sliced && IsPadding(instruction))) sliced[instruction.results[0]] = true;
    hoists[i] = slice || (same && constants.repeats &&
                          (instruction.cost->bytes > 0 || IsWorthKeeping(body, instruction)));
    if (hoists[i])
      moved.insert(moved.end(), instruction.results.begin(), instruction.results.end());
  }
  Invariants found;
  const ir::InstructionSet needed = ir::NeededFor(body, moved);
  for (ir::InstructionId i : needed.ids())
    if (needed[i]) found.instructions.push_back(i);
  const ir::ValueSet used = ir::UsedValues(body, hoists);
  for (ir::ValueId v : moved)
    if (used[v]) found.results.push_back(v);
  return found;
}

void MakeInputs(ir::Program& region, const std::vector<ir::ValueId>& values, size_t at,
                const std::vector<const ir::Type*>& places) {
  std::vector<ir::ValueId> inputs = values;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] == ir::kNoValue)
      inputs[i] = region.AddValue(LocalType(places[i]), Loc::Unknown(), places[i]);
  region.inputs.insert(region.inputs.begin() + static_cast<long>(at), inputs.begin(), inputs.end());
  ir::RemoveDead(region);
}

size_t DropUnreadConstants(std::vector<ir::Program>& regions, const Constants& constants,
                           std::vector<ir::ValueId>& operands) {
  std::vector<bool> read(constants.count);
  for (const ir::Program& region : regions) {
    const ir::ValueSet used = ir::UsedValues(region);
    for (size_t c = 0; c < constants.count; ++c) read[c] = read[c] || used[region.inputs[c]];
  }
  size_t dropped = 0;
  for (size_t c = constants.count; c-- > 0;) {
    if (read[c]) continue;
    ++dropped;
    operands.erase(operands.begin() + static_cast<long>(constants.first + c));
    for (ir::Program& region : regions)
      region.inputs.erase(region.inputs.begin() + static_cast<long>(c));
  }
  return dropped;
}

bool DependsOnDevice(const ir::Program& program) {
  return absl::c_any_of(program.instructions, [](const ir::Instruction& i) {
    return std::holds_alternative<ir::AsIota>(*i.op->lowering) ||
           std::holds_alternative<ir::AsMove>(*i.op->lowering) ||
           absl::c_any_of(i.regions, [](const auto& r) { return DependsOnDevice(*r); });
  });
}

}  // namespace tessera::spmd
