// Walks over the instructions of a program, backwards where uses matter.
#include "ir/uses.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "ir/prune.h"

namespace tessera::ir {

ValueSet UsedValues(const Program& program, const std::vector<bool>& without) {
  ValueSet used(program.values.size());
  for (ValueId v : program.outputs) used[v] = true;
  for (size_t i = 0; i < program.instructions.size(); ++i)
    if (without.empty() || !without[i])
      for (ValueId v : program.instructions[i].operands) used[v] = true;
  return used;
}

std::vector<bool> NeededFor(const Program& program, absl::Span<const ValueId> values) {
  ValueSet input(program.values.size()), wanted(program.values.size());
  for (ValueId v : program.inputs) input[v] = true;
  for (ValueId v : values) wanted[v] = true;
  std::vector<bool> needed(program.instructions.size());
  for (size_t i = needed.size(); i-- > 0;) {
    const Instruction& instruction = program.instructions[i];
    needed[i] =
        absl::c_any_of(instruction.results, [&](ValueId v) { return wanted[v] && !input[v]; });
    if (!needed[i]) continue;
    for (ValueId v : instruction.operands) wanted[v] = true;
  }
  return needed;
}

ValueSet MadeOf(const Program& program, ValueSet seeds) {
  for (const Instruction& i : program.instructions)
    if (absl::c_any_of(i.operands, [&](ValueId v) { return seeds[v]; }))
      for (ValueId v : i.results) seeds[v] = true;
  return seeds;
}

bool HasEffects(const Program& program) {
  return absl::c_any_of(program.instructions,
                        [](const Instruction& i) { return EffectOf(i) != Effect::kNone; });
}

Effect EffectOf(const Instruction& instruction) {
  Effect effect = instruction.op->effect;
  const auto* region = std::get_if<AsRegions>(&*instruction.op->lowering);
  // A call runs its first region; the others are rules.
  const size_t run = !region                            ? 0
                     : region->kind == AsRegions::kCall ? 1
                                                        : instruction.regions.size();
  for (size_t r = 0; r < run; ++r)
    for (const Instruction& i : instruction.regions[r]->instructions)
      effect = std::max(effect, EffectOf(i));
  return effect;
}

namespace {

// Returns, per instruction, whether outputs or effects need it.
std::vector<bool> LiveInstructions(const Program& program) {
  std::vector<ValueId> wanted = program.outputs;
  std::vector<bool> acts(program.instructions.size());
  for (size_t i = 0; i < acts.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    acts[i] = EffectOf(instruction) != Effect::kNone;
    if (acts[i])
      wanted.insert(wanted.end(), instruction.operands.begin(), instruction.operands.end());
  }
  std::vector<bool> live = NeededFor(program, wanted);
  for (size_t i = 0; i < acts.size(); ++i) live[i] = live[i] || acts[i];
  return live;
}

}  // namespace

void KeepInstructions(Program& program, const std::vector<bool>& kept) {
  std::vector<Instruction>& instructions = program.instructions;
  size_t n = 0;
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (!kept[i]) continue;
    if (n != i) instructions[n] = std::move(instructions[i]);
    ++n;
  }
  instructions.erase(instructions.begin() + static_cast<long>(n), instructions.end());
  if (program.names.empty()) return;
  ValueSet exists(program.values.size());
  for (ValueId v : program.inputs) exists[v] = true;
  for (const Capture& c : program.captures) exists[c.value] = true;
  for (const Instruction& i : instructions)
    for (ValueId v : i.results) exists[v] = true;
  std::erase_if(program.names, [&](const auto& n) { return !exists[n.second]; });
}

void RemoveEffects(Program& program) {
  std::vector<bool> kept;
  for (const Instruction& i : program.instructions)
    kept.push_back(i.op->effect == Effect::kNone || !i.results.empty());
  KeepInstructions(program, kept);
  for (Instruction& i : program.instructions) {
    if (EffectOf(i) == Effect::kNone) continue;
    for (RegionPtr& region : i.regions) {
      Program without = *region;
      RemoveEffects(without);
      region = Shared(std::move(without));
    }
  }
}

void RemoveDead(Program& program) {
  PruneRegions(program);
  RemoveDeadOutsideRegions(program);
}

void RemoveDeadOutsideRegions(Program& program) {
  KeepInstructions(program, LiveInstructions(program));
}

}  // namespace tessera::ir
