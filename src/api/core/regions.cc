// Traces functions of the user as regions, and applies ops that have regions.
#include "api/core/regions.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "api/core/manual_axes.h"
#include "base/error.h"
#include "ir/uses.h"
#include "sharding/edit_code.h"
#include "tessera/sharding.h"
#include "trace/apply.h"
#include "trace/inline.h"
#include "trace/scopes.h"

namespace tessera::api {

trace::TracedFunction TraceRegion(const std::vector<const ir::Type*>& types, const detail::Body& f,
                                  Call call, trace::RegionRuns runs) {
  std::vector<trace::Parameter> parameters;
  for (const ir::Type* type : types) parameters.push_back({type, call.loc});
  return trace::TraceFunction(parameters, f, call.name, call.loc, trace::CurrentTrace(), runs);
}

namespace {

// Marks the keys among the arguments that any region uses up. The parameters of the regions are the
// last arguments. A key that several regions use up is used up once: only one of them runs.
void UseUpKeys(const std::vector<trace::TracedFunction>& regions,
               const std::vector<Array>& arguments) {
  std::vector<trace::KeyUse> uses;
  size_t parameters = 0;
  for (const trace::TracedFunction& region : regions)
    for (const trace::KeyUse& use : region.key_uses) {
      const auto same = [&](const trace::KeyUse& u) { return u.input == use.input; };
      if (!use.captured && absl::c_none_of(uses, same)) uses.push_back(use);
      parameters = region.parameters;
    }
  std::vector<ArrayRef> refs;
  for (const Array& x : arguments) refs.push_back(x.impl());
  refs.erase(refs.begin(), refs.end() - static_cast<long>(std::min(parameters, refs.size())));
  trace::UseUpKeys(uses, refs);
}

}  // namespace

void BringIn(Leaves& leaves, Call call) {
  CheckArrays(leaves.arrays, leaves.names, call);
  for (Array& a : leaves.arrays)
    a = trace::Enter(trace::Use(a, call.name, call.loc), call.name, call.loc);
}

CallArguments::CallArguments(const detail::FunctionCall& f, Call call)
    : leaves(trace::TakeArguments(f.arguments)) {
  BringIn(leaves, call);
  for (const Array& a : leaves.arrays) {
    refs.push_back(trace::Use(a, call.name, call.loc));
    types.push_back(refs.back()->type());
  }
}

std::vector<Array> CallRegion(const trace::TracedFunction& region, const std::vector<Array>& arrays,
                              Call call) {
  return trace::CallProgram(ir::Shared(region.program), RefsOf(arrays, call), call.name, call.loc);
}

bool HasNoResultOrEffect(const std::vector<trace::TracedFunction>& regions) {
  return absl::c_all_of(regions, [](const trace::TracedFunction& r) {
    return r.program.outputs.empty() && !ir::HasEffects(r.program);
  });
}

std::vector<Array> ApplyRegions(const ir::OpDef& op, ir::ParamsPtr params,
                                const std::vector<ArrayRef>& constants,
                                const std::vector<Array>& arguments,
                                std::vector<trace::TracedFunction>& regions, Call call) {
  UseUpKeys(regions, arguments);
  trace::Application a{.op = op, .params = std::move(params), .operands = {}, .loc = call.loc};
  a.operands.assign(constants.begin(), constants.end());
  for (const Array& x : arguments) a.operands.push_back(trace::Use(x, call.name, call.loc));
  for (trace::TracedFunction& r : regions) a.regions.push_back(ir::Shared(std::move(r.program)));
  return trace::Apply(a);
}

namespace {

// Returns the pcast that makes `to` of a value `name` with sharding `from`; empty if none does.
std::string CastBetween(const sharding::TensorSharding& from, const sharding::TensorSharding& to,
                        const std::string& name) {
  const sharding::AxisList to_vary = sharding::Difference(to.varying, from.varying),
                           to_reduce = sharding::Difference(to.reduced, from.reduced);
  const sharding::AxisList& axes = to_vary.empty() ? to_reduce : to_vary;
  sharding::TensorSharding made = from;
  sharding::AddTo(to_vary.empty() ? made.reduced : made.varying, axes);
  if (!to_vary.empty()) made.reduced = sharding::Difference(made.reduced, axes);
  if (axes.empty() || made != to) return "";
  return sharding::PcastCode(name, to.mesh, axes, !to_vary.empty());
}

}  // namespace

std::string Edit(const ir::Type& from, const ir::Type& to, const std::string& name) {
  if (from.shape() != to.shape()) return "";
  std::string text = name;
  if (from.dtype() != to.dtype()) text += fmt::format(".astype({})", to.dtype().name());
  if (from.sharding() == to.sharding()) return text;
  if (to.mesh() && to.mesh()->has_mode(AxisMode::Manual))
    return CastBetween(from.sharding(), to.sharding(), text);
  return sharding::ReshardCode(text, sharding::ToSpec(to.sharding()));
}

void CheckUsable(const std::vector<Array>& arrays, Call call) {
  for (const Array& a : arrays) trace::Use(a, call.name, call.loc);
}

ErrorOperand Shown(const std::string& name, const ir::Type& type, Loc loc) {
  return {name, type.text(), loc.line() > 0 ? base::Where(loc) : ""};
}

}  // namespace tessera::api
