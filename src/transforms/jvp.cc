// Forward mode. Each instruction is copied; the instructions that compute its tangents follow, by
// the rule of its op.
#include "transforms/jvp.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "base/at.h"
#include "base/error.h"
#include "base/ids.h"
#include "ir/builder.h"
#include "ir/differentiated.h"
#include "ir/fixes.h"
#include "ir/infer.h"
#include "ir/simplify.h"
#include "ir/uses.h"
#include "ir/verify.h"
#include "ops/tangents.h"
#include "transforms/memo.h"
#include "transforms/regions.h"
#include "transforms/types.h"

namespace tessera::transforms {
namespace {

using base::At;
using ir::ValueId;
using Tangents = std::vector<ValueId>;  // kNoValue: zero, because no active input reaches it

[[noreturn]] void FailNotDifferentiable(const ir::OpDef& op, Loc loc, const std::string& why) {
  base::ThrowTrace({.kind = {},
                    .op = std::string(op.name),
                    .label = fmt::format("{}.C20", op.name),
                    .where = base::Where(loc),
                    .reason = "it has no derivative" + why,
                    .operands = {},
                    .notes = {"to treat the operand as a constant, wrap it in stop_gradient"},
                    .fixes = {}});
}

class Forward {
 public:
  using Memo = RegionMemo<Jvp>;
  Forward(const ir::Program& from, const std::vector<bool>& active, Memo& memo)
      : from_(from),
        memo_(memo),
        builder_(to_, Loc::Unknown()),
        primal_(from.values.size(), kNoValue),
        tangent_(from.values.size(), kNoValue) {
    to_.mesh = from.mesh;
    to_.Reserve(4 * from.instructions.size());
    for (ValueId v : from.inputs) to_.inputs.push_back(Parameter(v));
    for (size_t i = 0; i < from.inputs.size(); ++i)
      if (active[i]) to_.inputs.push_back(AddTangent(from.inputs[i]));
    for (const ir::Capture& c : from.captures)
      to_.captures.push_back({Parameter(c.value), c.array});
  }

  Jvp Run(const std::vector<bool>& wanted) {
    for (const ir::Instruction& i : from_.instructions) Visit(i);
    for (const auto& [name, v] : from_.names) to_.names.emplace_back(name, primal_[v]);
    Jvp out;
    for (ValueId v : from_.outputs) to_.outputs.push_back(primal_[v]);
    for (size_t i = 0; i < from_.outputs.size(); ++i) {
      ValueId tangent = tangent_[from_.outputs[i]];
      const ir::Type* type = from_.type(from_.outputs[i]);
      if (tangent == kNoValue && wanted[i]) tangent = ops::Zeros(builder_, type);
      out.active.push_back(tangent != kNoValue);
      if (tangent != kNoValue) to_.outputs.push_back(tangent);
    }
    if (!replaced_.empty()) {
      ir::InstructionSet kept(to_.instructions.size(), true);
      for (ir::InstructionId at : replaced_) kept[at] = false;
      ir::KeepInstructions(to_, kept);
    }
    out.program = std::move(to_);
    return out;
  }

 private:
  ValueId Parameter(ValueId v) {
    const ir::Value& value = from_.values[v];
    return primal_[v] = to_.AddValue(value.type, value.loc, value.place);
  }
  ValueId AddTangent(ValueId v) {
    const ir::Value& value = from_.values[v];
    return tangent_[v] = to_.AddValue(value.type->WithWeak(false), value.loc, value.place);
  }

  void Visit(const ir::Instruction& i) {
    builder_.set_loc(i.loc);
    std::vector<ValueId> operands, tangents;
    bool any = false;
    for (ValueId v : i.operands) {
      operands.push_back(primal_[v]);
      tangents.push_back(tangent_[v]);
      any = any || tangents.back() != kNoValue;
    }
    const TypesOf types(from_, i);
    const auto* diff = &*i.op->diff;
    if (any && std::holds_alternative<ir::ByRegions>(*diff))
      return VisitRegions(i, operands, tangents);
    auto results = builder_.EmitTyped(*i.op, i.params, operands, types.results, i.regions);
    for (size_t r = 0; r < results.size(); ++r) primal_[i.results[r]] = results[r];
    if (!any || absl::c_none_of(types.results, ops::HasTangent)) return;
    ir::NoteDerivative(*i.op, i.loc);
    const ir::DiffCall call{builder_,       *i.op,         i.params,  operands, results,
                            types.operands, types.results, i.regions, &jvp_of_};
    Tangents out;
    if (const auto* none = std::get_if<ir::NotDifferentiable>(diff))
      FailNotDifferentiable(*i.op, i.loc, fmt::format(": {}", none->why));
    else if (const auto* jvp = std::get_if<ir::Structural>(diff))
      out = ByJvp(*jvp, call, tangents, i);
    else
      out = {Summed(call, std::get<ir::Derivative>(*diff), tangents)};
    for (size_t r = 0; r < out.size(); ++r)
      if (out[r] != kNoValue)
        tangent_[i.results[r]] = ops::Conform(builder_, out[r], types.results[r]);
  }

  Tangents ByJvp(const ir::Structural& rule, const ir::DiffCall& call, const Tangents& tangents,
                 const ir::Instruction& i) {
    std::vector<ValueId> results(call.results.begin(), call.results.end());
    const ir::InstructionId at = InstructionIds(to_).back();
    Tangents out = rule.jvp(call, tangents, results);
    // A rule that gives the values too runs in place of the function.
    const bool is_replaced =
        absl::c_none_of(results, [&](ValueId v) { return absl::c_linear_search(call.results, v); });
    if (is_replaced && ir::EffectOf(i) != ir::Effect::kNone) replaced_.push_back(at);
    for (size_t r = 0; r < results.size(); ++r) primal_[i.results[r]] = results[r];
    return out;
  }

  // Returns the sum over the operands of their terms. Operands in which the op is jointly linear
  // have one term together.
  ValueId Summed(const ir::DiffCall& call, const ir::Derivative& derivative,
                 const Tangents& tangents) {
    ValueId sum = kNoValue;
    std::vector<bool> done(tangents.size());
    for (const sharding::LinearGroup& group : GroupsOf(call)) {
      std::vector<size_t> members;
      for (int32_t k : group.operands)
        if (At(tangents, k) != kNoValue) members.push_back(base::Size(k));
      for (size_t k : members) done[k] = true;
      if (members.empty()) continue;
      const bool alone = members.size() == 1 && members[0] < 3 && derivative.of[members[0]];
      ValueId term = alone ? derivative.of[members[0]](call, tangents[members[0]])
                           : Linear(call, group, tangents);
      sum = ops::Sum(builder_, sum, ops::Conform(builder_, term, call.result_types[0]));
    }
    for (size_t k = 0; k < tangents.size(); ++k) {
      if (done[k] || tangents[k] == kNoValue || k >= derivative.of.size()) continue;
      if (derivative.none[k])
        FailNotDifferentiable(call.op, builder_.loc(),
                              fmt::format(" with respect to {}: {}", ir::OperandName(call.op, k),
                                          derivative.none[k]));
      if (!derivative.of[k]) continue;
      ValueId term = derivative.of[k](call, tangents[k]);
      sum = ops::Sum(builder_, sum, ops::Conform(builder_, term, call.result_types[0]));
    }
    return sum;
  }

  // Returns no groups for moves. They have no dimension map, but formulas for their tangents.
  static std::vector<sharding::LinearGroup> GroupsOf(const ir::DiffCall& call) {
    return ir::LinearGroupsOf(call.op, call.params, call.operand_types, call.result_types);
  }

  // Returns the op applied to the tangents of the group, with zeros for those that are not there,
  // and to the primal values of the other operands.
  ValueId Linear(const ir::DiffCall& call, const sharding::LinearGroup& group,
                 const Tangents& tangents) {
    std::vector<ValueId> operands(call.operands.begin(), call.operands.end());
    for (int32_t k : group.operands) {
      const auto i = base::Size(k);
      operands[i] = TangentOf(tangents[i], call.operand_types[i]);
    }
    const ir::Type* type = call.result_types[0]->WithWeak(false);
    return builder_.EmitTyped(call.op, call.params, operands, {&type, 1})[0];
  }

  ValueId TangentOf(ValueId tangent, const ir::Type* type) {
    return tangent != kNoValue ? tangent : ops::Zeros(builder_, type);
  }

  const Jvp& RegionJvp(const ir::Program& region, const std::vector<bool>& active,
                       const std::vector<bool>& wanted) {
    return memo_.Get(region, active, wanted, [&] {
      Jvp jvp = Forward(region, active, memo_).Run(wanted);
      ir::Simplify(jvp.program);
      return jvp;
    });
  }

  // Returns the regions with tangents of active inputs and outputs after all primal ones. The
  // condition of a loop gets the tangents of the carries, and reads none.
  std::vector<ir::Program> RegionsWithTangents(const ir::Instruction& i, const RegionLayout& layout,
                                               const RegionFlags& active) {
    std::vector<ir::Program> regions;
    for (size_t r = 0; r < i.regions.size(); ++r) {
      const ir::Program& region = *i.regions[r];
      if (absl::c_linear_search(layout.bodies, r)) {
        regions.push_back(RegionJvp(region, active.ins, active.outs).program);
        continue;
      }
      ir::Program& condition = regions.emplace_back(region);
      for (size_t k = 0; k < active.ins.size(); ++k)
        if (active.ins[k])
          condition.inputs.push_back(
              condition.AddValue(region.type(region.inputs[k])->WithWeak(false), i.loc));
    }
    return regions;
  }

  // In each group the tangents follow the primal values.
  void VisitRegions(const ir::Instruction& i, const std::vector<ValueId>& operands,
                    const Tangents& tangents) {
    const RegionLayout layout(i);
    std::vector<bool> ins;
    for (size_t k = layout.first; k < tangents.size(); ++k)
      ins.push_back(tangents[k] != kNoValue && ops::HasTangent(from_.type(i.operands[k])));
    const RegionFlags active = SpreadFlags(
        i, std::move(ins),
        [&](const ir::Program& body, const std::vector<bool>& in, const std::vector<bool>& wanted) {
          return RegionJvp(body, in, wanted).active;
        });
    RegionEdit edit(i, RegionsWithTangents(i, layout, active));
    const size_t inputs = active.ins.size(), outputs = active.outs.size();
    for (size_t k = 0; k < layout.first; ++k) edit.AddIndex(operands[k]);
    for (size_t k = 0; k < inputs; ++k)
      edit.AddInput(layout.InputGroup(k), operands[layout.first + k], k);
    for (size_t k = 0, input = inputs; k < inputs; ++k) {
      const size_t operand = layout.first + k;
      if (!active.ins[k]) continue;
      const ValueId tangent = TangentOf(tangents[operand], from_.type(i.operands[operand]));
      edit.AddInput(layout.InputGroup(k), tangent, input++);
    }
    for (size_t r = 0; r < outputs; ++r)
      edit.AddOutput(layout.OutputGroup(r), from_.type(i.results[r]), r);
    for (size_t r = 0, output = outputs; r < outputs; ++r)
      if (active.outs[r])
        edit.AddOutput(layout.OutputGroup(r), from_.type(i.results[r])->WithWeak(false), output++);
    const std::vector<ValueId> results = std::move(edit).Emit(builder_);
    for (size_t r = 0, tangent = outputs; r < outputs; ++r) {
      primal_[i.results[r]] = results[r];
      if (active.outs[r]) tangent_[i.results[r]] = results[tangent++];
    }
  }

  const ir::RegionJvp jvp_of_ = [this](const ir::Program& region, const std::vector<bool>& active) {
    std::vector<bool> wanted;
    for (ValueId v : region.outputs) wanted.push_back(ops::HasTangent(region.type(v)));
    return RegionJvp(region, active, wanted).program;
  };
  const ir::Program& from_;
  Memo& memo_;
  ir::Program to_;
  ir::Builder builder_;
  base::IdVector<ValueId, ValueId> primal_, tangent_;  // values of `to_`, by value of `from_`
  std::vector<ir::InstructionId>
      replaced_;  // instructions of `to_` that a rule's own instructions replace
};

}  // namespace

Jvp MakeJvp(const ir::Program& program, const std::vector<bool>& active,
            const std::vector<bool>& wanted) {
  Forward::Memo memo;
  Jvp made = Forward(program, active, memo).Run(wanted);
  ir::VerifyAfter("jvp", made.program);
  return made;
}

}  // namespace tessera::transforms
