// What a checkpoint keeps between the parts of its function, and what is computed twice.
#include "transforms/remat.h"

#include <algorithm>

#include "base/at.h"
#include "ir/builder.h"
#include "ir/control_params.h"
#include "ir/inline.h"
#include "ir/regions.h"
#include "ir/uses.h"
#include "ops/calls.h"
#include "ops/tangents.h"

namespace tessera::transforms {
namespace {

using ir::ValueId;

size_t Index(ValueId v) { return base::Size(v); }

// A program that is computed, and the same as it is computed again: values that are kept are made
// by the one and inputs of the other. Of loops and branches both become results and operands, so
// that what is kept of their regions goes the same way.
class Twice {
 public:
  Twice(const ir::Program& program, const ops::CheckpointParams& policy)
      : first(program), again(program), kept(ops::KeptBy(policy, program)) {
    for (ValueId v : program.inputs) kept[Index(v)] = false;
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      const auto* region = std::get_if<ir::AsRegions>(&*program.instructions[i].op->lowering);
      if (!region) continue;
      if (region->kind == ir::AsRegions::kScan) Scan(i, policy);
      if (region->kind == ir::AsRegions::kSwitch) Switch(i, policy);
    }
  }
  ir::Program first, again;
  std::vector<bool> kept;  // per value of both

 private:
  std::vector<ValueId> Kept() const {
    std::vector<ValueId> values;
    for (size_t v = 0; v < kept.size(); ++v)
      if (kept[v]) values.push_back(static_cast<ValueId>(v));
    return values;
  }

  // Adds a result of the instruction that is an operand of it when it is computed again.
  void AddResult(size_t i, const ir::Type* type) {
    ir::Instruction &made = first.instructions[i], &read = again.instructions[i];
    const ValueId v = first.AddValue(type, made.loc);
    again.AddValue(type, made.loc);
    made.results.push_back(v);
    read.operands.push_back(v);
    kept.push_back(true);
  }
  void SetRegion(size_t i, size_t r, Twice inner) {
    for (ValueId v : inner.Kept()) {
      inner.first.outputs.push_back(v);
      inner.again.inputs.push_back(v);
    }
    ir::RemoveEffects(inner.again);
    ir::RemoveDead(inner.again);
    KeepGiven(inner.again);
    first.instructions[i].regions[r] = ir::Shared(std::move(inner.first));
    again.instructions[i].regions[r] = ir::Shared(std::move(inner.again));
  }

  // An instruction of several results may still make one that is given.
  static void KeepGiven(ir::Program& program) {
    for (ir::Instruction& i : program.instructions)
      for (ValueId& v : i.results)
        if (std::count(program.inputs.begin(), program.inputs.end(), v))
          v = program.AddValue(program.type(v), i.loc);
  }

  void Scan(size_t i, const ops::CheckpointParams& policy) {
    Twice body(*first.instructions[i].regions[0], policy);
    const int64_t length = ir::As<ir::ScanParams>(first.instructions[i].params.get()).length;
    for (ValueId v : body.Kept()) AddResult(i, ir::Stacked(body.first.type(v), length));
    SetRegion(i, 0, std::move(body));
  }

  // What one branch keeps the others give zeros for, and read nowhere.
  void Switch(size_t i, const ops::CheckpointParams& policy) {
    const std::vector<ir::RegionPtr> regions = first.instructions[i].regions;
    std::vector<Twice> branches;
    branches.reserve(regions.size());
    for (const ir::RegionPtr& r : regions) branches.emplace_back(*r, policy);
    for (size_t b = 0; b < branches.size(); ++b) {
      const std::vector<ValueId> values = branches[b].Kept();
      for (ValueId v : values) {
        const ir::Type* type = branches[b].first.type(v);
        AddResult(i, type);
        for (size_t o = 0; o < branches.size(); ++o)
          if (o != b) branches[o].AddUnread(type, first.instructions[i].loc);
        branches[b].Pass(v);
      }
    }
    for (size_t b = 0; b < branches.size(); ++b) {
      branches[b].kept.assign(branches[b].kept.size(), false);
      SetRegion(i, b, std::move(branches[b]));
    }
  }
  void Pass(ValueId v) {
    first.outputs.push_back(v);
    again.inputs.push_back(v);
  }
  void AddUnread(const ir::Type* type, Loc loc) {
    ir::Builder builder(first, loc);
    first.outputs.push_back(ops::Zeros(builder, type));
    while (again.values.size() < first.values.size()) again.AddValue(type, loc);
    again.inputs.push_back(again.AddValue(type, loc));
    while (first.values.size() < again.values.size()) first.AddValue(type, loc);
    kept.resize(first.values.size());
  }
};

// Returns the program that computes the residuals from what is kept. Its inputs are that, as far as
// it is read.
ir::Program Recomputation(const Split& split, ir::Program again, const std::vector<bool>& kept) {
  again.outputs.assign(split.known.outputs.end() - static_cast<long>(split.residuals),
                       split.known.outputs.end());
  for (size_t v = 0; v < kept.size(); ++v)
    if (kept[v]) again.inputs.push_back(static_cast<ValueId>(v));
  ir::RemoveEffects(again);
  ir::RemoveDead(again);
  const std::vector<bool> used = ir::UsedValues(again);
  std::erase_if(again.inputs, [&](ValueId v) { return !base::At(used, v); });
  return again;
}

}  // namespace

Split Rematerialized(Split split, const ir::Params* params) {
  Twice twice(split.known, ir::As<ops::CheckpointParams>(params));
  split.known = std::move(twice.first);
  const ir::Program again = Recomputation(split, std::move(twice.again), twice.kept);
  ir::Program& known = split.known;
  known.outputs.resize(known.outputs.size() - split.residuals);
  known.outputs.insert(known.outputs.end(), again.inputs.begin(), again.inputs.end());
  ir::RemoveDead(known);

  ir::Program unknown;
  unknown.mesh = split.unknown.mesh;
  ir::Builder builder(unknown, Loc::Unknown());
  std::vector<ValueId> read;
  for (ValueId v : again.inputs) {
    const ir::Value& value = base::At(again.values, v);
    unknown.inputs.push_back(unknown.AddValue(value.type, value.loc, value.place));
    builder.set_loc(value.loc);
    read.push_back(ops::Barrier(builder, unknown.inputs.back()));
  }
  std::vector<ValueId> inputs = ir::Inline(builder, again, read);
  for (size_t k = split.residuals; k < split.unknown.inputs.size(); ++k) {
    const ir::Value& value = base::At(split.unknown.values, split.unknown.inputs[k]);
    unknown.inputs.push_back(unknown.AddValue(value.type, value.loc, value.place));
    inputs.push_back(unknown.inputs.back());
  }
  unknown.outputs = ir::Inline(builder, split.unknown, inputs);
  split.unknown = std::move(unknown);
  split.residuals = again.inputs.size();
  return split;
}

}  // namespace tessera::transforms
