// custom_jvp and custom_vjp: user functions that stay calls in a program,
// with their rules.
#include "tessera/custom_rules.h"

#include <absl/functional/function_ref.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "api/core/operands.h"
#include "api/core/regions.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/reader.h"
#include "ir/uses.h"
#include "ir/zeros.h"
#include "ops/calls.h"
#include "ops/tangents.h"
#include "trace/inline.h"
#include "trace/scopes.h"
#include "trace/tree.h"

namespace tessera {

using namespace api;

namespace {

using TypeList = std::vector<const Type*>;

// Names of the function's results and arguments in messages.
constexpr char kResultName[] = "result";

void AddFloating(const TypeList& from, TypeList& to) {
  for (const Type* t : from)
    if (ops::HasTangent(t)) to.push_back(t->WithWeak(false));
}

// Appends an array per type: the next one of `floating`, or zeros for a type that is not floating.
void AddWithZeros(const Arrays& floating, size_t next, const TypeList& types, Arrays& to,
                  Call call) {
  for (const Type* t : types)
    to.push_back(ops::HasTangent(t) ? floating[next++] : FilledWith(0, t, call));
}

// The arrays that outputs of a rule correspond to: the function's results or arguments.
struct Expected {
  const Leaves& leaves;
  const TypeList& types;
};

// C1: refuses a rule's result whose part `part` does not have the same arrays as `like`.
void CheckRule(Call call, const FunctionResult& made, const detail::Path& part,
               const Expected& like, const char* name, const char* what) {
  const Leaves came = trace::TakeArrays(made.tree.ref(), name, part);
  CheckNames(call, 1, like.leaves.names, came.names,
             fmt::format("the rule returns, as the {},", what).c_str(),
             {"return a tree of the same arrays"});
}

const Type* StrongType(const Type* type) { return type->WithWeak(false); }

// An output of a rule.
struct RuleOutput {
  const char* name;                     // in messages
  const Type* (*type_of)(const Type*);  // its type, from the type of the value
  bool (*is_used)(const Type*);         // by the type of the value
};
constexpr RuleOutput kValueOutput{"value", StrongType, [](const Type*) { return true; }},
    kTangentOutput{"tangent", StrongType, ops::HasTangent},
    kCotangentOutput{"cotangent", ops::CotangentType, ops::HasTangent};

// C2: refuses outputs of the wrong types. Returns the outputs that are used. `got`: all outputs,
// those of this kind from `begin` on.
Arrays CheckedOutputs(const RuleOutput& output, const Arrays& got, size_t begin,
                      const Expected& like, Call call) {
  Arrays out;
  for (size_t i = 0; i < like.types.size(); ++i) {
    if (!output.is_used(like.types[i])) continue;
    const ArrayRef& array = trace::Use(got[begin + i], call.name, call.loc, [&] {
      return fmt::format("the {} of {}", output.name, like.leaves.names[i]);
    });
    const Type *type = array->type(), *must = output.type_of(like.types[i]);
    out.push_back(got[begin + i]);
    if (ir::SameType(type, must)) continue;
    // No reshard gives a cotangent its type if that differs from the type of the value.
    const bool dual = must != like.types[i]->WithWeak(false);
    std::vector<std::string> notes;
    if (dual || type->shape() != must->shape())
      notes.push_back(fmt::format("the {} must be {}", output.name, must->text()));
    if (std::string edit = Edit(*type, *must, output.name); !edit.empty() && !dual)
      notes.push_back("let the rule return " + edit);
    const std::string& name = like.leaves.names[i];
    FailTrace(call, 2,
              fmt::format("the rule returns the wrong type for the {} of {}", output.name, name),
              std::move(notes),
              {Shown(name, *like.types[i], Loc::Unknown()),
               Shown(fmt::format("the rule's {}", output.name), *type, array->loc())});
  }
  return out;
}

// The traced function of a call.
struct TracedCallee {
  TracedCallee(const detail::FunctionCall& f, const CallArguments& arguments, Call call)
      : traced(TraceRegion(arguments.types, f.body, call)),
        leaves(trace::TakeArrays(traced.tree.ref(), kResultName)),
        types(ops::OutputTypes(traced.program)) {}
  TracedFunction traced;
  Leaves leaves;
  TypeList types;
};

// Emits a call whose regions are the function and its rules.
Arrays ApplyRule(const ir::OpDef& op, const CallArguments& arguments,
                 std::vector<TracedFunction> regions, Call call) {
  if (HasNoResultOrEffect(regions)) return {};
  const std::vector<ArrayRef> constants = trace::CloseRegions(regions);
  const ops::CallParams params{static_cast<int64_t>(constants.size())};
  return ApplyRegions(op, ir::MakeParams(params), constants, arguments.leaves.arrays, regions,
                      call);
}

// C4: refuses a tangent of a result that is not zero and does not depend on the given tangents. The
// last `tangents` inputs are the tangents.
void CheckDepends(const TracedFunction& rule, size_t tangents, const TracedCallee& f, Call call) {
  const ir::Program& p = rule.program;
  ir::ValueSet seeds(p.values.size());
  for (size_t i = p.inputs.size() - tangents; i < p.inputs.size(); ++i) seeds[p.inputs[i]] = true;
  const ir::ValueSet depends = ir::MadeOf(p, seeds);
  const ir::ValueSet zeros = ir::ZerosOf(p);
  size_t next = f.types.size();
  for (size_t i = 0; i < f.types.size(); ++i) {
    if (!ops::HasTangent(f.types[i])) continue;
    const ir::ValueId v = p.outputs[next++];
    if (depends[v] || zeros[v]) continue;
    FailTrace(call, 4,
              fmt::format("the rule's tangent of {} is nonzero but does not depend on the given "
                          "tangents",
                          f.leaves.names[i]),
              {"a tangent must be linear in the given tangents"},
              {Shown("the rule's tangent", *p.type(v), p.values[v].loc)});
  }
}

TracedFunction TraceJvpRule(const CallArguments& arguments, const TracedCallee& f, const Body& rule,
                            Call call) {
  TypeList parameters = arguments.types;
  AddFloating(arguments.types, parameters);
  const size_t n = arguments.types.size(), results = f.types.size();
  const Expected like{f.leaves, f.types};
  TracedFunction traced = TraceRegion(
      parameters,
      [&](const Arrays& given) {
        Arrays leaves(given.begin(), given.begin() + static_cast<long>(n));
        AddWithZeros(given, n, arguments.types, leaves, call);
        FunctionResult made = rule(leaves);
        CheckRule(call, made, {0}, like, kResultName, "result");
        CheckRule(call, made, {1}, like, kResultName, "tangent");
        Arrays out = CheckedOutputs(kValueOutput, made.arrays, 0, like, call);
        for (Array& t : CheckedOutputs(kTangentOutput, made.arrays, results, like, call))
          out.push_back(std::move(t));
        return FunctionResult{std::move(out), std::move(made.tree)};
      },
      call);
  CheckDepends(traced, parameters.size() - n, f, call);
  return traced;
}

TracedFunction TraceForward(const CallArguments& arguments, const TracedCallee& f,
                            const Body& forward, Call call) {
  const Expected like{f.leaves, f.types};
  return TraceRegion(
      arguments.types,
      [&](const Arrays& given) {
        FunctionResult made = forward(given);
        CheckRule(call, made, {0}, like, kResultName, "result");
        CheckedOutputs(kValueOutput, made.arrays, 0, like, call);
        return made;
      },
      call);
}

TracedFunction TraceBackward(const CallArguments& arguments, const TracedCallee& f,
                             const TracedFunction& forward, const detail::BackwardBody& backward,
                             Call call) {
  const TypeList made = ops::OutputTypes(forward.program);
  TypeList parameters(made.begin() + static_cast<long>(f.types.size()), made.end()), cotangents;
  const size_t residuals = parameters.size();
  for (const Type* t : f.types) cotangents.push_back(ops::CotangentType(t));
  AddFloating(cotangents, parameters);
  return TraceRegion(
      parameters,
      [&](const Arrays& given) {
        Arrays leaves(given.begin(), given.begin() + static_cast<long>(residuals));
        AddWithZeros(given, residuals, cotangents, leaves, call);
        FunctionResult result = backward(forward.tree, leaves);
        const Expected like{arguments.leaves, arguments.types};
        CheckRule(call, result, {}, like, trace::kArguments, "cotangents");
        result.arrays = CheckedOutputs(kCotangentOutput, result.arrays, 0, like, call);
        return result;
      },
      call);
}

using RulesOf =
    absl::FunctionRef<std::vector<TracedFunction>(const CallArguments&, const TracedCallee&)>;

// Calls the function. Inside a trace the call is an instruction whose regions are the
// function and its rules.
FunctionResult CallWithRules(const ir::OpDef& op, const detail::FunctionCall& f, RulesOf rules,
                             Call call) {
  const CallArguments arguments(f, call);
  if (!trace::InsideTrace(arguments.refs)) return f.body(arguments.leaves.arrays);
  TracedCallee function(f, arguments, call);
  std::vector<TracedFunction> regions = rules(arguments, function);
  regions.insert(regions.begin(), std::move(function.traced));
  FunctionResult result{{}, regions[0].tree};
  result.arrays = ApplyRule(op, arguments, std::move(regions), call);
  return result;
}

}  // namespace

namespace detail {

FunctionResult CallCustomJvp(const FunctionCall& f, const Body& rule) {
  const Call call{"custom_jvp", f.loc};
  const auto rules = [&](const CallArguments& arguments, const TracedCallee& function) {
    return std::vector{TraceJvpRule(arguments, function, rule, call)};
  };
  return CallWithRules(ops::kCustomJvp, f, rules, call);
}

FunctionResult CallCustomVjp(const FunctionCall& f, const Body& forward,
                             const BackwardBody& backward) {
  const Call call{"custom_vjp", f.loc};
  const auto rules = [&](const CallArguments& arguments, const TracedCallee& function) {
    std::vector<TracedFunction> regions{TraceForward(arguments, function, forward, call)};
    regions.push_back(TraceBackward(arguments, function, regions[0], backward, call));
    return regions;
  };
  return CallWithRules(ops::kCustomVjp, f, rules, call);
}

}  // namespace detail
}  // namespace tessera
