// What a checkpoint keeps between the parts of its function, and what is computed twice.
#include "transforms/remat.h"

#include "ir/builder.h"
#include "ir/inline.h"
#include "ir/uses.h"
#include "ops/calls.h"
#include "ops/tangents.h"

namespace tessera::transforms {
namespace {

using ir::ValueId;

// Returns the program that computes the residuals from what is kept. Its inputs are that, as far as
// it is read.
ir::Program Recomputation(const Split& split, const std::vector<bool>& kept) {
  ir::Program again = split.known;
  again.outputs.assign(split.known.outputs.end() - static_cast<long>(split.residuals),
                       split.known.outputs.end());
  for (size_t v = 0; v < kept.size(); ++v)
    if (kept[v]) again.inputs.push_back(static_cast<ValueId>(v));
  ir::RemoveEffects(again);
  ir::RemoveDead(again);
  const std::vector<bool> used = ir::UsedValues(again);
  std::erase_if(again.inputs, [&](ValueId v) { return !used[static_cast<size_t>(v)]; });
  return again;
}

}  // namespace

Split Rematerialized(Split split, const ir::Params* params) {
  std::vector<bool> kept = ops::KeptBy(ir::As<ops::CheckpointParams>(params), split.known);
  for (ValueId v : split.known.inputs) kept[static_cast<size_t>(v)] = false;
  const ir::Program again = Recomputation(split, kept);
  ir::Program& known = split.known;
  known.outputs.resize(known.outputs.size() - split.residuals);
  known.outputs.insert(known.outputs.end(), again.inputs.begin(), again.inputs.end());
  ir::RemoveDead(known);

  ir::Program unknown;
  unknown.mesh = split.unknown.mesh;
  ir::Builder builder(unknown, Loc::Unknown());
  std::vector<ValueId> read;
  for (ValueId v : again.inputs) {
    const ir::Value& value = again.values[static_cast<size_t>(v)];
    unknown.inputs.push_back(unknown.AddValue(value.type, value.loc, value.place));
    builder.set_loc(value.loc);
    read.push_back(ops::Barrier(builder, unknown.inputs.back()));
  }
  std::vector<ValueId> inputs = ir::Inline(builder, again, read);
  for (size_t k = split.residuals; k < split.unknown.inputs.size(); ++k) {
    const ir::Value& value = split.unknown.values[static_cast<size_t>(split.unknown.inputs[k])];
    unknown.inputs.push_back(unknown.AddValue(value.type, value.loc, value.place));
    inputs.push_back(unknown.inputs.back());
  }
  unknown.outputs = ir::Inline(builder, split.unknown, inputs);
  split.unknown = std::move(unknown);
  split.residuals = again.inputs.size();
  return split;
}

}  // namespace tessera::transforms
