// Traces a call, and splits its derivative into a known and a linear program.
#include "api/autodiff/linear.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/core/tree_match.h"
#include "ir/uses.h"
#include "ops/manual.h"
#include "ops/tangents.h"
#include "trace/function.h"
#include "trace/scopes.h"
#include "transforms/jvp.h"
#include "transforms/split.h"

namespace tessera::api {

std::vector<int> ArgumentOf(detail::TreeRef arguments) {
  std::vector<int> of;
  for (const detail::Path& path : detail::OutlineOf(arguments).arrays)
    of.push_back(static_cast<int>(path[0]));
  return of;
}

TracedCall TraceCall(std::vector<ArrayRef> inputs, const detail::Body& body,
                     const std::vector<bool>& chosen, Call call) {
  TracedCall t;
  t.inputs = std::move(inputs);
  for (size_t i = 0; i < t.inputs.size(); ++i)
    t.active.push_back(chosen[i] && ops::HasTangent(t.inputs[i]->type()));
  std::vector<trace::Parameter> parameters;
  for (const ArrayRef& a : t.inputs) parameters.push_back(trace::LikeArray(a));
  trace::TracedFunction traced =
      trace::TraceFunction(parameters, body, call.name, call.loc, trace::CurrentTrace());
  trace::UseUpKeys(traced.key_uses, t.inputs);
  t.program = std::move(traced.program);
  t.tree = std::move(traced.tree);
  t.output_locs = std::move(traced.output_locs);
  return t;
}

TracedCall TraceAll(const detail::FunctionCall& f, Call call) {
  CheckArrays(f.arguments, call);
  std::vector<ArrayRef> inputs = RefsOf(f.arguments, call);
  const std::vector<bool> all(inputs.size(), true);
  return TraceCall(std::move(inputs), f.body, all, call);
}

void CheckArguments(const TracedCall& t, const std::vector<int>& arguments,
                    const std::vector<int>& argument_of, Call call) {
  for (int n : arguments) {
    bool any = false;
    const ir::Type* last = nullptr;
    for (size_t i = 0; i < t.inputs.size(); ++i) {
      if (argument_of[i] != n) continue;
      any = any || t.active[i];
      last = t.inputs[i]->type();
    }
    if (any) continue;
    FailDType(
        call, 22,
        last ? fmt::format("argument {} has no floating-point array: it is {}", n, last->text())
             : fmt::format("argument {} has no arrays", n),
        {fmt::format(
            "derivatives are taken with respect to floating-point arguments: convert it, or name "
            "another one, as in {}<1>(f)",
            call.name)});
  }
}

void CheckComplexArguments(const TracedCall& t, const std::vector<int>& arguments,
                           const std::vector<int>& argument_of, bool holomorphic,
                           bool takes_complex, Call call) {
  for (size_t i = 0; i < argument_of.size(); ++i) {
    const ir::Type* type = t.inputs[i]->type();
    if (!absl::c_linear_search(arguments, argument_of[i])) continue;
    if (holomorphic && !type->dtype().is_complex())
      FailDType(call, 22,
                fmt::format("argument {} has {}, but .holomorphic is for complex arguments",
                            argument_of[i], type->text()));
    if (!holomorphic && !takes_complex && type->dtype().is_complex())
      FailDType(call, 22,
                fmt::format("argument {} has {}, which is complex", argument_of[i], type->text()),
                {"pass {.holomorphic = true} if the function is holomorphic, or use jvp"});
  }
}

void CheckComplexResult(const ir::Type* type, bool holomorphic, Call call) {
  if (holomorphic && !type->dtype().is_complex())
    FailDType(call, 21,
              fmt::format("the function returns {}, but .holomorphic is for complex results",
                          type->text()));
  if (!holomorphic && type->dtype().is_complex())
    FailDType(call, 21, fmt::format("the function returns {}, which is complex", type->text()),
              {"pass {.holomorphic = true} if the function is holomorphic, or use vjp"});
}

void CheckSameDevices(const TracedCall& t, const std::vector<bool>& separate,
                      const std::vector<int>& argument_of, const ir::Type* result, Call call) {
  for (size_t i = 0; i < argument_of.size(); ++i) {
    if (!t.active[i] || !separate[i]) continue;
    const sharding::TensorSharding& s = t.inputs[i]->type()->sharding();
    const sharding::AxisList axes = sharding::Difference(
        sharding::Difference(result->sharding().varying, s.varying), s.reduced);
    if (axes.empty()) continue;
    const std::vector<std::string> names = ops::NamesOf(s.mesh, axes);
    FailSharding(
        call, 41,
        fmt::format("the function returns {}, which differs between the devices along {}, but "
                    "argument {} has {}, the same on all of them: the derivatives of their "
                    "separate results would be added up",
                    result->text(), fmt::join(names, ", "), argument_of[i],
                    t.inputs[i]->type()->text()),
        {fmt::format(
            "differentiate with respect to pcast(x, {{\"{}\"}}, Variance::kVarying), where "
            "x is that argument",
            fmt::join(names, "\", \""))});
  }
}

std::vector<bool> FloatingOutputs(const ir::Program& program) {
  std::vector<bool> floating;
  for (ir::ValueId v : program.outputs) floating.push_back(ops::HasTangent(program.type(v)));
  return floating;
}

void LinearizedProgram::DropOutput(size_t i) {
  known.outputs.erase(known.outputs.begin() + static_cast<long>(i));
  --outputs;
  ir::RemoveDead(known);
}

LinearizedProgram Linearized(const ir::Program& program, const std::vector<bool>& active,
                             const std::vector<bool>& wanted) {
  transforms::Jvp jvp = transforms::MakeJvp(program, active, wanted);
  LinearizedProgram out;
  out.outputs = program.outputs.size();
  std::vector<ir::ValueId> outputs(jvp.program.outputs.begin(),
                                   jvp.program.outputs.begin() + static_cast<long>(out.outputs));
  size_t next = out.outputs;
  for (size_t i = 0; i < out.outputs; ++i) {
    if (jvp.active[i] && wanted[i]) outputs.push_back(jvp.program.outputs[next]);
    out.has.push_back(jvp.active[i] && wanted[i]);
    next += jvp.active[i];
  }
  jvp.program.outputs = outputs;
  std::vector<bool> unknown(jvp.program.inputs.size()), forced(outputs.size());
  std::fill(unknown.begin() + static_cast<long>(program.inputs.size()), unknown.end(), true);
  std::fill(forced.begin() + static_cast<long>(out.outputs), forced.end(), true);
  transforms::Split split = transforms::MakeSplit(jvp.program, unknown, forced);
  out.known = std::move(split.known);
  out.linear = std::move(split.unknown);
  out.residuals = split.residuals;
  return out;
}

}  // namespace tessera::api
