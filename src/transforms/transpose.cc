// Transposing: instructions are walked backward, and each op says how its operands' cotangents come
// from those of its result.
#include "transforms/transpose.h"

#include <fmt/format.h>

#include "base/at.h"
#include "base/error.h"
#include "ir/builder.h"
#include "ir/control_params.h"
#include "ir/infer.h"
#include "ir/regions.h"
#include "ir/simplify.h"
#include "ir/uses.h"
#include "ops/tangents.h"
#include "transforms/jvp.h"
#include "transforms/regions.h"
#include "transforms/types.h"
#include "transforms/zeros.h"

namespace tessera::transforms {
namespace {

using ir::ValueId;

size_t Index(ValueId v) { return base::Size(v); }

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

// C27: the tangents that the effect is about are never computed.
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
        known_(from.values.size(), kZero),
        cotangent_(from.values.size(), kZero),
        is_linear_(from.values.size()) {
    to_.mesh = from.mesh;
    to_.Reserve(3 * from.instructions.size());
    for (size_t i = 0; i < from.inputs.size(); ++i) {
      const ValueId v = from.inputs[i];
      if (i >= residuals)
        is_linear_[Index(v)] = true;
      else
        to_.inputs.push_back(known_[Index(v)] =
                                 to_.AddValue(from.type(v), from.values[Index(v)].loc));
    }
    for (ValueId v : from.outputs) {
      const ir::Type* type = ops::CotangentType(from.type(v));
      to_.inputs.push_back(to_.AddValue(type, from.values[Index(v)].loc));
    }
  }

  ir::Program Run() {
    for (const ir::Instruction& i : from_.instructions) Forward(i);
    for (size_t i = 0; i < from_.outputs.size(); ++i) {
      const ValueId v = from_.outputs[i];
      if (is_linear_[Index(v)])
        Accumulate(v, to_.inputs[residuals_ + i]);
      else if (!MayBeZero(v))
        FailOutput(v);
    }
    for (size_t k = from_.instructions.size(); k-- > 0;) {
      const ir::Instruction& i = from_.instructions[k];
      if (!i.results.empty() && is_linear_[Index(i.results[0])]) Visit(i);
      if (i.results.empty() && i.op->effect != ir::Effect::kNone && ReadsLinear(i)) FailEffect(i);
    }
    for (size_t i = residuals_; i < from_.inputs.size(); ++i)
      to_.outputs.push_back(CotangentOf(from_.inputs[i]));
    for (ir::Instruction& i : to_.instructions) {
      i.loc = i.loc.Backward();
      for (ValueId v : i.results) to_.values[Index(v)].loc = i.loc;
    }
    return std::move(to_);
  }

 private:
  bool ReadsLinear(const ir::Instruction& i) const {
    return std::any_of(i.operands.begin(), i.operands.end(),
                       [&](ValueId v) { return is_linear_[Index(v)]; });
  }

  // What does not depend on the linear inputs is computed as it is.
  void Forward(const ir::Instruction& i) {
    if (ReadsLinear(i)) {
      for (ValueId r : i.results) is_linear_[Index(r)] = true;
      return;
    }
    const TypesOf types(from_, i);
    std::vector<ValueId> operands;
    for (ValueId v : i.operands) operands.push_back(known_[Index(v)]);
    builder_.set_loc(i.loc);
    auto results = builder_.EmitTyped(*i.op, i.params, operands, types.results, i.regions);
    for (size_t r = 0; r < results.size(); ++r) known_[Index(i.results[r])] = results[r];
  }

  void Accumulate(ValueId v, ValueId term) {
    if (term < 0) return;
    ValueId& sum = cotangent_[Index(v)];
    sum = ops::Sum(builder_, sum, ops::Conform(builder_, term, ops::CotangentType(from_.type(v))));
  }
  // The cotangent of a value, made if it is zero.
  ValueId CotangentOf(ValueId v) {
    ValueId sum = cotangent_[Index(v)];
    return sum >= 0 ? sum : ops::Zeros(builder_, ops::CotangentType(from_.type(v)));
  }

  void Visit(const ir::Instruction& i) {
    if (std::none_of(i.results.begin(), i.results.end(),
                     [&](ValueId r) { return cotangent_[Index(r)] >= 0; }))
      return;
    builder_.set_loc(i.loc);
    if (const auto* region = std::get_if<ir::AsRegions>(&*i.op->lowering)) {
      if (region->kind == ir::AsRegions::kWhile) FailWhile(i);
      return region->kind == ir::AsRegions::kScan ? VisitScan(i) : VisitOnce(i);
    }
    const auto* structural = std::get_if<ir::Structural>(&*i.op->diff);
    if (structural && structural->transposes) return VisitAtOnce(i, *structural);
    const auto* derivative = std::get_if<ir::Derivative>(&*i.op->diff);
    if (!derivative || !derivative->transpose || i.results.size() != 1) fail_(i);
    const TypesOf types(from_, i);
    std::vector<ValueId> operands;
    for (ValueId v : i.operands) operands.push_back(known_[Index(v)]);
    const ir::DiffCall call{builder_, *i.op, i.params, operands, {}, types.operands, types.results};
    CheckLinear(i, call);
    for (size_t k = 0; k < i.operands.size(); ++k)
      if (is_linear_[Index(i.operands[k])])
        Accumulate(i.operands[k], derivative->transpose(call, cotangent_[Index(i.results[0])], k));
  }

  // A linear op is so in the operands of one group, jointly: those that are not given are zero.
  // What comes from residuals may be, as the derivative of something in a rule that did not depend
  // on that with respect to which is differentiated. Moves have no dimension map.
  void CheckLinear(const ir::Instruction& i, const ir::DiffCall& call) {
    if (!std::holds_alternative<ir::DimMapFn>(*i.op->dims)) return;
    const auto is_linear = [&](int32_t k) { return is_linear_[Index(base::At(i.operands, k))]; };
    const auto linear = std::count_if(i.operands.begin(), i.operands.end(),
                                      [&](ValueId v) { return is_linear_[Index(v)]; });
    const auto fits = [&](int32_t k) { return is_linear(k) || MayBeZero(base::At(i.operands, k)); };
    for (const sharding::LinearGroup& g :
         ir::LinearGroupsOf(*i.op, i.params, call.operand_types, call.result_types))
      if (g.kinds.sum && std::count_if(g.operands.begin(), g.operands.end(), is_linear) == linear &&
          std::all_of(g.operands.begin(), g.operands.end(), fits))
        return;
    fail_(i);
  }
  void FailOutput(ValueId v) const {
    for (const ir::Instruction& i : from_.instructions)
      if (std::count(i.results.begin(), i.results.end(), v)) fail_(i);
  }
  bool MayBeZero(ValueId v) {
    if (may_be_zero_.empty()) {
      const std::vector<bool> zeros = ZerosOf(from_);
      may_be_zero_.resize(zeros.size());
      for (ValueId input : from_.inputs) may_be_zero_[Index(input)] = true;
      may_be_zero_ = ir::MadeOf(from_, std::move(may_be_zero_));
      for (size_t k = 0; k < zeros.size(); ++k) may_be_zero_[k] = may_be_zero_[k] || zeros[k];
    }
    return may_be_zero_[Index(v)];
  }

  void VisitAtOnce(const ir::Instruction& i, const ir::Structural& rule) {
    const TypesOf types(from_, i);
    std::vector<ValueId> operands, cotangents;
    for (ValueId v : i.operands) operands.push_back(known_[Index(v)]);
    for (ValueId v : i.results) cotangents.push_back(cotangent_[Index(v)]);
    const ir::DiffCall call{builder_, *i.op,          i.params,      operands,
                            {},       types.operands, types.results, i.regions};
    const std::vector<ValueId> made = rule.transposes(call, cotangents);
    for (size_t k = 0; k < made.size(); ++k)
      if (is_linear_[Index(i.operands[k])]) Accumulate(i.operands[k], made[k]);
  }

  // What of an instruction with regions is linear, per region input. Carries are, also one that
  // begins with a zero that depends on nothing.
  std::vector<bool> LinearInputs(const ir::Instruction& i, const RegionLayout& layout) const {
    std::vector<bool> linear;
    for (size_t k = layout.first; k < i.operands.size(); ++k)
      linear.push_back(is_linear_[Index(i.operands[k])]);
    for (size_t c = 0; c < layout.carries; ++c) linear[layout.CarryInput(c)] = true;
    return linear;
  }

  // The region with its known inputs first, transposed.
  ir::Program Transposed(const ir::Program& region, const std::vector<bool>& linear) const {
    ir::Program sorted = region;
    sorted.inputs.clear();
    for (bool wanted : {false, true})
      for (size_t k = 0; k < linear.size(); ++k)
        if (linear[k] == wanted) sorted.inputs.push_back(region.inputs[k]);
    ir::Program made =
        MakeTranspose(sorted, base::Size(std::count(linear.begin(), linear.end(), false)), fail_);
    ir::Simplify(made);
    return made;
  }

  // Runs backward. The cotangents of constants are sums over iterations: they join the carries.
  //   operands: known constants | sums, cotangents of the carries | known xs, cotangents of the ys
  //   results:  sums, cotangents of the carries | cotangents of the linear xs
  void VisitScan(const ir::Instruction& i) {
    const RegionLayout layout(i);
    const std::vector<bool> linear = LinearInputs(i, layout);
    const size_t constants = layout.ins[0], carries = layout.carries;
    ir::Program body = Transposed(*i.regions[0], linear);
    size_t known_constants = 0;
    std::vector<ValueId> operands, known_xs;
    for (size_t k = 0; k < linear.size(); ++k) {
      if (linear[k]) continue;
      known_constants += k < constants;
      (k < constants ? operands : known_xs).push_back(known_[Index(i.operands[k])]);
    }
    std::vector<size_t> linear_constants, linear_xs;
    for (size_t k = 0; k < linear.size(); ++k) {
      if (!linear[k] || (k >= constants && k < constants + carries)) continue;
      (k < constants ? linear_constants : linear_xs).push_back(k);
    }
    // The body's inputs are: known constants, known xs, cotangents of carries, cotangents of ys.
    const size_t known = known_constants + known_xs.size(), sums = linear_constants.size();
    const std::vector<ValueId> from = body.inputs;
    std::vector<ValueId> inputs(from.begin(), from.begin() + static_cast<long>(known_constants));
    ir::Builder builder(body, i.loc.Backward());
    for (size_t s = 0; s < sums; ++s) {
      const ir::Type* type = ops::CotangentType(from_.type(i.operands[linear_constants[s]]));
      inputs.push_back(body.AddValue(type, i.loc));
      body.outputs[s] = ops::Sum(builder, inputs.back(), body.outputs[s]);
      operands.push_back(ops::Zeros(builder_, type));
    }
    for (size_t c = 0; c < carries; ++c) {
      inputs.push_back(from[known + c]);
      operands.push_back(CotangentOf(i.results[c]));
    }
    for (size_t x = 0; x < known_xs.size(); ++x) {
      inputs.push_back(from[known_constants + x]);
      operands.push_back(known_xs[x]);
    }
    for (size_t y = carries; y < i.results.size(); ++y) {
      inputs.push_back(from[known + y]);
      operands.push_back(CotangentOf(i.results[y]));
    }
    body.inputs = std::move(inputs);
    auto params = ir::As<ir::ScanParams>(i.params.get());
    params.constants = static_cast<int64_t>(known_constants);
    params.carries = static_cast<int64_t>(sums + carries);
    params.reverse = !params.reverse;
    std::vector<size_t> given = linear_constants;  // operands whose cotangents the scan gives
    for (size_t c = 0; c < carries; ++c) given.push_back(constants + c);
    given.insert(given.end(), linear_xs.begin(), linear_xs.end());
    Emit(i, ir::MakeParams(params), operands, given, {std::move(body)});
  }

  // Of regions that run once at most.
  void VisitOnce(const ir::Instruction& i) {
    const RegionLayout layout(i);
    for (size_t k = 0; k < layout.first; ++k)
      if (is_linear_[Index(i.operands[k])]) fail_(i);
    const std::vector<bool> linear = LinearInputs(i, layout);
    std::vector<ValueId> operands;
    for (size_t k = 0; k < layout.first; ++k) operands.push_back(known_[Index(i.operands[k])]);
    std::vector<size_t> given;
    for (size_t k = 0; k < linear.size(); ++k) {
      const size_t operand = k + layout.first;
      if (linear[k])
        given.push_back(operand);
      else
        operands.push_back(known_[Index(i.operands[operand])]);
    }
    for (ValueId r : i.results) operands.push_back(CotangentOf(r));
    std::vector<ir::Program> branches;
    for (const ir::RegionPtr& region : i.regions) branches.push_back(Transposed(*region, linear));
    Emit(i, i.params, operands, given, std::move(branches));
  }

  // Emits the transposed instruction, whose results are the cotangents of the operands in `given`.
  void Emit(const ir::Instruction& i, ir::ParamsPtr params, const std::vector<ValueId>& operands,
            const std::vector<size_t>& given, std::vector<ir::Program> regions) {
    std::vector<const ir::Type*> types;
    types.reserve(given.size());
    for (size_t k : given) types.push_back(ops::CotangentType(from_.type(i.operands[k])));
    std::vector<ir::RegionPtr> pointers;
    pointers.reserve(regions.size());
    for (ir::Program& p : regions) pointers.push_back(ir::Shared(std::move(p)));
    auto results =
        builder_.EmitTyped(*i.op, std::move(params), operands, types, std::move(pointers));
    for (size_t g = 0; g < given.size(); ++g)
      if (is_linear_[Index(i.operands[given[g]])]) Accumulate(i.operands[given[g]], results[g]);
  }

  const ir::Program& from_;
  const size_t residuals_;
  const FailNotLinear fail_;
  ir::Program to_;
  ir::Builder builder_;
  std::vector<ValueId> known_, cotangent_;  // by value of `from_`
  std::vector<bool> is_linear_;
  std::vector<bool> may_be_zero_;  // of `from_`, once that is asked for
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
  return Backward(program, residuals, fail).Run();
}

}  // namespace tessera::transforms
