// cond and switch_case: user functions traced as regions, one of which runs. Inside shard_map each
// device may run another one.
#include <fmt/format.h>

#include "api/core/manual_axes.h"
#include "api/core/operands.h"
#include "api/core/regions.h"
#include "base/error.h"
#include "tessera/control.h"
#include "tessera/ops.h"
#include "tessera/sharding.h"
#include "trace/apply.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

// Returns the name of branch k in messages.
using BranchName = std::string (*)(size_t k);
std::string OfCond(size_t k) { return k == 0 ? "on_true" : "on_false"; }
std::string OfSwitch(size_t k) { return fmt::format("branch {}", k); }

void CheckBranches(Call call, const std::vector<TracedFunction>& regions, BranchName name) {
  const TracedFunction& first = regions[0];
  const Leaves leaves = trace::TakeApart(first.tree.ref(), "result");
  for (size_t k = 1; k < regions.size(); ++k) {
    const TracedFunction& other = regions[k];
    CheckTree(call, leaves, trace::TakeApart(other.tree.ref(), "result"),
              fmt::format("unlike {}, {} returns", name(0), name(k)).c_str());
    for (size_t i = 0; i < first.program.outputs.size(); ++i) {
      const Type &a = *first.program.type(first.program.outputs[i]),
                 &b = *other.program.type(other.program.outputs[i]);
      if (SameType(&a, &b)) continue;
      std::vector<std::string> notes;
      if (std::string edit = Edit(b, a, leaves.names[i]); !edit.empty())
        notes = {fmt::format("make them equal, e.g. let {} return {}", name(k), edit)};
      FailTrace(call, kTypes,
                fmt::format("the branches return different types for {}", leaves.names[i]),
                std::move(notes),
                {Shown(name(0), a, first.output_locs[i]), Shown(name(k), b, other.output_locs[i])});
    }
  }
}

// Casts results so that all branches agree: inside shard_map a result varies over all axes over
// which it varies in some branch, and over `least`.
void JoinBranches(std::vector<TracedFunction>& regions, const sharding::AxisList& least) {
  const size_t results = regions[0].program.outputs.size();
  for (const TracedFunction& region : regions)
    if (region.program.outputs.size() != results) return;
  std::vector<sharding::AxisList> varying(results, least);
  for (const TracedFunction& region : regions)
    for (size_t i = 0; i < results; ++i)
      sharding::AddTo(varying[i], VaryingOf(*region.program.type(region.program.outputs[i])));
  for (TracedFunction& region : regions)
    for (size_t i = 0; i < results; ++i) CastOutput(region, i, varying[i]);
}

// Runs all branches on all devices, and selects the results by the index. This is for devices that
// choose differently although a branch communicates. Only devices that take a branch have
// derivatives through it: on other devices the values of the branch may be inf or NaN.
Arrays OfAllBranches(Call call, const Array& index, const Arrays& arguments,
                     std::vector<TracedFunction>& branches) {
  Arrays inputs;
  for (const ArrayRef& constant : trace::CloseRegions(branches))
    inputs.push_back(trace::Enter(constant, call.name, call.loc));
  inputs.insert(inputs.end(), arguments.begin(), arguments.end());
  const bool is_bool = TypeOf(index)->dtype().is_bool();
  const auto at_most = [&](size_t k) {
    return is_bool ? index : index <= Operand(static_cast<int64_t>(k), call.loc);
  };
  const auto branch = [&](size_t k) {
    Arrays counted = inputs;
    for (Array& x : counted) {
      if (branches.size() == 1 || !TypeOf(x)->dtype().is_inexact()) continue;
      const Array constant = stop_gradient(x, call.loc);
      if (k + 1 < branches.size()) x = where(at_most(k), x, constant, {}, call.loc);
      if (k > 0) x = where(at_most(k - 1), constant, x, {}, call.loc);
    }
    return CallRegion(branches[k], counted, call);
  };
  Arrays chosen = branch(branches.size() - 1);
  for (size_t k = branches.size() - 1; k-- > 0;) {
    const Arrays results = branch(k);
    for (size_t i = 0; i < chosen.size(); ++i)
      chosen[i] = where(at_most(k), results[i], chosen[i], {}, call.loc);
  }
  return chosen;
}

// Traces the branches. If devices choose differently, the arguments vary over all axes over which
// values in the branches vary, unless the branches communicate.
std::vector<TracedFunction> TraceBranches(const std::vector<Body>& branches, Arrays& arguments,
                                          trace::RegionRuns& runs, Call call) {
  for (sharding::AxisList varying = runs.diverges;;) {
    runs.enters = varying;
    std::vector<const Type*> types;
    for (Array& a : arguments) {
      if (!varying.empty()) a = AsVarying(a, varying, call);
      types.push_back(TypeOf(a));
    }
    std::vector<TracedFunction> regions;
    for (const Body& f : branches) regions.push_back(TraceRegion(types, f, call, runs));
    CheckTogether(regions, runs, call);
    if (runs.diverges.empty() || NeedsOthers(regions)) return regions;
    varying = VaryingIn(regions);
    if (sharding::Difference(varying, runs.enters).empty()) return regions;
  }
}

FunctionResult Branch(const ir::OpDef& op, Call call, const Array& index, detail::TreeRef tree,
                      const std::vector<Body>& branches, BranchName name) {
  Leaves leaves = trace::TakeArguments(tree);
  BringIn(leaves, call);
  Arrays& arguments = leaves.arrays;
  const Type& predicate = *TypeOf(index);
  const sharding::AxisList& diverges = VaryingOf(predicate);
  if (branches.empty()) FailTrace(call, kTree, "there is no branch to choose from");
  trace::RegionRuns runs{.choice = trace::NewChoice(), .diverges = diverges};
  if (!diverges.empty())
    runs.by = fmt::format("the {} {} of the {} at {}",
                          predicate.dtype().is_bool() ? "predicate" : "index", predicate.text(),
                          call.name, base::Where(call.loc));
  std::vector<TracedFunction> regions = TraceBranches(branches, arguments, runs, call);
  JoinBranches(regions, runs.enters);
  CheckBranches(call, regions, name);
  FunctionResult result{{}, regions[0].tree};
  if (!diverges.empty() && NeedsOthers(regions)) {
    result.arrays = OfAllBranches(call, index, arguments, regions);
    return result;
  }
  if (HasNoResultOrEffect(regions)) return result;
  std::vector<ArrayRef> constants = trace::CloseRegions(regions);
  constants.insert(constants.begin(), trace::Use(index, call.name, call.loc));
  result.arrays = ApplyRegions(op, nullptr, constants, arguments, regions, call);
  return result;
}

Array CheckedIndex(Call call, const Operand& index, const char* what) {
  Array value = ToArray(index, call);
  const Type& type = *trace::Use(value, call.name, call.loc)->type();
  if (!type.shape().empty())
    FailShape(call, kPredicate, fmt::format("the {} must be a scalar, not {}", what, type.text()),
              {"to choose element by element, use where"});
  if (!type.sharding().unreduced.empty())
    FailSharding(
        call, kPredicate,
        fmt::format("the {} is unreduced, so its value is not known yet: {}", what, type.text()),
        {fmt::format("sum it first: reshard({}, P())", what)});
  return value;
}

}  // namespace

namespace detail {

FunctionResult Cond(const Operand& predicate, TreeRef arguments,
                    const std::vector<Body>& branches) {
  const Call call{"cond", predicate.loc()};
  Array value = CheckedIndex(call, predicate, "predicate");
  if (!TypeOf(value)->dtype().is_bool()) {
    const Array zero = ScalarLike(0, TypeOf(value), call);
    value = Run(ops::Elementwise(ops::ScalarOp::kNe), nullptr, {value, zero}, call);
  }
  return Branch(ops::kCond, call, value, arguments, branches, OfCond);
}

FunctionResult SwitchCase(const Operand& index, TreeRef arguments,
                          const std::vector<Body>& branches) {
  const Call call{"switch_case", index.loc()};
  Array value = CheckedIndex(call, index, "index");
  if (!TypeOf(value)->dtype().is_integer())
    FailDType(call, kPredicate,
              fmt::format("the index must be an integer, not {}", TypeOf(value)->text()));
  return Branch(ops::kSwitchCase, call, value, arguments, branches, OfSwitch);
}

}  // namespace detail
}  // namespace tessera
