// grad, jvp, vjp, linearize: functions are traced, and their programs transformed.
#include "tessera/gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "api/operands.h"
#include "base/error.h"
#include "base/fork.h"
#include "ir/uses.h"
#include "ops/tangents.h"
#include "trace/function.h"
#include "trace/inline.h"
#include "trace/scopes.h"
#include "trace/tree.h"
#include "transforms/jvp.h"
#include "transforms/split.h"
#include "transforms/transpose.h"

namespace tessera {
namespace detail {

using trace::ArrayRef;
using ProgramRef = std::shared_ptr<const ir::Program>;

struct LinearMap {
  ProgramRef program;  // inputs: the residuals, then what is floating of the argument
  std::vector<Array> residuals;
  std::vector<const ir::Type*> in;  // of the argument's leaves; null: not floating, not an input
  const char* name;                 // of the function, in messages
  mutable trace::KeptCompilation compiled = {};
};

}  // namespace detail

namespace api {
namespace {

using detail::LinearMap;
using detail::ProgramRef;
using trace::ArrayRef;

// A call's function traced, and what of it is active.
struct Traced {
  std::vector<ArrayRef> inputs;
  std::vector<bool> active;  // per input
  ir::Program program;
  detail::AnyTree tree;
  std::vector<Loc> output_locs;
};

// Throws TraceError for arrays that cannot be used: donated, say, or of a trace that has ended.
std::vector<ArrayRef> RefsOf(const std::vector<Array>& arrays, Call call) {
  std::vector<ArrayRef> refs;
  refs.reserve(arrays.size());
  for (const Array& a : arrays) refs.push_back(trace::Use(a, call.name, call.loc));
  return refs;
}
std::vector<ArrayRef> RefsOf(detail::TreeRef tree, Call call) {
  return RefsOf(detail::LeavesOf(tree), call);
}

// Returns, per array of the arguments, which of them it is part of.
std::vector<int> ArgumentOf(detail::TreeRef arguments) {
  std::vector<int> of;
  for (const detail::Path& path : detail::OutlineOf(arguments).arrays)
    of.push_back(static_cast<int>(path[0]));
  return of;
}

// `chosen`: per input, whether to differentiate in it, if it is floating.
Traced TraceCall(std::vector<ArrayRef> inputs, const detail::Body& body,
                 const std::vector<bool>& chosen, Call call) {
  Traced t;
  t.inputs = std::move(inputs);
  for (size_t i = 0; i < t.inputs.size(); ++i)
    t.active.push_back(chosen[i] && ops::HasTangent(t.inputs[i]->type()));
  std::vector<trace::Parameter> parameters;
  for (const ArrayRef& a : t.inputs) parameters.push_back(trace::LikeArray(a));
  trace::TracedFunction traced =
      trace::TraceFunction(parameters, body, call.name, call.loc, trace::CurrentTrace());
  t.program = std::move(traced.program);
  t.tree = std::move(traced.tree);
  t.output_locs = std::move(traced.output_locs);
  return t;
}

Traced TraceAll(const detail::FunctionCall& f, Call call) {
  std::vector<ArrayRef> inputs = RefsOf(f.arguments, call);
  const std::vector<bool> all(inputs.size(), true);
  return TraceCall(std::move(inputs), f.body, all, call);
}

// A function's program as a linear one behind a known one.
struct Linear {
  ir::Program known;   // outputs: those of the function, then the residuals
  ir::Program linear;  // residuals, tangents of active inputs -> tangents of the outputs in `has`
  size_t outputs = 0, residuals = 0;
  std::vector<bool> has;  // per output of the function

  // Nobody wants the value of an output: what only that needs is not computed.
  void DropOutput(size_t i) {
    known.outputs.erase(known.outputs.begin() + static_cast<long>(i));
    --outputs;
    ir::RemoveDead(known);
  }
};

// `wanted`: outputs whose tangents are of interest.
Linear Linearized(const Traced& t, const std::vector<bool>& wanted) {
  transforms::Jvp jvp = transforms::MakeJvp(t.program, t.active, wanted);
  Linear out;
  out.outputs = t.program.outputs.size();
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
  std::fill(unknown.begin() + static_cast<long>(t.inputs.size()), unknown.end(), true);
  std::fill(forced.begin() + static_cast<long>(out.outputs), forced.end(), true);
  transforms::Split split = transforms::MakeSplit(jvp.program, unknown, forced);
  out.known = std::move(split.known);
  out.linear = std::move(split.unknown);
  out.residuals = split.residuals;
  return out;
}

ProgramRef Shared(ir::Program program) {
  return std::make_shared<const ir::Program>(std::move(program));
}

ArrayRef RefOf(const Array& a, Call call) { return trace::Use(a, call.name, call.loc); }

[[noreturn]] void FailScalar(const ir::Type* type, Call call) {
  if (!type->shape().empty())
    FailShape(call, 20, fmt::format("the function returns {}, not a scalar", type->text()),
              {"sum or average it, or use vjp with a cotangent"});
  FailDType(call, 21, fmt::format("the function returns {}, which is not floating", type->text()));
}

void CheckArguments(const Traced& t, const detail::GradOptions& options,
                    const std::vector<int>& argument_of, Call call) {
  for (int n : options.arguments) {
    bool any = false;
    const ir::Type* last = nullptr;
    for (size_t i = 0; i < t.inputs.size(); ++i) {
      if (argument_of[i] != n) continue;
      any = any || t.active[i];
      last = t.inputs[i]->type();
    }
    if (any) continue;
    FailDType(call, 22,
              last ? fmt::format("argument {} has no floating leaf: it is {}", n, last->text())
                   : fmt::format("argument {} has no arrays", n),
              {"gradients are taken in floating arguments: convert it, or name another one, as in "
               "grad<1>(f)"});
  }
}

// Of a traced call. Results are in the order of Grad::Like.
detail::Result GradInTrace(std::vector<ArrayRef> arrays, const std::vector<int>& argument_of,
                           const detail::Body& body, const detail::GradOptions& options,
                           Call call) {
  trace::NestingScope nesting(call.name, call.loc);
  std::vector<bool> chosen(arrays.size());
  for (size_t i = 0; i < chosen.size(); ++i)
    chosen[i] = std::count(options.arguments.begin(), options.arguments.end(), argument_of[i]) > 0;
  Traced t = TraceCall(std::move(arrays), body, chosen, call);
  CheckArguments(t, options, argument_of, call);
  if (t.program.outputs.empty())
    FailShape(call, 20, "the function returns no arrays", {"return a floating scalar"});
  const ir::Type* value = t.program.type(t.program.outputs[0]);
  if (!value->shape().empty() || !ops::HasTangent(value)) FailScalar(value, call);
  std::vector<bool> wanted(t.program.outputs.size());
  wanted[0] = true;
  Linear l = Linearized(t, wanted);
  if (!options.value) l.DropOutput(0);
  std::vector<Array> known =
      trace::CallProgram(Shared(std::move(l.known)), t.inputs, call.name, call.loc);
  std::vector<ArrayRef> inputs;
  for (size_t r = l.outputs; r < known.size(); ++r) inputs.push_back(RefOf(known[r], call));
  inputs.push_back(RefOf(FilledWith(1, ops::CotangentType(value), call), call));
  std::vector<Array> gradients = trace::CallProgram(
      Shared(transforms::MakeTranspose(l.linear, l.residuals)), inputs, call.name, call.loc);
  detail::Result result{{}, std::move(t.tree)};
  if (options.value)
    result.arrays.assign(known.begin(), known.begin() + static_cast<long>(l.outputs));
  for (int n : options.arguments) {
    for (size_t i = 0, next = 0; i < t.inputs.size(); ++i) {
      const size_t at = next;
      next += t.active[i];
      if (argument_of[i] != n) continue;
      result.arrays.push_back(t.active[i] ? gradients[at]
                                          : FilledWith(0, t.inputs[i]->type(), call));
    }
  }
  if (!options.value)
    result.arrays.insert(result.arrays.end(), known.begin(),
                         known.begin() + static_cast<long>(l.outputs));
  return result;
}

std::vector<bool> FloatingOutputs(const ir::Program& program) {
  std::vector<bool> floating;
  for (ir::ValueId v : program.outputs) floating.push_back(ops::HasTangent(program.type(v)));
  return floating;
}

// Appends what a user gives for the leaves that have a type, which must be that of each.
void AddTangents(const std::vector<ArrayRef>& given, const std::vector<const ir::Type*>& wanted,
                 std::vector<ArrayRef>& inputs, Call call) {
  if (given.size() != wanted.size())
    FailShape(
        call, 24,
        fmt::format("the argument has {} arrays, but must have {}", given.size(), wanted.size()),
        {"tangents and cotangents are trees like what they belong to"});
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    const ir::Type* type = given[i]->type();
    if (!ir::SameType(type, wanted[i]))
      FailShape(call, 23,
                fmt::format("array {} of the argument is {}, but must be {}", i, type->text(),
                            wanted[i]->text()),
                {type->shape() == wanted[i]->shape()
                     ? "reshard or convert it"
                     : "tangents and cotangents have the shapes of what they belong to"});
    inputs.push_back(given[i]);
  }
}

// The linear part as a map, or its transpose, which has no residuals yet. What has no tangent, or
// cotangent, is a zero of its program.
std::shared_ptr<LinearMap> MapOf(const Traced& t, Linear& l, Call call, bool reverse) {
  auto map = std::make_shared<LinearMap>();
  map->name = call.name;
  std::vector<const ir::Type*> ins, outs;
  for (const ArrayRef& a : t.inputs) ins.push_back(a->type());
  for (ir::ValueId v : t.program.outputs) outs.push_back(t.program.type(v));
  std::vector<bool> has_in = t.active, has_out = l.has;
  ir::Program program = std::move(l.linear);
  if (reverse) {
    std::swap(ins, outs);
    std::swap(has_in, has_out);
    for (std::vector<const ir::Type*>* types : {&ins, &outs})
      for (const ir::Type*& type : *types) type = ops::CotangentType(type);
    program = transforms::MakeTranspose(program, l.residuals);
  }
  for (size_t i = 0; i < ins.size(); ++i) map->in.push_back(has_in[i] ? ins[i] : nullptr);
  std::vector<ir::ValueId> outputs;
  ir::Builder builder(program, call.loc);
  for (size_t i = 0, next = 0; i < outs.size(); ++i)
    outputs.push_back(has_out[i] ? program.outputs[next++] : ops::Zeros(builder, outs[i]));
  program.outputs = std::move(outputs);
  map->program = Shared(std::move(program));
  return map;
}

// C25: throws where what a derivative keeps depends on where it is taken.
void CheckLinear(const Traced& t, const ir::Program& residuals, Call call) {
  std::vector<bool> active(residuals.values.size());
  for (size_t i = 0; i < t.inputs.size(); ++i)
    active[static_cast<size_t>(residuals.inputs[i])] = t.active[i];
  const auto is_active = [&](ir::ValueId v) { return active[static_cast<size_t>(v)]; };
  Loc last = call.loc;
  for (const ir::Instruction& i : residuals.instructions) {
    if (std::none_of(i.operands.begin(), i.operands.end(), is_active)) continue;
    last = i.loc;
    for (ir::ValueId v : i.results) active[static_cast<size_t>(v)] = true;
  }
  if (std::none_of(residuals.outputs.begin(), residuals.outputs.end(), is_active)) return;
  base::ThrowTrace(
      base::Refusal(call.name, 25, base::Where(call.loc),
                    "the function is not linear: its derivative depends on its argument",
                    {"the first line that says so is " + base::Where(last),
                     "the transpose of its derivative is what vjp returns"}));
}

}  // namespace

Array FilledWith(double value, const ir::Type* type, Call call) {
  ir::Program program;
  program.mesh = type->mesh();
  ir::Builder builder(program, call.loc);
  program.outputs = {ops::Filled(builder, value, type)};
  return trace::CallProgram(Shared(std::move(program)), {}, call.name, call.loc)[0];
}

}  // namespace api

namespace detail {

std::vector<Array> Applied(const LinearMap& map, TreeRef argument, Loc loc) {
  const api::Call call{map.name, loc};
  std::vector<ArrayRef> inputs = api::RefsOf(map.residuals, call);
  api::AddTangents(api::RefsOf(argument, call), map.in, inputs, call);
  return trace::CallProgram(map.program, inputs, call.name, loc, &map.compiled);
}

const void* SharedKey(const void* transform, const void* function) {
  static auto& mutex = *new std::mutex;
  static auto& keys = *new std::map<std::pair<const void*, const void*>, char>;
  static const bool over_fork = (base::HoldOverFork(mutex), true);
  (void)over_fork;
  const std::lock_guard lock(mutex);
  return &keys[{transform, function}];
}

Result CallGrad(const FunctionCall& f, const GradOptions& options, const Jit& cached) {
  const api::Call call{options.value ? "value_and_grad" : "grad", f.loc};
  const std::vector<int> argument_of = api::ArgumentOf(f.arguments);
  std::vector<ArrayRef> arrays = api::RefsOf(f.arguments, call);
  if (trace::InsideTrace(arrays))
    return api::GradInTrace(std::move(arrays), argument_of, f.body, options, call);
  // At top level the whole is compiled once per type and kept.
  const auto body = [&](const std::vector<Array>& traced) {
    return api::GradInTrace(api::RefsOf(traced, call), argument_of, f.body, options, call);
  };
  return cached.Call({f.arguments, body, f.loc});
}

Result CallJvp(const FunctionCall& f, TreeRef tangents) {
  const api::Call call{"jvp", f.loc};
  trace::NestingScope nesting(call.name, call.loc);
  api::Traced t = api::TraceAll(f, call);
  std::vector<ArrayRef> inputs = t.inputs;
  std::vector<const ir::Type*> types;
  for (size_t i = 0; i < t.inputs.size(); ++i)
    types.push_back(t.active[i] ? t.inputs[i]->type() : nullptr);
  api::AddTangents(api::RefsOf(tangents, call), types, inputs, call);
  transforms::Jvp jvp = transforms::MakeJvp(t.program, t.active, api::FloatingOutputs(t.program));
  const std::vector<Array> made =
      trace::CallProgram(api::Shared(std::move(jvp.program)), inputs, call.name, call.loc);
  const size_t n = t.program.outputs.size();
  Result result{{made.begin(), made.begin() + static_cast<long>(n)}, std::move(t.tree)};
  for (size_t i = 0, next = n; i < n; ++i)
    result.arrays.push_back(jvp.active[i]
                                ? made[next++]
                                : api::FilledWith(0, t.program.type(t.program.outputs[i]), call));
  return result;
}

namespace {

Linearization LinearizedCall(const FunctionCall& f, api::Call call, bool reverse) {
  trace::NestingScope nesting(call.name, call.loc);
  api::Traced t = api::TraceAll(f, call);
  api::Linear l = api::Linearized(t, api::FloatingOutputs(t.program));
  auto map = api::MapOf(t, l, call, reverse);
  const std::vector<Array> known =
      trace::CallProgram(api::Shared(std::move(l.known)), t.inputs, call.name, call.loc);
  map->residuals.assign(known.begin() + static_cast<long>(l.outputs), known.end());
  return {{{known.begin(), known.begin() + static_cast<long>(l.outputs)}, std::move(t.tree)},
          std::move(map)};
}

}  // namespace

Linearization Linearize(const FunctionCall& f) {
  return LinearizedCall(f, {"linearize", f.loc}, /*reverse=*/false);
}
Linearization Vjp(const FunctionCall& f) {
  return LinearizedCall(f, {"vjp", f.loc}, /*reverse=*/true);
}

// The derivative of a linear function is that function, and reads nothing of where it is taken.
LinearMapRef LinearTranspose(const FunctionCall& f) {
  const api::Call call{"linear_transpose", f.loc};
  trace::NestingScope nesting(call.name, call.loc);
  api::Traced t = api::TraceAll(f, call);
  api::Linear l = api::Linearized(t, api::FloatingOutputs(t.program));
  l.known.outputs.erase(l.known.outputs.begin(),
                        l.known.outputs.begin() + static_cast<long>(l.outputs));
  ir::RemoveDead(l.known);
  api::CheckLinear(t, l.known, call);
  auto map = api::MapOf(t, l, call, /*reverse=*/true);
  map->residuals =
      trace::CallProgram(api::Shared(std::move(l.known)), t.inputs, call.name, call.loc);
  return map;
}

}  // namespace detail
}  // namespace tessera
