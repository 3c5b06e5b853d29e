// Traces the functions of a linear equation as regions of one instruction.
#include "api/linalg/linear_solve.h"

#include <fmt/format.h>

#include "ops/calls.h"
#include "ops/tangents.h"
#include "trace/inline.h"

namespace tessera::api {
namespace {

// C1: a function's results must begin with arrays of the right side's types.
void CheckTypes(const std::vector<const Type*>& got, const std::vector<const Type*>& must,
                const char* what, Call call) {
  for (size_t i = 0; i < must.size(); ++i)
    if (i >= got.size() || !ir::SameType(got[i], must[i]))
      FailTrace(call, 1,
                fmt::format("{} must return arrays like b, but array {} is {}, not {}", what, i,
                            i < got.size() ? got[i]->text() : "missing", must[i]->text()));
}

// Solves an equation of arrays with values: nothing is recorded.
detail::FunctionResult SolveNow(const LinearEquation& equation, const Arrays& b,
                                const std::vector<const Type*>& types, Call call) {
  CheckTypes(ops::OutputTypes(TraceRegion(types, equation.matvec, call).program), types, "matvec",
             call);
  detail::FunctionResult result = equation.solve(b);
  std::vector<const Type*> got;
  for (const Array& x : result.arrays) got.push_back(TypeOf(x)->WithWeak(false));
  CheckTypes(got, types, "solve", call);
  return result;
}

}  // namespace

detail::FunctionResult SolveEquation(const LinearEquation& equation, const Arrays& b, Call call) {
  const std::vector<ArrayRef> refs = RefsOf(b, call);
  std::vector<const Type*> types, cotangents;
  for (const ArrayRef& r : refs) types.push_back(r->type()->WithWeak(false));
  if (!trace::InsideTrace(refs)) return SolveNow(equation, b, types, call);
  for (const Type* t : types) cotangents.push_back(ops::CotangentType(t));
  std::vector<TracedFunction> regions;
  const auto add = [&](const std::vector<const Type*>& of, const detail::Body& f,
                       const char* what) {
    regions.push_back(TraceRegion(of, f, call));
    CheckTypes(ops::OutputTypes(regions.back().program), of, what, call);
  };
  add(types, equation.solve, "solve");
  add(types, equation.matvec, "matvec");
  if (equation.transpose_solve) {
    add(cotangents, equation.transpose_solve, "transpose_solve");
    add(cotangents, equation.transpose_matvec, "the transpose of matvec");
  }
  detail::FunctionResult result{{}, regions[0].tree};
  const std::vector<ArrayRef> constants = trace::CloseRegions(regions);
  const ops::CustomLinearSolveParams params{static_cast<int64_t>(constants.size())};
  result.arrays =
      ApplyRegions(ops::kCustomLinearSolve, ir::MakeParams(params), constants, b, regions, call);
  return result;
}

}  // namespace tessera::api
