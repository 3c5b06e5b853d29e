// Rematerialisation: the values that a checkpoint keeps, and the program that recomputes the
// others from them.
#include "transforms/remat.h"

#include <absl/algorithm/container.h>

#include "base/ids.h"
#include "ir/builder.h"
#include "ir/control_params.h"
#include "ir/inline.h"
#include "ir/regions.h"
#include "ir/uses.h"
#include "ir/verify.h"
#include "ops/calls.h"
#include "ops/tangents.h"
#include "transforms/regions.h"

namespace tessera::transforms {
namespace {

using ir::ValueId;

// A program and its copy that is computed again. `first` computes the kept values, `again` reads
// them. Both have the same value ids.
struct KeptParts {
  std::vector<ValueId> Kept() const {
    std::vector<ValueId> values;
    for (ValueId v : kept.ids())
      if (kept[v]) values.push_back(v);
    return values;
  }
  ir::Program first, again;
  base::IdVector<ValueId, bool> kept;
};

KeptParts FindKept(const ir::Program& program, const ops::CheckpointParams& policy);

// Adds a kept value: a result of the first instruction, and an operand of the second one.
void AddKeptResult(KeptParts& parts, size_t i, const ir::Type* type) {
  ir::Instruction &first = parts.first.instructions[i], &again = parts.again.instructions[i];
  const ValueId v = parts.first.AddValue(type, first.loc);
  parts.again.AddValue(type, first.loc);
  first.results.push_back(v);
  again.operands.push_back(v);
  parts.kept.Add(true);
}

// Adds a dummy output of zeros, and an input that nothing reads.
void AddUnread(KeptParts& body, const ir::Type* type, Loc loc) {
  ir::Builder builder(body.first, loc);
  body.first.outputs.push_back(ops::Zeros(builder, type));
  while (body.again.values.size() < body.first.values.size()) body.again.AddValue(type, loc);
  body.again.inputs.push_back(body.again.AddValue(type, loc));
  body.first.AddValue(type, loc);
  body.kept.resize(body.first.values.size());
}

// Gives results of the program that are also its inputs a new id: an instruction with several
// results may still compute one of these.
void RenameGiven(ir::Program& program) {
  for (ir::Instruction& i : program.instructions)
    for (ValueId& v : i.results)
      if (absl::c_linear_search(program.inputs, v)) v = program.AddValue(program.type(v), i.loc);
}

// Makes the kept values of an instruction's bodies results of the instruction, and operands of its
// copy. A value that one branch keeps is a dummy zero result of the others.
void KeepOfRegions(KeptParts& parts, size_t i, const ops::CheckpointParams& policy) {
  const ir::Instruction from = parts.first.instructions[i];
  const RegionLayout layout(from);
  std::vector<KeptParts> bodies;
  for (size_t b : layout.bodies) bodies.push_back(FindKept(*from.regions[b], policy));
  for (KeptParts& body : bodies)
    for (ValueId v : body.Kept()) {
      const ir::Type* type = body.first.type(v);
      const bool stacked = layout.IsStacked(RegionGroup::kSlices);
      AddKeptResult(
          parts, i,
          stacked ? ir::Stacked(type, ir::As<ir::ScanParams>(from.params.get()).length) : type);
      body.first.outputs.push_back(v);
      body.again.inputs.push_back(v);
      for (KeptParts& other : bodies)
        if (&other != &body) AddUnread(other, type, from.loc);
    }
  for (size_t b = 0; b < bodies.size(); ++b) {
    ir::RemoveEffects(bodies[b].again);
    ir::RemoveDead(bodies[b].again);
    RenameGiven(bodies[b].again);
    parts.first.instructions[i].regions[b] = ir::Shared(std::move(bodies[b].first));
    parts.again.instructions[i].regions[b] = ir::Shared(std::move(bodies[b].again));
  }
}

// Returns the program and its copy, with the values that the policy keeps in it and in its loops
// and branches. A while_loop keeps nothing.
KeptParts FindKept(const ir::Program& program, const ops::CheckpointParams& policy) {
  KeptParts parts{program, program, base::IdVector<ValueId, bool>(ops::KeptBy(policy, program))};
  for (ValueId v : program.inputs) parts.kept[v] = false;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const auto* region = std::get_if<ir::AsRegions>(&*program.instructions[i].op->lowering);
    if (region && (region->kind == ir::AsRegions::kScan || region->kind == ir::AsRegions::kSwitch))
      KeepOfRegions(parts, i, policy);
  }
  return parts;
}

// Returns the program that computes the residuals of a split from the kept values that it reads,
// which are its inputs.
ir::Program Recomputation(const Split& split, const KeptParts& parts) {
  ir::Program again = parts.again;
  again.outputs.assign(split.known.outputs.end() - static_cast<long>(split.residuals),
                       split.known.outputs.end());
  const std::vector<ValueId> kept = parts.Kept();
  again.inputs.insert(again.inputs.end(), kept.begin(), kept.end());
  ir::RemoveEffects(again);
  ir::RemoveDead(again);
  const ir::ValueSet used = ir::UsedValues(again);
  std::erase_if(again.inputs, [&](ValueId v) { return !used[v]; });
  return again;
}

}  // namespace

Split Rematerialized(Split split, const ir::Params* params) {
  KeptParts parts = FindKept(split.known, ir::As<ops::CheckpointParams>(params));
  const ir::Program again = Recomputation(split, parts);
  split.known = std::move(parts.first);
  ir::Program& known = split.known;
  known.outputs.resize(known.outputs.size() - split.residuals);
  known.outputs.insert(known.outputs.end(), again.inputs.begin(), again.inputs.end());
  ir::RemoveDead(known);

  ir::Program unknown;
  unknown.mesh = split.unknown.mesh;
  ir::Builder builder(unknown, Loc::Unknown());
  std::vector<ValueId> read;
  for (ValueId v : again.inputs) {
    const ir::Value& value = again.values[v];
    unknown.inputs.push_back(unknown.AddValue(value.type, value.loc, value.place));
    builder.set_loc(value.loc);
    read.push_back(ops::Barrier(builder, unknown.inputs.back()));
  }
  std::vector<ValueId> inputs = ir::Inline(builder, again, read);
  for (size_t k = split.residuals; k < split.unknown.inputs.size(); ++k) {
    const ir::Value& value = split.unknown.values[split.unknown.inputs[k]];
    unknown.inputs.push_back(unknown.AddValue(value.type, value.loc, value.place));
    inputs.push_back(unknown.inputs.back());
  }
  unknown.outputs = ir::Inline(builder, split.unknown, inputs);
  split.unknown = std::move(unknown);
  split.residuals = again.inputs.size();
  ir::VerifyAfter("remat", split.known);
  ir::VerifyAfter("remat", split.unknown);
  return split;
}

}  // namespace tessera::transforms
