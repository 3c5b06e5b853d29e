// grad, jvp, vjp, linearize: trace a function and transform its program.
#include "tessera/gradients.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "api/autodiff/linear.h"
#include "api/core/operands.h"
#include "api/core/regions.h"
#include "api/core/tree_match.h"
#include "api/functions/transformed.h"
#include "base/error.h"
#include "ir/host_call.h"
#include "ir/inline.h"
#include "ir/same.h"
#include "ir/simplify.h"
#include "ir/uses.h"
#include "ops/tangents.h"
#include "trace/inline.h"
#include "trace/scopes.h"
#include "transforms/jvp.h"
#include "transforms/split.h"
#include "transforms/transpose.h"

namespace tessera {

using namespace api;

namespace detail {

using trace::ArrayRef;

// A linear map without its residuals.
struct LinearProgram {
  ProgramRef program;               // inputs: the residuals, then arrays of the argument
  size_t outputs = 0;               // number of results of the linearized function
  std::vector<const ir::Type*> in;  // types of the arrays of the argument
  std::vector<std::string> names;   // their names
  std::vector<bool> is_input;       // whether the program has an input for them
  const char* name;                 // of the transform, in messages
  mutable trace::KeptCompilation compiled = {};
};
struct LinearMap {
  std::shared_ptr<const LinearProgram> of;
  std::vector<Array> residuals;
};

}  // namespace detail

namespace {

using detail::LinearProgram;

// Names of the operands of a linear map, and of the tangents of a jvp, in messages.
constexpr char kArgument[] = "argument", kTangent[] = "tangent";

[[noreturn]] void FailScalar(const ir::Type* type, Call call) {
  if (!type->shape().empty())
    FailShape(call, 20, fmt::format("the function returns {}, not a scalar", type->text()),
              {"sum or average it, or use vjp with a cotangent"});
  FailDType(call, 21,
            fmt::format("the function returns {}, which is not floating-point", type->text()));
}

// A traced function, and the arguments whose gradients are asked for.
struct GradientCall {
  ir::Program program;           // closed: captured arrays are its last inputs
  std::vector<bool> active;      // per input
  std::vector<int> argument_of;  // per input: the number of its argument; -1: captured
  const detail::GradOptions& options;
  Call call;
};

// Returns the program of the gradients and the results, in the order of Grad::Like.
ir::Program GradientOf(const GradientCall& g) {
  const ir::Type* value = g.program.type(g.program.outputs[0]);
  std::vector<bool> wanted(g.program.outputs.size());
  wanted[0] = true;
  LinearizedProgram l = Linearized(g.program, g.active, wanted);
  if (!g.options.value) l.DropOutput(0);
  // One program: the known part, then the gradient.
  ir::Program whole = std::move(l.known);
  ir::Builder builder(whole, g.call.loc);
  std::vector<ir::ValueId> values = whole.outputs, inputs;
  inputs.assign(values.begin() + static_cast<long>(l.outputs), values.end());
  values.resize(l.outputs);
  inputs.push_back(ops::Filled(builder, 1, ops::CotangentType(value)));
  const std::vector<ir::ValueId> gradients =
      ir::Inline(builder, transforms::MakeTranspose(l.linear, l.residuals), inputs);
  std::vector<ir::ValueId> chosen_gradients;
  for (int n : g.options.arguments) {
    for (size_t i = 0, next = 0; i < g.active.size(); ++i) {
      const size_t at = next;
      next += g.active[i];
      if (g.argument_of[i] == n)
        chosen_gradients.push_back(
            g.active[i] ? gradients[at] : ops::Zeros(builder, g.program.type(g.program.inputs[i])));
    }
  }
  whole.outputs = g.options.value ? values : chosen_gradients;
  const std::vector<ir::ValueId>& rest = g.options.value ? chosen_gradients : values;
  whole.outputs.insert(whole.outputs.end(), rest.begin(), rest.end());
  ir::Simplify(whole);
  return whole;
}

// A gradient in this thread's memo, which serves functions that are traced at each call. The memo
// is cleared when it is full.
struct KnownGradient {
  ir::Program program;
  std::vector<int> choices;
  Loc loc;
  ProgramRef gradient;
  // Lines must be the same too, because messages show them.
  bool IsOf(const GradientCall& g, const std::vector<int>& c) const {
    return choices == c && ir::SameProgram(program, g.program) &&
           ir::SameLines(program, g.program) && program.names == g.program.names &&
           loc.line() == g.call.loc.line() && std::string_view(loc.file()) == g.call.loc.file();
  }
};

ProgramRef GradientMadeOnce(GradientCall g) {
  constexpr size_t kMost = 64;
  static thread_local absl::flat_hash_map<size_t, KnownGradient> known;
  // The memo must not keep functions of the user alive.
  if (ir::HasHostFunctions(g.program)) return ir::Shared(GradientOf(g));
  std::vector<int> choices{g.options.value};
  choices.insert(choices.end(), g.options.arguments.begin(), g.options.arguments.end());
  choices.insert(choices.end(), g.active.begin(), g.active.end());
  choices.insert(choices.end(), g.argument_of.begin(), g.argument_of.end());
  size_t hash = ir::HashOf(g.program);
  for (ir::ValueId v : g.program.inputs)
    hash = ir::MixHash(hash, reinterpret_cast<uintptr_t>(g.program.type(v)));
  if (const auto it = known.find(hash); it != known.end() && it->second.IsOf(g, choices))
    return it->second.gradient;
  ProgramRef gradient = ir::Shared(GradientOf(g));
  if (known.size() >= kMost) known.clear();
  known.insert_or_assign(
      hash, KnownGradient{std::move(g.program), std::move(choices), g.call.loc, gradient});
  return gradient;
}

// Turns the captured arrays into the last inputs. Returns them.
std::vector<ArrayRef> Closed(ir::Program& program) {
  std::vector<ArrayRef> captured;
  for (const ir::Capture& c : program.captures) {
    program.inputs.push_back(c.value);
    captured.push_back(trace::CapturedArray(c));
  }
  program.captures.clear();
  return captured;
}

// Whether an array depends on the mapped arguments of a vmap. `lane`: of one batch element. The
// parameters of a region inside may depend on them, so they count.
bool IsMapped(trace::Trace& lane, const trace::ArrayImpl* array) {
  const auto* traced = dynamic_cast<const trace::TracedArray*>(array);
  if (!traced || !traced->trace->IsInside(&lane)) return false;
  const ir::Program& program = traced->trace->program();
  ir::ValueSet mapped(program.values.size());
  const bool is_lane = traced->trace.get() == &lane;
  for (size_t k = 0; k < program.inputs.size(); ++k)
    mapped[program.inputs[k]] = !is_lane || lane.runs().mapped[k];
  for (const ir::Capture& c : program.captures)
    if (!is_lane) mapped[c.value] = IsMapped(lane, trace::CapturedArray(c).get());
  return ir::MadeOf(program, std::move(mapped))[traced->value];
}

// Returns, per input, whether the gradients of batch elements with respect to it are separate: the
// function of a vmap differentiates, and the input is no mapped value. Inside of a shard_map every
// device then has batch elements of its own.
std::vector<bool> HasSeparateElements(const std::vector<ArrayRef>& inputs) {
  std::vector<bool> separate(inputs.size());
  for (trace::Trace* lane = trace::CurrentTrace(); lane; lane = lane->outer()) {
    if (lane->runs().mapped.empty()) continue;
    for (size_t i = 0; i < inputs.size(); ++i)
      separate[i] = separate[i] || !IsMapped(*lane, inputs[i].get());
  }
  return separate;
}

// Adds the gradient of a call to the trace. `again`: every call of grad traces the function.
detail::FunctionResult GradInTrace(std::vector<ArrayRef> arrays, std::vector<int> argument_of,
                                   const detail::Body& body, const detail::GradOptions& options,
                                   bool again, Call call) {
  trace::NestingScope nesting(call.name, call.loc);
  std::vector<bool> chosen(arrays.size());
  for (size_t i = 0; i < chosen.size(); ++i)
    chosen[i] = absl::c_linear_search(options.arguments, argument_of[i]);
  TracedCall t = TraceCall(std::move(arrays), body, chosen, call);
  CheckArguments(t, options.arguments, argument_of, call);
  CheckComplexArguments(t, options.arguments, argument_of, options.holomorphic,
                        /*takes_complex=*/true, call);
  if (t.program.outputs.empty())
    FailShape(call, 20, "the function returns no arrays", {"return a floating-point scalar"});
  const ir::Type* value = t.program.type(t.program.outputs[0]);
  if (!value->shape().empty() || !ops::HasTangent(value)) FailScalar(value, call);
  CheckComplexResult(value, options.holomorphic, call);
  CheckSameDevices(t, HasSeparateElements(t.inputs), argument_of, value, call);
  for (ArrayRef& array : Closed(t.program)) {
    t.inputs.push_back(std::move(array));
    t.active.push_back(false);
    argument_of.push_back(-1);
  }
  GradientCall g{std::move(t.program), std::move(t.active), std::move(argument_of), options, call};
  const ProgramRef gradient = again ? GradientMadeOnce(std::move(g)) : ir::Shared(GradientOf(g));
  return {trace::CallProgram(gradient, t.inputs, call.name, call.loc), std::move(t.tree)};
}

// The tangents or cotangents that a user gives.
struct GivenTangents {
  std::vector<std::string> names;
  std::vector<ArrayRef> arrays;
};
// Returns part 0 or 1 of the pair (arguments, tangents) of a jvp, each of which is a tuple. The
// name of the only tangent has no number.
trace::Leaves PartOfPair(detail::TreeRef both, size_t part, const std::string& name) {
  const detail::Outline outline = detail::OutlineOf(both);
  const auto of_one = [](const auto& node) {
    return node.first == detail::Path{0} && node.second == 1;
  };
  detail::Path above{part};
  if (name != trace::kArguments && absl::c_any_of(outline.nodes, of_one)) above.push_back(0);
  return trace::TakeArrays(both, name, above);
}

// C24: refuses a tangent or cotangent whose tree is not the tree of its value.
void CheckTangents(const std::vector<std::string>& wanted, const std::vector<std::string>& came,
                   const char* what, Call call) {
  CheckNames(call, 24, wanted, came, what,
             {"a tangent or cotangent must have the same tree structure as its value"});
}

// Appends the given tangents that are inputs of the program. C23: all have the types in `wanted`.
void AddTangents(const GivenTangents& given, const std::vector<const ir::Type*>& wanted,
                 const std::vector<bool>& is_input, std::vector<ArrayRef>& inputs, Call call) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const ir::Type* type = given.arrays[i]->type();
    if (!ir::SameType(type, wanted[i]))
      FailShape(
          call, 23,
          fmt::format("{} is {}, but must be {}", given.names[i], type->text(), wanted[i]->text()),
          {type->shape() != wanted[i]->shape()
               ? "a tangent or cotangent must have the same shape as its value"
           : type->sharding().varying != wanted[i]->sharding().varying
               ? "a tangent or cotangent must vary over the same Manual axes as its value: apply "
                 "psum or pcast"
               : "reshard or convert it"});
    if (is_input[i]) inputs.push_back(given.arrays[i]);
  }
}

// Returns the linear part as a map from trees like `argument`. If that is null, returns its
// transpose, a map from trees like the result. The residuals are not part of it. Results without a
// tangent, or arguments without a cotangent, are zeros in the program.
std::shared_ptr<const LinearProgram> LinearProgramOf(
    const TracedCall& t, LinearizedProgram& l, Call call, const detail::TreeRef* argument,
    transforms::FailNotLinear fail = transforms::FailRule) {
  const bool reverse = argument == nullptr;
  auto map = std::make_shared<LinearProgram>();
  map->names = trace::TakeArrays(reverse ? t.tree.ref() : *argument, kArgument).names;
  map->name = call.name;
  map->outputs = l.outputs;
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
    program = transforms::MakeTranspose(program, l.residuals, fail);
    ir::Simplify(program);
  }
  for (const ir::Type* type : ins) map->in.push_back(type->WithWeak(false));
  map->is_input = has_in;
  std::vector<ir::ValueId> outputs;
  ir::Builder builder(program, call.loc);
  for (size_t i = 0, next = 0; i < outs.size(); ++i)
    outputs.push_back(has_out[i] ? program.outputs[next++] : ops::Zeros(builder, outs[i]));
  program.outputs = std::move(outputs);
  map->program = ir::Shared(std::move(program));
  return map;
}

// C25: refuses a function that is not linear in its argument.
void FailFunction(const ir::Instruction& i) {
  FailTrace({"linear_transpose", i.loc}, 25,
            fmt::format("the function is not linear in its argument, because of {}", i.op->name),
            {"use vjp for the transpose of its derivative"});
}

// Returns the traced function itself as a linear program, which transposing checks.
LinearizedProgram AsLinearProgram(const TracedCall& t) {
  transforms::Split split = transforms::MakeSplit(t.program, t.active, FloatingOutputs(t.program));
  LinearizedProgram l{.known = std::move(split.known),
                      .linear = std::move(split.unknown),
                      .outputs = 0,
                      .residuals = split.residuals,
                      .has = std::move(split.unknown_outputs)};
  l.known.outputs.erase(l.known.outputs.begin(),
                        l.known.outputs.end() - static_cast<long>(l.residuals));
  ir::RemoveDead(l.known);
  std::vector<ir::ValueId> floating;
  for (size_t i = 0, next = 0; i < l.has.size(); ++i) {
    if (!l.has[i]) continue;
    l.has[i] = ops::HasTangent(t.program.type(t.program.outputs[i]));
    if (l.has[i]) floating.push_back(l.linear.outputs[next]);
    ++next;
  }
  l.linear.outputs = std::move(floating);
  return l;
}

}  // namespace

namespace detail {

std::vector<Array> Applied(const LinearMap& map, TreeRef argument, Loc loc) {
  const LinearProgram& of = *map.of;
  const Call call{of.name, loc};
  std::vector<ArrayRef> inputs = RefsOf(map.residuals, call);
  const trace::Leaves given = trace::TakeArrays(argument, kArgument);
  CheckTangents(of.names, given.names, "the argument is", call);
  CheckArrays(given.arrays, given.names, call);
  AddTangents({given.names, RefsOf(given.arrays, call)}, of.in, of.is_input, inputs, call);
  return trace::CallProgram(of.program, inputs, call.name, loc, &of.compiled);
}

FunctionResult CallGrad(const FunctionCall& f, const GradOptions& options, const Jit& kept) {
  const Call call{options.value ? "value_and_grad" : "grad", f.loc};
  const std::vector<int> argument_of = ArgumentOf(f.arguments);
  bool again = false;
  const auto in_trace = [&](const std::vector<Array>& arrays) {
    return GradInTrace(RefsOf(arrays, call), argument_of, f.body, options, again, call);
  };
  const auto compiled = [&](const FunctionCall& whole) {
    again = kept.shared() == nullptr;
    return kept.Call(whole);
  };
  return CallTransformed(f, compiled, in_trace, call);
}

namespace {

FunctionResult JvpInTrace(const std::vector<Array>& arrays, const std::vector<int>& part_of,
                          const FunctionCall& f, Call call) {
  trace::NestingScope nesting(call.name, call.loc);
  std::vector<ArrayRef> inputs;
  GivenTangents tangents{PartOfPair(f.arguments, 1, kTangent).names, {}};
  for (size_t i = 0; i < arrays.size(); ++i)
    (part_of[i] == 0 ? inputs : tangents.arrays).push_back(arrays[i].impl());
  const std::vector<bool> all(inputs.size(), true);
  TracedCall t = TraceCall(inputs, f.body, all, call);
  std::vector<const ir::Type*> types;
  for (size_t i = 0; i < t.inputs.size(); ++i) types.push_back(t.inputs[i]->type());
  AddTangents(tangents, types, t.active, inputs, call);
  transforms::Jvp jvp = transforms::MakeJvp(t.program, t.active, FloatingOutputs(t.program));
  ir::Simplify(jvp.program);
  const std::vector<Array> made =
      trace::CallProgram(ir::Shared(std::move(jvp.program)), inputs, call.name, call.loc);
  const size_t n = t.program.outputs.size();
  FunctionResult result{{made.begin(), made.begin() + static_cast<long>(n)}, std::move(t.tree)};
  for (size_t i = 0, next = n; i < n; ++i)
    result.arrays.push_back(
        jvp.active[i] ? made[next++] : FilledWith(0, t.program.type(t.program.outputs[i]), call));
  return result;
}

// Returns the results, then the residuals of the linear map. The map is in `made`.
FunctionResult LinearizedInTrace(const std::vector<Array>& arrays, const FunctionCall& f,
                                 const TreeRef* argument, Call call) {
  trace::NestingScope nesting(call.name, call.loc);
  const std::vector<bool> all(arrays.size(), true);
  TracedCall t = TraceCall(RefsOf(arrays, call), f.body, all, call);
  if (!argument) {  // of vjp: derivatives with respect to one value are added up
    const std::vector<bool> separate = HasSeparateElements(t.inputs);
    for (ir::ValueId v : t.program.outputs)
      if (ops::HasTangent(t.program.type(v)))
        CheckSameDevices(t, separate, ArgumentOf(f.arguments), t.program.type(v), call);
  }
  LinearizedProgram l = Linearized(t, FloatingOutputs(t.program));
  FunctionResult result{.arrays = {}, .tree = {}, .made = LinearProgramOf(t, l, call, argument)};
  result.arrays = trace::CallProgram(ir::Shared(std::move(l.known)), t.inputs, call.name, call.loc);
  result.tree = std::move(t.tree);
  return result;
}

Linearization LinearizedCall(const FunctionCall& f, const TreeRef* argument, const Jit& kept,
                             Call call) {
  const auto in_trace = [&](const std::vector<Array>& arrays) {
    return LinearizedInTrace(arrays, f, argument, call);
  };
  Linearization out{CallTransformed(f, std::bind_front(&Jit::Call, &kept), in_trace, call), {}};
  auto map = std::make_shared<LinearMap>();
  map->of = std::static_pointer_cast<const LinearProgram>(out.result.made);
  std::vector<Array>& arrays = out.result.arrays;
  const auto residuals = arrays.begin() + static_cast<long>(map->of->outputs);
  map->residuals.assign(residuals, arrays.end());
  arrays.erase(residuals, arrays.end());
  out.map = std::move(map);
  return out;
}

}  // namespace

FunctionResult CallJvp(const FunctionCall& f, const Jit& kept) {
  const Call call{"jvp", f.loc};
  const std::vector<int> part_of = ArgumentOf(f.arguments);
  const trace::Leaves values = PartOfPair(f.arguments, 0, kTangent),
                      tangents = PartOfPair(f.arguments, 1, kTangent);
  CheckTangents(values.names, tangents.names, "the tangent is", call);
  CheckArrays(values.arrays, PartOfPair(f.arguments, 0, trace::kArguments).names, call);
  CheckArrays(tangents.arrays, tangents.names, call);
  const auto in_trace = [&](const std::vector<Array>& arrays) {
    return JvpInTrace(arrays, part_of, f, call);
  };
  return CallTransformed(f, std::bind_front(&Jit::Call, &kept), in_trace, call);
}
Linearization Linearize(const FunctionCall& f, TreeRef argument, const Jit& kept) {
  return LinearizedCall(f, &argument, kept, {"linearize", f.loc});
}
Linearization Vjp(const FunctionCall& f, const Jit& kept) {
  return LinearizedCall(f, nullptr, kept, {"vjp", f.loc});
}

LinearMapRef LinearTranspose(const FunctionCall& f) {
  const Call call{"linear_transpose", f.loc};
  trace::NestingScope nesting(call.name, call.loc);
  TracedCall t = TraceAll(f, call);
  LinearizedProgram l = AsLinearProgram(t);
  auto map = std::make_shared<LinearMap>();
  map->of = LinearProgramOf(t, l, call, nullptr, FailFunction);
  std::vector<ArrayRef> known;
  for (size_t i = 0; i < t.inputs.size(); ++i)
    if (!t.active[i]) known.push_back(t.inputs[i]);
  map->residuals = trace::CallProgram(ir::Shared(std::move(l.known)), known, call.name, call.loc);
  return map;
}

}  // namespace detail
}  // namespace tessera
