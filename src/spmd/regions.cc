#include "spmd/regions.h"

#include "ir/control_params.h"

namespace tessera::spmd {
namespace {

ir::Region::Kind KindOf(const ir::Instruction& i) {
  return std::get<ir::Region>(*i.op->lowering).kind;
}

}  // namespace

Times TimesOf(const ir::Instruction& instruction) {
  switch (KindOf(instruction)) {
    case ir::Region::kWhile:
      return {1, false};
    case ir::Region::kScan:
      return {ir::As<ir::ScanParams>(instruction.params.get()).length, true};
    default:
      return {};
  }
}

size_t ConstantsOf(const ir::Instruction& loop) {
  return static_cast<size_t>(KindOf(loop) == ir::Region::kWhile
                                 ? ir::As<ir::WhileParams>(loop.params.get()).constants
                                 : ir::As<ir::ScanParams>(loop.params.get()).constants);
}

ir::ParamsPtr WithConstants(const ir::Instruction& loop, size_t more) {
  if (KindOf(loop) == ir::Region::kWhile) {
    ir::WhileParams params = ir::As<ir::WhileParams>(loop.params.get());
    params.constants += static_cast<int64_t>(more);
    return ir::MakeParams(params);
  }
  ir::ScanParams params = ir::As<ir::ScanParams>(loop.params.get());
  params.constants += static_cast<int64_t>(more);
  return ir::MakeParams(params);
}

Invariants FindInvariants(const DeviceProgram& body, size_t constants) {
  const ir::Program& p = body.program;
  std::vector<bool> invariant(p.values.size()), needed(p.values.size());
  for (size_t i = 0; i < constants; ++i) invariant[static_cast<size_t>(p.inputs[i])] = true;
  std::vector<bool> hoists(p.instructions.size());
  for (size_t i = 0; i < p.instructions.size(); ++i) {
    const ir::Instruction& instruction = p.instructions[i];
    bool same = instruction.regions.empty();
    for (ir::ValueId v : instruction.operands) same = same && invariant[static_cast<size_t>(v)];
    for (ir::ValueId v : instruction.results) invariant[static_cast<size_t>(v)] = same;
    hoists[i] = same && body.notes[i].bytes > 0;
  }
  Invariants found;
  for (size_t i = p.instructions.size(); i-- > 0;) {
    bool taken = hoists[i];
    for (ir::ValueId v : p.instructions[i].results) taken = taken || needed[static_cast<size_t>(v)];
    if (!taken) continue;
    for (ir::ValueId v : p.instructions[i].operands) needed[static_cast<size_t>(v)] = true;
    found.instructions.insert(found.instructions.begin(), i);
  }
  std::vector<bool> used(p.values.size());
  for (ir::ValueId v : p.outputs) used[static_cast<size_t>(v)] = true;
  for (size_t i = 0; i < p.instructions.size(); ++i)
    if (!hoists[i])
      for (ir::ValueId v : p.instructions[i].operands) used[static_cast<size_t>(v)] = true;
  for (size_t i : found.instructions)
    if (hoists[i] && used[static_cast<size_t>(p.instructions[i].results[0])])
      found.results.push_back(p.instructions[i].results[0]);
  return found;
}

void MakeInputs(DeviceProgram& region, const std::vector<ir::ValueId>& values, size_t at,
                const std::vector<const ir::Type*>& placed) {
  ir::Program& p = region.program;
  std::vector<ir::ValueId> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    inputs.push_back(values[i]);
    if (values[i] >= 0) continue;
    inputs.back() = p.AddValue(LocalType(placed[i]), Loc::Unknown());
    region.placed.push_back(placed[i]);
  }
  p.inputs.insert(p.inputs.begin() + static_cast<long>(at), inputs.begin(), inputs.end());
  size_t kept = 0;
  for (size_t i = 0; i < p.instructions.size(); ++i) {
    bool given = std::count(values.begin(), values.end(), p.instructions[i].results[0]) != 0;
    if (given) continue;
    if (kept != i) {
      p.instructions[kept] = std::move(p.instructions[i]);
      region.notes[kept] = std::move(region.notes[i]);
    }
    ++kept;
  }
  p.instructions.resize(kept, {nullptr, nullptr, {}, {}, Loc::Unknown(), {}});
  region.notes.resize(kept);
  Simplify(region);
}

}  // namespace tessera::spmd
