// Walks over the instructions of a program, backwards where uses matter.
#include "ir/uses.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "ir/prune.h"

namespace tessera::ir {

ValueSet UsedValues(const Program& program, const InstructionSet& without) {
  ValueSet used(program.values.size());
  for (ValueId v : program.outputs) used[v] = true;
  for (InstructionId i : InstructionIds(program))
    if (without.empty() || !without[i])
      for (ValueId v : InstructionAt(program, i).operands) used[v] = true;
  return used;
}

InstructionSet NeededFor(const Program& program, absl::Span<const ValueId> values) {
  ValueSet input(program.values.size()), wanted(program.values.size());
  for (ValueId v : program.inputs) input[v] = true;
  for (ValueId v : values) wanted[v] = true;
  InstructionSet needed(program.instructions.size());
  for (InstructionId i : base::Reversed(needed.ids())) {
    const Instruction& instruction = InstructionAt(program, i);
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

// Returns the instructions that outputs or effects need.
InstructionSet LiveInstructions(const Program& program) {
  std::vector<ValueId> wanted = program.outputs;
  InstructionSet acts(program.instructions.size());
  for (InstructionId i : acts.ids()) {
    const Instruction& instruction = InstructionAt(program, i);
    acts[i] = EffectOf(instruction) != Effect::kNone;
    if (acts[i])
      wanted.insert(wanted.end(), instruction.operands.begin(), instruction.operands.end());
  }
  InstructionSet live = NeededFor(program, wanted);
  for (InstructionId i : live.ids()) live[i] = live[i] || acts[i];
  return live;
}

}  // namespace

void KeepInstructions(Program& program, const InstructionSet& kept) {
  std::vector<Instruction>& instructions = program.instructions;
  size_t n = 0;
  for (InstructionId i : kept.ids()) {
    if (!kept[i]) continue;
    Instruction& instruction = InstructionAt(program, i);
    if (&instructions[n] != &instruction) instructions[n] = std::move(instruction);
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
  InstructionSet kept;
  for (const Instruction& i : program.instructions)
    kept.Add(i.op->effect == Effect::kNone || !i.results.empty());
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
