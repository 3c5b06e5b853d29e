// Jacobians: the linear program of a derivative, or its transpose, mapped over a basis.
#include "tessera/jacobians.h"

#include <fmt/format.h>

#include <numeric>

#include "api/linear.h"
#include "api/regions.h"
#include "ir/inline.h"
#include "ir/simplify.h"
#include "ops/basis.h"
#include "ops/tangents.h"
#include "tessera/ops.h"
#include "trace/inline.h"
#include "trace/scopes.h"
#include "transforms/batch.h"
#include "transforms/transpose.h"

namespace tessera {
namespace api {
namespace {

using ir::ValueId;

// Runs a linear program without other inputs than these and one more, on the basis of the last.
// Returns its outputs with the dim of the basis in front.
std::vector<ValueId> OnBasis(ir::Builder& builder, const ir::Program& linear,
                             std::vector<ValueId> inputs, const ir::Type* type) {
  const ir::MappedDim dim{.size = type->elements(), .mesh = type->mesh()};
  std::vector<bool> mapped(inputs.size() + 1);
  mapped.back() = true;
  const transforms::Batch batch =
      transforms::MakeBatch(linear, mapped, std::vector<bool>(linear.outputs.size(), true), dim);
  inputs.push_back(ops::Basis(builder, type));
  return ir::Inline(builder, batch.program, inputs);
}

// A linear program behind its known one, with the outputs of the function dropped.
struct Prepared {
  ir::Program whole;
  std::vector<ValueId> residuals;
  explicit Prepared(Linear& l) : whole(std::move(l.known)) {
    residuals.assign(whole.outputs.begin() + static_cast<long>(l.outputs), whole.outputs.end());
    whole.outputs.clear();
  }
  std::vector<Array> Run(const std::vector<ArrayRef>& inputs, Call call) {
    ir::Simplify(whole);
    return trace::CallProgram(Shared(std::move(whole)), inputs, call.name, call.loc);
  }
};

using Rows = std::vector<std::vector<Array>>;  // by output, by input

// By columns: the tangents of all outputs for each element of an input.
void AddColumns(const Traced& t, size_t input, Rows& rows, Call call) {
  std::vector<bool> active(t.inputs.size());
  active[input] = true;
  const size_t n = t.program.outputs.size();
  Linear l = Linearized(t.program, active, std::vector<bool>(n, true));
  Prepared p(l);
  ir::Builder builder(p.whole, call.loc);
  const ir::Type* in = t.inputs[input]->type()->WithWeak(false);
  const std::vector<ValueId> columns = OnBasis(builder, l.linear, p.residuals, in);
  for (size_t i = 0; i < n; ++i)
    p.whole.outputs.push_back(ops::BasisLast(builder, columns[i], in->shape()));
  std::vector<Array> made = p.Run(t.inputs, call);
  for (size_t i = 0; i < n; ++i) rows[i].push_back(std::move(made[i]));
}

// By rows: the cotangents of all inputs for each element of an output.
std::vector<Array> RowsOf(const Traced& t, size_t output, Call call) {
  std::vector<bool> wanted(t.program.outputs.size());
  wanted[output] = true;
  Linear l = Linearized(t, wanted);
  Prepared p(l);
  ir::Builder builder(p.whole, call.loc);
  const ir::Type* out = ops::CotangentType(t.program.type(t.program.outputs[output]));
  const std::vector<ValueId> made =
      OnBasis(builder, transforms::MakeTranspose(l.linear, l.residuals), p.residuals, out);
  for (ValueId v : made) p.whole.outputs.push_back(ops::BasisFirst(builder, v, out->shape()));
  return p.Run(t.inputs, call);
}

// Of an array that is not floating.
Array ZerosBetween(const ir::Type* out, const ir::Type* in, Call call) {
  std::vector<int64_t> shape = out->shape();
  shape.insert(shape.end(), in->shape().begin(), in->shape().end());
  return zeros(shape, out->dtype(), call.loc);
}

void CheckResults(const Traced& t, Call call) {
  for (ValueId v : t.program.outputs)
    if (!ops::HasTangent(t.program.type(v)))
      FailDType(
          call, 21,
          fmt::format("the function returns {}, which is not floating", t.program.type(v)->text()));
}

detail::Result JacobianInTrace(std::vector<ArrayRef> arrays, const std::vector<int>& argument_of,
                               const detail::Body& body, const detail::JacobianOptions& options,
                               Call call) {
  trace::NestingScope nesting(call.name, call.loc);
  std::vector<bool> chosen;
  for (int n : argument_of) chosen.push_back(n == options.argument);
  Traced t = TraceCall(std::move(arrays), body, chosen, call);
  CheckArguments(t, {options.argument}, argument_of, call);
  CheckResults(t, call);
  Rows rows(t.program.outputs.size());
  for (size_t j = 0; !options.reverse && j < t.inputs.size(); ++j)
    if (t.active[j]) AddColumns(t, j, rows, call);
  for (size_t i = 0; options.reverse && i < rows.size(); ++i) rows[i] = RowsOf(t, i, call);
  detail::Result result{{}, std::move(t.tree)};
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0, next = 0; j < t.inputs.size(); ++j)
      if (chosen[j])
        result.arrays.push_back(t.active[j] ? rows[i][next++]
                                            : ZerosBetween(t.program.type(t.program.outputs[i]),
                                                           t.inputs[j]->type(), call));
  return result;
}

}  // namespace
}  // namespace api

namespace detail {

Result CallJacobian(const FunctionCall& f, const JacobianOptions& options, const Jit& kept) {
  const api::Call call{options.reverse ? "jacrev" : "jacfwd", f.loc};
  const std::vector<int> argument_of = api::ArgumentOf(f.arguments);
  const auto in_trace = [&](const std::vector<Array>& arrays) {
    return api::JacobianInTrace(api::RefsOf(arrays, call), argument_of, f.body, options, call);
  };
  return api::CallTransformed(f, kept, in_trace, call);
}

}  // namespace detail
}  // namespace tessera
