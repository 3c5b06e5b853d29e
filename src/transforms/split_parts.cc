// Values of the two parts of a split program, and the residuals that join them.
#include "transforms/split_parts.h"

#include "base/at.h"
#include "ir/uses.h"
#include "ops/tangents.h"

namespace tessera::transforms {

using ir::ValueId;

SplitParts::SplitParts(const ir::Program& from, UnknownValues is_unknown)
    : from_(from), is_unknown_(std::move(is_unknown)), made_(from.values.size(), kNoValue) {
  known_.mesh = unknown_.mesh = from.mesh;
  for (ir::Program* part : {&known_, &unknown_}) part->Reserve(from.instructions.size());
  for (ValueId v : from.inputs) {
    const ValueId input = AddInput(v);
    if (!is_unknown_[v]) known_.inputs.push_back(input);
  }
  for (const ir::Capture& c : from.captures)
    known_.captures.push_back({AddInput(c.value), c.array});
}

ValueId SplitParts::AddInput(ValueId v) {
  const ir::Value& value = from_.values[v];
  ir::Program& part = is_unknown_[v] ? unknown_ : known_;
  return made_[v] = part.AddValue(value.type, value.loc, value.place);
}

ValueId SplitParts::Residual(ValueId made) {
  if (const ValueId copy = Entry(copies_, made, kNoValue); copy != kNoValue) return copy;
  ValueId copy = Recomputed(made);
  if (copy == kNoValue) {
    const ir::Value& value = known_.values[made];
    copy = unknown_.AddValue(value.type, value.loc);
    residuals_.emplace_back(made, copy);
  }
  return Entry(copies_, made, kNoValue) = copy;
}

ValueId SplitParts::Recomputed(ValueId made) {
  const int at = Entry(recomputed_, made, kStored);
  if (at == kZeros) return ops::Zeros(unknown_builder_, known_.type(made));
  if (at == kStored) return kNoValue;
  const ir::Instruction i = base::At(known_.instructions, at);
  std::vector<ValueId> operands;
  for (ValueId v : i.operands) operands.push_back(Residual(v));
  const ir::Type* type = known_.type(made);
  unknown_builder_.set_loc(i.loc);
  return unknown_builder_.EmitTyped(*i.op, i.params, operands, {&type, 1}, i.regions)[0];
}

void SplitParts::MarkRecomputed(ValueId made) {
  Entry(recomputed_, made, kStored) = static_cast<int>(known_.instructions.size()) - 1;
}

Split SplitParts::Finish(const std::vector<bool>& wanted) && {
  Split out;
  for (const auto& [name, v] : from_.names)
    (is_unknown_[v] ? unknown_ : known_).names.emplace_back(name, made_[v]);
  for (size_t i = 0; i < from_.outputs.size(); ++i) {
    const ValueId v = from_.outputs[i];
    out.unknown_outputs.push_back(is_unknown_[v] || wanted[i]);
    if (out.unknown_outputs.back())
      unknown_.outputs.push_back(InUnknown(v));
    else
      known_.outputs.push_back(made_[v]);
  }
  ir::RemoveDead(unknown_);
  const ir::ValueSet used = ir::UsedValues(unknown_);
  for (const auto& [made, copy] : residuals_) {
    if (!used[copy]) continue;
    ++out.residuals;
    known_.outputs.push_back(made);
    unknown_.inputs.push_back(copy);
  }
  for (ValueId v : from_.inputs)
    if (is_unknown_[v]) unknown_.inputs.push_back(made_[v]);
  ir::RemoveDead(known_);
  out.known = std::move(known_);
  out.unknown = std::move(unknown_);
  return out;
}

}  // namespace tessera::transforms
