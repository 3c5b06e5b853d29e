// custom_linear_solve and custom_root.
#include "tessera/solvers.h"

#include <fmt/format.h>

#include "api/linalg/linear_solve.h"
#include "tessera/custom_rules.h"
#include "trace/inline.h"

namespace tessera::detail {

using namespace api;

FunctionResult CallLinearSolve(const LinearSolveCall& f) {
  const Call call{"custom_linear_solve", f.loc};
  Leaves b = trace::TakeArrays(f.b, trace::kArguments);
  BringIn(b, call);
  return SolveEquation({f.matvec, f.solve, f.transpose_matvec, f.transpose_solve}, b.arrays, call);
}

namespace {

// C1: a function must return a tree of these types.
void CheckLike(const TracedFunction& f, const std::vector<const Type*>& must, const char* what,
               Call call) {
  for (size_t i = 0; i < must.size(); ++i) {
    const auto& outputs = f.program.outputs;
    const Type* got = i < outputs.size() ? f.program.type(outputs[i])->WithWeak(false) : nullptr;
    if (got != must[i])
      FailTrace(call, 1,
                fmt::format("{} must return arrays like the guess, but array {} is {}, not {}",
                            what, i, got ? got->text() : "missing", must[i]->text()));
  }
}

Arrays Joined(Arrays a, const Arrays& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

// The captured arrays become arguments of a function with a rule: from f(x, c) = 0 follows
// (df/dx) dx = -(df/dc) dc.
FunctionResult CallCustomRoot(const RootCall& root) {
  const Call call{"custom_root", root.loc};
  Leaves guess = trace::TakeArrays(root.guess, trace::kArguments);
  BringIn(guess, call);
  const std::vector<ArrayRef> refs = RefsOf(guess.arrays, call);
  std::vector<const Type*> types, twice;
  for (const ArrayRef& r : refs) types.push_back(r->type()->WithWeak(false));
  if (!trace::InsideTrace(refs)) {
    CheckLike(TraceRegion(types, root.f, call), types, "f", call);
    return root.solve(guess.arrays);
  }
  twice = types;
  twice.insert(twice.end(), types.begin(), types.end());
  auto regions = std::make_shared<std::vector<TracedFunction>>();
  regions->push_back(TraceRegion(types, root.f, call));
  regions->push_back(TraceRegion(types, root.solve, call));
  regions->push_back(TraceRegion(twice, root.linearise_and_solve, call));
  CheckLike((*regions)[0], types, "f", call);
  CheckLike((*regions)[1], types, "solve", call);
  CheckLike((*regions)[2], types, "tangent_solve", call);
  FunctionResult result{{}, (*regions)[1].tree};
  Arrays constants;
  for (const ArrayRef& r : trace::CloseRegions(*regions)) constants.push_back(Array(r));
  const auto run = [regions, call](size_t region, const Arrays& given) {
    return CallRegion((*regions)[region], given, call);
  };
  const auto solve = [run](Arrays known, Arrays start) { return run(1, Joined(known, start)); };
  const auto rule = [run, call](auto values, auto tangents) {
    const Arrays& known = std::get<0>(values);
    const Arrays x = run(1, Joined(known, std::get<1>(values)));
    const auto at_solution = [&](Arrays c) { return run(0, Joined(c, x)); };
    Arrays side =
        jvp(at_solution, std::tuple(known), std::tuple(std::get<0>(tangents)), call.loc).second;
    for (Array& y : side) y = neg(y, call.loc);
    return std::pair(x, run(2, Joined(Joined(known, x), side)));
  };
  result.arrays = custom_jvp(solve, rule, root.loc)(constants, guess.arrays, root.loc);
  return result;
}

}  // namespace tessera::detail
