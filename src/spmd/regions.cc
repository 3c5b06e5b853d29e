#include "spmd/regions.h"

#include "ir/control_params.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

ir::Region::Kind KindOf(const ir::Instruction& i) {
  return std::get<ir::Region>(*i.op->lowering).kind;
}

}  // namespace

bool IsSlice(const ir::Instruction& instruction) {
  return instruction.op == &OpOf(sharding::StepKind::kAllSlice);
}

bool IsPadding(const ir::Instruction& instruction) {
  return instruction.op == &OpOf(sharding::StepKind::kPadToShards);
}

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

Constants ConstantsOf(const ir::Instruction& i) {
  if (KindOf(i) == ir::Region::kSwitch) return {1, i.operands.size() - 1, true, false};
  Times times = TimesOf(i);
  int64_t count = KindOf(i) == ir::Region::kWhile
                      ? ir::As<ir::WhileParams>(i.params.get()).constants
                      : ir::As<ir::ScanParams>(i.params.get()).constants;
  return {0, static_cast<size_t>(count), false, times.times > 1 || !times.known};
}

ir::ParamsPtr WithConstants(const ir::Instruction& i, int64_t more) {
  switch (KindOf(i)) {
    case ir::Region::kWhile: {
      ir::WhileParams params = ir::As<ir::WhileParams>(i.params.get());
      params.constants += more;
      return ir::MakeParams(params);
    }
    case ir::Region::kScan: {
      ir::ScanParams params = ir::As<ir::ScanParams>(i.params.get());
      params.constants += more;
      return ir::MakeParams(params);
    }
    default:
      return i.params;
  }
}

Invariants FindInvariants(const DeviceProgram& body, const Constants& constants) {
  const ir::Program& p = body.program;
  std::vector<bool> invariant(p.values.size()), needed(p.values.size());
  for (size_t i = 0; i < constants.count; ++i) invariant[static_cast<size_t>(p.inputs[i])] = true;
  std::vector<bool> given = invariant;
  std::vector<bool> hoists(p.instructions.size());
  for (size_t i = 0; i < p.instructions.size(); ++i) {
    const ir::Instruction& instruction = p.instructions[i];
    bool same = instruction.regions.empty();
    for (ir::ValueId v : instruction.operands) same = same && invariant[static_cast<size_t>(v)];
    for (ir::ValueId v : instruction.results) invariant[static_cast<size_t>(v)] = same;
    bool of_given = same && !instruction.operands.empty() &&
                    given[static_cast<size_t>(instruction.operands[0])];
    bool slice = of_given && IsSlice(instruction);
    if (slice || (of_given && IsPadding(instruction)))
      given[static_cast<size_t>(instruction.results[0])] = true;
    hoists[i] = slice || (same && body.notes[i].bytes > 0 && constants.repeats);
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

size_t DropUnreadConstants(std::vector<DeviceProgram>& regions, const Constants& constants,
                           std::vector<ir::ValueId>& operands) {
  std::vector<bool> read(constants.count);
  for (const DeviceProgram& region : regions) {
    const ir::Program& p = region.program;
    std::vector<bool> used(p.values.size());
    for (ir::ValueId v : p.outputs) used[static_cast<size_t>(v)] = true;
    for (const ir::Instruction& i : p.instructions)
      for (ir::ValueId v : i.operands) used[static_cast<size_t>(v)] = true;
    for (size_t c = 0; c < constants.count; ++c)
      read[c] = read[c] || used[static_cast<size_t>(p.inputs[c])];
  }
  size_t dropped = 0;
  for (size_t c = constants.count; c-- > 0;) {
    if (read[c]) continue;
    ++dropped;
    operands.erase(operands.begin() + static_cast<long>(constants.first + c));
    for (DeviceProgram& region : regions)
      region.program.inputs.erase(region.program.inputs.begin() + static_cast<long>(c));
  }
  return dropped;
}

Flops FlopsOf(const DeviceProgram& device) {
  Flops sum;
  for (size_t i = 0; i < device.notes.size(); ++i) {
    const Note& note = device.notes[i];
    sum.device += note.flops;
    sum.whole += note.whole_flops;
    if (note.regions.empty()) continue;
    const ir::Instruction& instruction = device.program.instructions[i];
    bool branches = KindOf(instruction) == ir::Region::kSwitch;
    Flops once;
    for (const auto& region : note.regions) {
      Flops more = FlopsOf(*region);
      if (!branches)
        once = {once.device + more.device, once.whole + more.whole};
      else if (more.device > once.device)
        once = more;
    }
    auto times = static_cast<double>(TimesOf(instruction).times);
    sum.device += once.device * times;
    sum.whole += once.whole * times;
  }
  return sum;
}

}  // namespace tessera::spmd
