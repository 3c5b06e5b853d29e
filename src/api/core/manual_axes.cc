// States over Manual axes: checks, casts, and the states of loops and branches.
#include "api/core/manual_axes.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/at.h"
#include "ir/builder.h"
#include "ir/mapped_axes.h"
#include "trace/apply.h"
#include "trace/scopes.h"

namespace tessera::api {

using sharding::AxisList;
using sharding::TensorSharding;

std::vector<StateOver> StatesOver(const TensorSharding& s, const AxisList& axes) {
  std::vector<StateOver> states;
  AxisList left = axes;
  const auto take = [&](Variance state, const AxisList& rest) {
    if (rest != left) states.push_back({state, sharding::Difference(left, rest)});
    left = rest;
  };
  take(Variance::kVarying, sharding::Difference(left, s.varying));
  take(Variance::kUnreduced, sharding::Difference(left, s.unreduced));
  take(Variance::kReduced, sharding::Difference(left, s.reduced));
  take(Variance::kInvarying, {});
  return states;
}

std::string AxisName(sharding::AxisPart a) { return ops::NamesOf(trace::CurrentMesh(), {a})[0]; }

void RefuseTerms(const Array& x, const AxisList& axes, Call call) {
  for (const StateOver& over : StatesOver(TypeOf(x)->sharding(), axes))
    if (over.state == Variance::kUnreduced)
      FailSharding(call, 27,
                   fmt::format("{} is unreduced over {}: each device holds only a partial result",
                               TypeOf(x)->text(), AxisName(over.axes[0])),
                   {"sum first with psum or psum_scatter"});
}

ir::ParamsPtr ManualParamsOf(const AxisList& axes, std::vector<int64_t> dims) {
  return ir::MakeParams(
      ops::ManualParams{ops::NamesOf(trace::CurrentMesh(), axes), {std::move(dims)}});
}

Array CastStates(const Array& x, const AxisList& axes, Variance to, Call call) {
  ManualResult made(TypeOf(x));
  if (!made.sharding.mesh) made.sharding.mesh = trace::CurrentMesh();
  made.Become(to, axes);
  return ApplyManual(ops::kPcast, ir::MakeParams(ops::ManualParams{}), x,
                     TypeOf(x)->WithSharding(std::move(made.sharding)), call);
}

sharding::AxisList ManualAxes(const AxisSet& names, Call call) {
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  AxisList axes;
  for (const AxisRef& ref : names.axes()) {
    const int axis = mesh ? mesh->Find(ref.name) : -1;
    if (axis < 0)
      FailSharding(
          call, 1,
          mesh ? fmt::format("the mesh {} has no axis \"{}\"{}", mesh->text(), ref.name,
                             mesh->DidYouMean(ref.name))
               : fmt::format("axis \"{}\" is not known here: no mesh is in scope", ref.name),
          {"call collectives only inside a shard_map"});
    const MeshAxis& of = base::At(mesh->axes(), axis);
    if (of.mode != AxisMode::Manual)
      FailSharding(
          call, 25,
          fmt::format("axis \"{}\" is {} here, not Manual", ref.name,
                      of.mode == AxisMode::Auto ? "Auto" : "Explicit"),
          {ir::IsMappedAxis(ref.name)
               ? fmt::format("a vmap around this maps over \"{}\", so only one batch "
                             "element is visible here",
                             ref.name)
               : fmt::format("call this collective inside a shard_map over \"{}\"", ref.name)});
    const sharding::AxisPart a{axis, ref.pre, ref.size ? ref.size : of.size};
    if (of.size == 1) continue;
    if (sharding::OverlapsAny(axes, a))
      FailSharding(call, 12, fmt::format("axis \"{}\" is named twice", ref.name));
    axes.push_back(a);
  }
  sharding::TensorSharding check = sharding::Replicated(mesh, 1);
  check.dims[0].axes = axes;
  if (const auto problem = sharding::Verify(check)) FailSharding(call, 1, problem->reason);
  return axes;
}

Array AnyDevice(const Array& predicate, const AxisList& axes, Call call) {
  const Array x = AsVarying(Convert(predicate, i32, call), axes, call);
  ManualResult made(TypeOf(x));
  made.Leave(axes);
  const Array most = ApplyManual(ops::kPmax, ManualParamsOf(axes), x,
                                 TypeOf(x)->WithSharding(std::move(made.sharding)), call);
  return Run(ops::Elementwise(ops::ScalarOp::kGt), nullptr,
             Promote({{most, call.loc}, {0, call.loc}}, call), call);
}

void CheckTogether(const AxisList& axes, Call call) {
  for (const trace::Trace* t = trace::CurrentTrace(); t; t = t->outer())
    for (sharding::AxisPart a : axes)
      if (sharding::OverlapsAny(t->runs().diverges, a))
        FailSharding(call, 38,
                     fmt::format("not all devices along {} may reach this point: {} varies over it",
                                 AxisName(a), t->runs().by),
                     {"make it the same for all of them: take its psum, pmax or pmin first",
                      "or move the collective out"});
}

namespace {

// Whether a gradient may have added the instruction: gradients are linear. Others were checked when
// they were called. AnyDevice is not linear; all devices run the loops and branches that use it.
bool MayBeOfGradient(const ir::Instruction& i) {
  const auto* derivative = std::get_if<ir::Derivative>(&*i.op->diff);
  return derivative && derivative->transpose;
}

// Returns the axes along which an instruction of a gradient communicates.
ops::NameList TogetherOver(const ir::Instruction& i) {
  if (!MayBeOfGradient(i)) return {};
  if (std::holds_alternative<ir::AsPermute>(*i.op->lowering))
    return ir::As<ops::PermuteParams>(i.params.get()).axes;
  if (std::holds_alternative<ir::AsManualMove>(*i.op->lowering))
    return ir::As<ops::ManualParams>(i.params.get()).axes;
  return {};
}

const ir::Instruction* FirstTogether(const ir::Program& program, const AxisList& axes) {
  for (const ir::Instruction& i : program.instructions) {
    const AxisList over = ops::AxesOf(trace::CurrentMesh(), TogetherOver(i));
    if (sharding::Difference(axes, over) != axes) return &i;
    for (const ir::RegionPtr& region : i.regions)
      if (const ir::Instruction* found = FirstTogether(*region, axes)) return found;
  }
  return nullptr;
}

}  // namespace

void CheckTogether(const std::vector<trace::TracedFunction>& regions, const trace::RegionRuns& runs,
                   Call call) {
  for (const trace::TracedFunction& region : regions)
    if (const ir::Instruction* i = FirstTogether(region.program, runs.diverges))
      FailSharding({call.name, i->loc}, 38,
                   fmt::format("the gradient needs {} over {} here, but not all devices may reach "
                               "this point: {} varies over {}",
                               i->op->name, fmt::join(TogetherOver(*i), ", "), runs.by,
                               fmt::join(ops::NamesOf(trace::CurrentMesh(), runs.diverges), ", ")),
                   {"cast the differentiated value first, with pcast to Variance::kVarying"});
}

void CastOutput(trace::TracedFunction& region, size_t i, const AxisList& axes) {
  ir::Program& program = region.program;
  const ir::Type* type = program.type(program.outputs[i]);
  const AxisList missing = sharding::Difference(axes, VaryingOf(*type));
  const AxisList& terms = type->sharding().unreduced;
  if (missing.empty() || sharding::Difference(terms, missing) != terms) return;
  ManualResult made(type);
  if (!made.sharding.mesh) made.sharding.mesh = program.mesh;
  made.Become(Variance::kVarying, missing);
  ir::Builder builder(program, region.output_locs[i]);
  program.outputs[i] = ops::ToManualStates(builder, program.outputs[i],
                                           type->WithSharding(std::move(made.sharding)));
}

namespace {

// Whether devices exchange elements for the instruction, or may do so after propagation.
bool Moves(const ir::Program& program, const ir::Instruction& i) {
  const ir::Lowering& lowering = *i.op->lowering;
  if (const auto* manual = std::get_if<ir::AsManualMove>(&lowering))
    return !manual->is_local(i.params.get(), program.type(i.operands[0]),
                             program.type(i.results[0]));
  return std::holds_alternative<ir::AsPermute>(lowering) ||
         std::holds_alternative<ir::AsMove>(lowering);
}

bool NeedsOthers(const ir::Program& program) {
  if (program.mesh && !program.mesh->all_mode(AxisMode::Manual)) return true;
  for (const ir::Instruction& i : program.instructions) {
    if (Moves(program, i)) return true;
    for (const ir::RegionPtr& region : i.regions)
      if (NeedsOthers(*region)) return true;
  }
  return false;
}

void AddVarying(const ir::Program& program, AxisList& axes) {
  for (const ir::Value& v : program.values) sharding::AddTo(axes, VaryingOf(*v.type));
  for (const ir::Instruction& i : program.instructions)
    for (const ir::RegionPtr& region : i.regions) AddVarying(*region, axes);
}

}  // namespace

AxisList VaryingIn(const std::vector<trace::TracedFunction>& regions) {
  AxisList axes;
  for (const trace::TracedFunction& region : regions) AddVarying(region.program, axes);
  // Regions may hold a shard_map with more Manual axes.
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  AxisList here;
  for (sharding::AxisPart a : axes)
    if (mesh && base::At(mesh->axes(), a.axis).mode == AxisMode::Manual) here.push_back(a);
  return here;
}

bool NeedsOthers(const std::vector<trace::TracedFunction>& regions) {
  return absl::c_any_of(
      regions, [](const trace::TracedFunction& region) { return NeedsOthers(region.program); });
}

Array ApplyManual(const ir::OpDef& op, ir::ParamsPtr params, const Array& x, const ir::Type* result,
                  Call call) {
  return trace::Apply({.op = op,
                       .params = std::move(params),
                       .operands = {trace::Use(x, call.name, call.loc)},
                       .loc = call.loc,
                       .shown_as = call.name,
                       .result = result})[0];
}

Array AsVarying(const Array& given, const AxisList& axes, Call call) {
  const Array x = trace::Enter(trace::Use(given, call.name, call.loc), call.name, call.loc);
  const AxisList missing = sharding::Difference(axes, TypeOf(x)->sharding().varying);
  if (missing.empty()) return x;
  RefuseTerms(x, missing, call);
  return CastStates(x, missing, Variance::kVarying, call);
}

}  // namespace tessera::api
