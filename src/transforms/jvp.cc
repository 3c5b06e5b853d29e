// Forward mode. Each instruction is copied, and followed by what its op says of tangents.
#include "transforms/jvp.h"

#include <fmt/format.h>

#include "base/at.h"
#include "base/error.h"
#include "ir/builder.h"
#include "ir/fixes.h"
#include "ir/infer.h"
#include "ir/simplify.h"
#include "ir/uses.h"
#include "ops/tangents.h"
#include "transforms/regions.h"
#include "transforms/types.h"

namespace tessera::transforms {
namespace {

using base::At;
using ir::ValueId;
using Tangents = std::vector<ValueId>;

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
  Forward(const ir::Program& from, const std::vector<bool>& active, JvpMemo& memo)
      : from_(from),
        memo_(memo),
        builder_(to_, Loc::Unknown()),
        primal_(from.values.size(), kZero),
        tangent_(from.values.size(), kZero) {
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
    for (const auto& [name, v] : from_.names) to_.names.emplace_back(name, At(primal_, v));
    Jvp out;
    for (ValueId v : from_.outputs) to_.outputs.push_back(At(primal_, v));
    for (size_t i = 0; i < from_.outputs.size(); ++i) {
      ValueId tangent = At(tangent_, from_.outputs[i]);
      const ir::Type* type = from_.type(from_.outputs[i]);
      if (tangent < 0 && wanted[i]) tangent = ops::Zeros(builder_, type);
      out.active.push_back(tangent >= 0);
      if (tangent >= 0) to_.outputs.push_back(tangent);
    }
    if (!replaced_.empty()) {
      std::vector<bool> kept(to_.instructions.size(), true);
      for (size_t at : replaced_) kept[at] = false;
      ir::KeepInstructions(to_, kept);
    }
    out.program = std::move(to_);
    return out;
  }

 private:
  ValueId Parameter(ValueId v) {
    const ir::Value& value = At(from_.values, v);
    return At(primal_, v) = to_.AddValue(value.type, value.loc, value.place);
  }
  ValueId AddTangent(ValueId v) {
    const ir::Value& value = At(from_.values, v);
    return At(tangent_, v) = to_.AddValue(value.type->WithWeak(false), value.loc, value.place);
  }

  void Visit(const ir::Instruction& i) {
    builder_.set_loc(i.loc);
    std::vector<ValueId> operands, tangents;
    bool any = false;
    for (ValueId v : i.operands) {
      operands.push_back(At(primal_, v));
      tangents.push_back(At(tangent_, v));
      any = any || tangents.back() >= 0;
    }
    const TypesOf types(from_, i);
    const auto* diff = &*i.op->diff;
    if (any && std::holds_alternative<ir::ByRegions>(*diff))
      return VisitRegions(i, operands, tangents);
    auto results = builder_.EmitTyped(*i.op, i.params, operands, types.results, i.regions);
    for (size_t r = 0; r < results.size(); ++r) At(primal_, i.results[r]) = results[r];
    if (!any || std::none_of(types.results.begin(), types.results.end(), ops::HasTangent)) return;
    const ir::DiffCall call{builder_, *i.op,          i.params,      operands,
                            results,  types.operands, types.results, i.regions};
    Tangents out;
    if (const auto* none = std::get_if<ir::NotDifferentiable>(diff))
      FailNotDifferentiable(*i.op, i.loc, fmt::format(": {}", none->why));
    else if (const auto* jvp = std::get_if<ir::Structural>(diff))
      out = ByJvp(*jvp, call, tangents, i);
    else
      out = {Summed(call, std::get<ir::Derivative>(*diff), tangents)};
    for (size_t r = 0; r < out.size(); ++r)
      if (out[r] >= 0)
        At(tangent_, i.results[r]) = ops::Conform(builder_, out[r], types.results[r]);
  }

  Tangents ByJvp(const ir::Structural& rule, const ir::DiffCall& call, const Tangents& tangents,
                 const ir::Instruction& i) {
    std::vector<ValueId> results(call.results.begin(), call.results.end());
    const size_t at = to_.instructions.size() - 1;
    Tangents out = rule.jvp(call, tangents, results);
    // A rule that gives the values too runs in place of the function.
    const bool is_replaced = std::none_of(results.begin(), results.end(), [&](ValueId v) {
      return std::find(call.results.begin(), call.results.end(), v) != call.results.end();
    });
    if (is_replaced && ir::EffectOf(i) != ir::Effect::kNone) replaced_.push_back(at);
    for (size_t r = 0; r < results.size(); ++r) At(primal_, i.results[r]) = results[r];
    return out;
  }

  // The sum over operands; those in which the op is jointly linear make one term.
  ValueId Summed(const ir::DiffCall& call, const ir::Derivative& derivative,
                 const Tangents& tangents) {
    ValueId sum = kZero;
    std::vector<bool> done(tangents.size());
    for (const sharding::LinearGroup& group : GroupsOf(call)) {
      std::vector<size_t> members;
      for (int32_t k : group.operands)
        if (At(tangents, k) >= 0) members.push_back(base::Size(k));
      for (size_t k : members) done[k] = true;
      if (members.empty()) continue;
      const bool alone = members.size() == 1 && members[0] < 3 && derivative.of[members[0]];
      ValueId term = alone ? derivative.of[members[0]](call, tangents[members[0]])
                           : Linear(call, group, tangents);
      sum = ops::Sum(builder_, sum, ops::Conform(builder_, term, call.result_types[0]));
    }
    for (size_t k = 0; k < tangents.size(); ++k) {
      if (done[k] || tangents[k] < 0 || k >= derivative.of.size()) continue;
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

  // Moves have no dimension map: their tangents are of their own making.
  static std::vector<sharding::LinearGroup> GroupsOf(const ir::DiffCall& call) {
    return ir::LinearGroupsOf(call.op, call.params, call.operand_types, call.result_types);
  }

  // The op of the group's tangents, where they are, and of the other operands as they are.
  ValueId Linear(const ir::DiffCall& call, const sharding::LinearGroup& group,
                 const Tangents& tangents) {
    std::vector<ValueId> operands(call.operands.begin(), call.operands.end());
    for (int32_t k : group.operands) {
      const auto i = base::Size(k);
      operands[i] = tangents[i] >= 0 ? tangents[i] : ops::Zeros(builder_, call.operand_types[i]);
    }
    const ir::Type* type = call.result_types[0]->WithWeak(false);
    return builder_.EmitTyped(call.op, call.params, operands, {&type, 1})[0];
  }

  void VisitRegions(const ir::Instruction& i, const std::vector<ValueId>& operands,
                    const Tangents& tangents) {
    RegionsJvp jvp = JvpOfRegions(i, tangents, from_, memo_);
    std::vector<ValueId> all;
    for (auto [k, is_tangent] : jvp.operands) {
      if (!is_tangent)
        all.push_back(operands[k]);
      else if (tangents[k] >= 0)
        all.push_back(tangents[k]);
      else
        all.push_back(ops::Zeros(builder_, from_.type(i.operands[k])));
    }
    std::vector<const ir::Type*> types;
    for (auto [r, is_tangent] : jvp.results) {
      const ir::Type* type = from_.type(i.results[r]);
      types.push_back(is_tangent ? type->WithWeak(false) : type);
    }
    auto results = builder_.EmitTyped(*i.op, jvp.params, all, types, std::move(jvp.regions));
    for (size_t n = 0; n < results.size(); ++n) {
      auto [r, is_tangent] = jvp.results[n];
      At(is_tangent ? tangent_ : primal_, i.results[r]) = results[n];
    }
  }

  const ir::Program& from_;
  JvpMemo& memo_;
  ir::Program to_;
  ir::Builder builder_;
  std::vector<ValueId> primal_, tangent_;  // by value of `from_`
  std::vector<size_t> replaced_;           // instructions of `to_` in whose place others act
};

}  // namespace

Jvp MakeJvp(const ir::Program& program, const std::vector<bool>& active,
            const std::vector<bool>& wanted) {
  JvpMemo memo;
  return Forward(program, active, memo).Run(wanted);
}

const Jvp& RegionJvp(const ir::Program& region, const std::vector<bool>& active,
                     const std::vector<bool>& wanted, JvpMemo& memo) {
  return memo.Get(region, active, wanted, [&] {
    Jvp jvp = Forward(region, active, memo).Run(wanted);
    ir::Simplify(jvp.program);
    return jvp;
  });
}

}  // namespace tessera::transforms
