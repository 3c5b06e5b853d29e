// Transposing. Instructions are visited backward; each op's rule turns the cotangents of its
// results into cotangents of its operands.
#include "transforms/transpose.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <utility>

#include "base/at.h"
#include "base/error.h"
#include "base/ids.h"
#include "ir/builder.h"
#include "ir/control_params.h"
#include "ir/infer.h"
#include "ir/simplify.h"
#include "ir/uses.h"
#include "ir/verify.h"
#include "ir/zeros.h"
#include "ops/tangents.h"
#include "transforms/regions.h"
#include "transforms/types.h"

namespace tessera::transforms {
namespace {

using ir::ValueId;

[[noreturn]] void FailWhile(const ir::Instruction& i) {
  const bool counted = ir::As<ir::WhileParams>(i.params.get()).counted;
  base::ThrowTrace({.kind = {},
                    .op = counted ? "fori_loop" : "while_loop",
                    .label = "while_loop.C21",
                    .where = base::Where(i.loc),
                    .reason =
                        "it cannot be differentiated in reverse: the number of iterations, and so "
                        "the memory for residuals, is unknown until it has run",
                    .operands = {},
                    .notes = {"use scan or fori_loop with a number of steps that is known, or jvp"},
                    .fixes = {}});
}

// C27: refuses a callback that reads a tangent, because reverse mode computes no tangents.
[[noreturn]] void FailEffect(const ir::Instruction& i) {
  base::ThrowTrace(base::Refusal(
      "debug_callback", 27, base::Where(i.loc),
      "it is called with a tangent, which a derivative in reverse does not compute",
      {"call it with values, with the cotangent in the backward function of a custom_vjp, or take "
       "a derivative forward (jvp)"}));
}

class Backward {
 public:
  Backward(const ir::Program& from, size_t residuals, FailNotLinear fail)
      : from_(from),
        residuals_(residuals),
        fail_(fail),
        builder_(to_, Loc::Unknown()),
        known_(from.values.size(), kNoValue),
        cotangent_(from.values.size(), kNoValue),
        is_linear_(from.values.size()) {
    to_.mesh = from.mesh;
    to_.Reserve(3 * from.instructions.size());
    for (size_t i = 0; i < from.inputs.size(); ++i) {
      const ValueId v = from.inputs[i];
      if (i >= residuals)
        is_linear_[v] = true;
      else
        to_.inputs.push_back(known_[v] = to_.AddValue(from.type(v), LocOf(v)));
    }
    for (ValueId v : from.outputs) {
      const ir::Type* type = ops::CotangentType(from.type(v));
      to_.inputs.push_back(to_.AddValue(type, LocOf(v)));
    }
  }

  ir::Program Run() {
    for (const ir::Instruction& i : from_.instructions) CopyKnown(i);
    for (size_t i = 0; i < from_.outputs.size(); ++i) {
      const ValueId v = from_.outputs[i];
      if (is_linear_[v])
        Accumulate(v, to_.inputs[residuals_ + i]);
      else if (!MayBeZero(v))
        FailOutput(v);
    }
    for (size_t k = from_.instructions.size(); k-- > 0;) {
      const ir::Instruction& i = from_.instructions[k];
      if (!i.results.empty() && is_linear_[i.results[0]]) Visit(i);
      if (i.results.empty() && i.op->effect != ir::Effect::kNone && ReadsLinear(i)) FailEffect(i);
    }
    for (size_t i = residuals_; i < from_.inputs.size(); ++i)
      to_.outputs.push_back(CotangentOf(from_.inputs[i]));
    for (ir::Instruction& i : to_.instructions) {
      i.loc = i.loc.Backward();
      for (ValueId v : i.results) to_.values[v].loc = i.loc;
    }
    return std::move(to_);
  }

 private:
  Loc LocOf(ValueId v) const { return from_.values[v].loc; }
  bool IsLinear(ValueId v) const { return is_linear_[v]; }
  bool ReadsLinear(const ir::Instruction& i) const {
    return absl::c_any_of(i.operands, [&](ValueId v) { return is_linear_[v]; });
  }

  // Copies an instruction that does not depend on the linear inputs. Marks the
  // results of other instructions as linear.
  void CopyKnown(const ir::Instruction& i) {
    if (ReadsLinear(i)) {
      for (ValueId r : i.results) is_linear_[r] = true;
      return;
    }
    const TypesOf types(from_, i);
    std::vector<ValueId> operands;
    for (ValueId v : i.operands) operands.push_back(known_[v]);
    builder_.set_loc(i.loc);
    auto results = builder_.EmitTyped(*i.op, i.params, operands, types.results, i.regions);
    for (size_t r = 0; r < results.size(); ++r) known_[i.results[r]] = results[r];
  }

  void Accumulate(ValueId v, ValueId term) {
    if (term == kNoValue) return;
    ValueId& sum = cotangent_[v];
    sum = ops::Sum(builder_, sum, ops::Conform(builder_, term, ops::CotangentType(from_.type(v))));
  }
  // Returns the cotangent of a value. Emits zeros if it has none.
  ValueId CotangentOf(ValueId v) {
    const ValueId sum = cotangent_[v];
    return sum != kNoValue ? sum : ops::Zeros(builder_, ops::CotangentType(from_.type(v)));
  }

  void Visit(const ir::Instruction& i) {
    if (absl::c_all_of(i.results, [&](ValueId r) { return cotangent_[r] == kNoValue; })) return;
    builder_.set_loc(i.loc);
    const auto* structural = std::get_if<ir::Structural>(&*i.op->diff);
    if (structural && structural->transposes) return VisitAtOnce(i, *structural);
    if (const auto* region = std::get_if<ir::AsRegions>(&*i.op->lowering)) {
      if (region->kind == ir::AsRegions::kWhile) FailWhile(i);
      return VisitRegions(i);
    }
    const auto* derivative = std::get_if<ir::Derivative>(&*i.op->diff);
    if (!derivative || !derivative->transpose || i.results.size() != 1) fail_(i);
    const TypesOf types(from_, i);
    std::vector<ValueId> operands;
    for (ValueId v : i.operands) operands.push_back(known_[v]);
    const ir::DiffCall call{builder_, *i.op, i.params, operands, {}, types.operands, types.results};
    CheckLinear(i, call);
    for (size_t k = 0; k < i.operands.size(); ++k)
      if (is_linear_[i.operands[k]])
        Accumulate(i.operands[k], derivative->transpose(call, cotangent_[i.results[0]], k));
  }

  // Checks that the op is linear in its linear operands jointly: one group holds them all, and its
  // other operands are zero. A residual may be zero: it may be the derivative of an expression in a
  // user's rule that does not depend on the differentiated input. Moves have no dimension map.
  void CheckLinear(const ir::Instruction& i, const ir::DiffCall& call) {
    if (!std::holds_alternative<ir::DimMapFn>(*i.op->dims)) return;
    const auto is_linear = [&](int32_t k) { return IsLinear(base::At(i.operands, k)); };
    const auto linear = absl::c_count_if(i.operands, [&](ValueId v) { return IsLinear(v); });
    const auto fits = [&](int32_t k) { return is_linear(k) || MayBeZero(base::At(i.operands, k)); };
    for (const sharding::LinearGroup& g :
         ir::LinearGroupsOf(*i.op, i.params, call.operand_types, call.result_types))
      if (g.kinds.sum && absl::c_count_if(g.operands, is_linear) == linear &&
          absl::c_all_of(g.operands, fits))
        return;
    fail_(i);
  }
  void FailOutput(ValueId v) const {
    for (const ir::Instruction& i : from_.instructions)
      if (absl::c_linear_search(i.results, v)) fail_(i);
  }
  bool MayBeZero(ValueId v) {
    if (may_be_zero_.empty()) {
      may_be_zero_ = ir::ZerosOf(from_);
      const ir::ValueSet depends = ir::MadeOf(from_, AreInputs());
      for (ValueId u : depends.ids()) may_be_zero_[u] = may_be_zero_[u] || depends[u];
    }
    return may_be_zero_[v];
  }

  ir::ValueSet AreInputs() const {
    ir::ValueSet inputs(from_.values.size());
    for (ValueId v : from_.inputs) inputs[v] = true;
    return inputs;
  }

  void VisitAtOnce(const ir::Instruction& i, const ir::Structural& rule) {
    const TypesOf types(from_, i);
    std::vector<ValueId> operands, cotangents;
    for (ValueId v : i.operands) operands.push_back(known_[v]);
    for (ValueId v : i.results) cotangents.push_back(cotangent_[v]);
    const ir::DiffCall call{builder_, *i.op,          i.params,      operands,
                            {},       types.operands, types.results, i.regions};
    const std::vector<ValueId> made = rule.transposes(call, cotangents);
    for (size_t k = 0; k < made.size(); ++k)
      if (is_linear_[i.operands[k]]) Accumulate(i.operands[k], made[k]);
  }

  // Returns which region inputs are linear. Carries are, even one that starts as a zero and depends
  // on no linear input.
  std::vector<bool> LinearInputs(const ir::Instruction& i, const RegionLayout& layout) const {
    std::vector<bool> linear;
    for (size_t k = layout.first; k < i.operands.size(); ++k)
      linear.push_back(is_linear_[i.operands[k]]);
    for (size_t c = 0; c < layout.carries; ++c) linear[layout.CarryInput(c)] = true;
    return linear;
  }

  // Returns the transposed region. Inputs: the known inputs, then cotangents of the outputs.
  // Outputs: cotangents of the linear inputs.
  ir::Program Transposed(const ir::Program& region, const std::vector<bool>& linear) const {
    ir::Program sorted = region;
    sorted.inputs.clear();
    for (bool wanted : {false, true})
      for (size_t k = 0; k < linear.size(); ++k)
        if (linear[k] == wanted) sorted.inputs.push_back(region.inputs[k]);
    ir::Program made = MakeTranspose(sorted, base::Size(absl::c_count(linear, false)), fail_);
    ir::Simplify(made);
    return made;
  }

  // Makes output s of a transposed body the sum of itself and of a new last input.
  ValueId AddSum(ir::Program& body, size_t s, const ir::Type* type, Loc loc) {
    body.inputs.push_back(body.AddValue(type, loc));
    ir::Builder builder(body, loc.Backward());
    body.outputs[s] = ops::Sum(builder, body.inputs.back(), body.outputs[s]);
    return ops::Zeros(builder_, type);
  }

  // Cotangents take the places of their values: operands become results, and results operands. The
  // cotangent of a constant is a sum over iterations, which is carried. A scan runs backward.
  //   operands: known constants | sums, cotangents of carries | known xs, cotangents of ys
  //   results:                    sums, cotangents of carries | cotangents of linear xs
  void VisitRegions(const ir::Instruction& i) {
    const RegionLayout layout(i);
    for (size_t k = 0; k < layout.first; ++k)
      if (is_linear_[i.operands[k]]) fail_(i);
    const std::vector<bool> linear = LinearInputs(i, layout);
    std::vector<ir::Program> bodies;
    for (const ir::RegionPtr& region : i.regions) bodies.push_back(Transposed(*region, linear));
    std::vector<ValueId> sums;
    for (size_t k = 0; k < layout.constants; ++k)
      if (linear[k]) {
        const ir::Type* type = ops::CotangentType(from_.type(i.operands[k]));
        sums.push_back(AddSum(bodies[0], sums.size(), type, i.loc));
      }
    const ir::Instruction reversed = Reversed(i);
    RegionEdit edit(reversed, std::move(bodies));
    for (size_t k = 0; k < layout.first; ++k) edit.AddIndex(known_[i.operands[k]]);
    size_t input = 0;
    for (size_t k = 0; k < linear.size(); ++k)
      if (!linear[k])
        edit.AddInput(layout.InputGroup(k), known_[i.operands[layout.first + k]], input++);
    for (size_t s = 0; s < sums.size(); ++s)
      edit.AddInput(RegionGroup::kCarries, sums[s], input + i.results.size() + s);
    for (size_t r = 0; r < i.results.size(); ++r)
      edit.AddInput(layout.OutputGroup(r), CotangentOf(i.results[r]), input++);
    EmitTransposed(i, layout, linear, std::move(edit));
  }
  static ir::Instruction Reversed(ir::Instruction i) {
    if (std::get<ir::AsRegions>(*i.op->lowering).kind != ir::AsRegions::kScan) return i;
    auto params = ir::As<ir::ScanParams>(i.params.get());
    params.reverse = !params.reverse;
    i.params = ir::MakeParams(params);
    return i;
  }
  // Adds the cotangents of linear inputs as results, emits, and accumulates them.
  void EmitTransposed(const ir::Instruction& i, const RegionLayout& layout,
                      const std::vector<bool>& linear, RegionEdit edit) {
    std::vector<ValueId> operands;
    for (size_t k = 0; k < linear.size(); ++k) {
      if (!linear[k]) continue;
      const RegionGroup group = layout.InputGroup(k);
      const ValueId v = operands.emplace_back(i.operands[layout.first + k]);
      edit.AddOutput(group == RegionGroup::kConstants ? RegionGroup::kCarries : group,
                     ops::CotangentType(from_.type(v)), operands.size() - 1);
    }
    const std::vector<ValueId> cotangents = std::move(edit).Emit(builder_);
    for (size_t n = 0; n < operands.size(); ++n)
      if (is_linear_[operands[n]]) Accumulate(operands[n], cotangents[n]);
  }

  const ir::Program& from_;
  const size_t residuals_;
  const FailNotLinear fail_;
  ir::Program to_;
  ir::Builder builder_;
  // Values of `to_`, by value of `from_`: copies of known values, and cotangents.
  base::IdVector<ValueId, ValueId> known_, cotangent_;
  base::IdVector<ValueId, bool> is_linear_;    // depends on a linear input
  base::IdVector<ValueId, bool> may_be_zero_;  // computed when it is first asked for
};

}  // namespace

void FailRule(const ir::Instruction& i) {
  base::ThrowTrace(base::Refusal(
      "custom_jvp", 23, base::Where(i.loc),
      fmt::format(
          "the rule's tangent is not linear in the tangents it is given: it is computed from "
          "them by {}",
          i.op->name),
      {"a tangent must be linear in the given tangents"}));
}

ir::Program MakeTranspose(const ir::Program& program, size_t residuals, FailNotLinear fail) {
  ir::Program made = Backward(program, residuals, fail).Run();
  ir::VerifyAfter("transpose", made);
  return made;
}

}  // namespace tessera::transforms
