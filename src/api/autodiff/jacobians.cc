// Jacobians: a derivative's linear program, or its transpose, mapped over a basis.
#include "tessera/jacobians.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "api/autodiff/linear.h"
#include "api/core/operands.h"
#include "api/core/regions.h"
#include "api/functions/transformed.h"
#include "base/at.h"
#include "ir/inline.h"
#include "ir/simplify.h"
#include "ir/uses.h"
#include "ops/basis.h"
#include "ops/tangents.h"
#include "trace/inline.h"
#include "trace/scopes.h"
#include "transforms/batch.h"
#include "transforms/jvp.h"
#include "transforms/transpose.h"

namespace tessera {

using namespace api;

namespace {

using ir::ValueId;

// Emits a linear program on `inputs` and, for its last input, on all elements of the basis of that
// input's type. Returns its outputs with the basis as their first dim.
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

// The program of a Jacobian: the function's known part once, then all columns or rows.
class JacobianProgram {
 public:
  JacobianProgram(const TracedCall& t, Call call)
      : t_(t), linear_(Linearized(t, FloatingOutputs(t.program))), call_(call) {
    program_ = linear_.known;
    residuals_.assign(program_.outputs.begin() + static_cast<long>(linear_.outputs),
                      program_.outputs.end());
    program_.outputs.clear();
  }

  // Adds the columns of active input number `active`: for each of its elements, the tangents of all
  // outputs. Tangents of other inputs are zero.
  void AddColumns(size_t active, const ir::Type* in) {
    std::vector<bool> moves(linear_.linear.inputs.size());
    moves[linear_.residuals + active] = true;
    const std::vector<bool> all(linear_.linear.outputs.size(), true);
    ir::Program one = transforms::MakeJvp(linear_.linear, moves, all).program;
    one.outputs.erase(one.outputs.begin(), one.outputs.begin() + static_cast<long>(all.size()));
    one.inputs.erase(one.inputs.begin() + static_cast<long>(linear_.residuals),
                     one.inputs.end() - 1);
    ir::RemoveDead(one);
    ir::Builder builder(program_, call_.loc);
    for (ValueId v : OnBasis(builder, one, residuals_, in->WithWeak(false)))
      program_.outputs.push_back(ops::BasisLast(builder, v, in->shape()));
  }

  // Adds the rows of an output: for each of its elements, the cotangents of all active inputs.
  void AddRows(size_t output) {
    ir::Program one = linear_.linear;
    one.outputs = {one.outputs[output]};
    ir::RemoveDead(one);
    const ir::Type* out = ops::CotangentType(t_.program.type(t_.program.outputs[output]));
    ir::Builder builder(program_, call_.loc);
    for (ValueId v :
         OnBasis(builder, transforms::MakeTranspose(one, linear_.residuals), residuals_, out))
      program_.outputs.push_back(ops::BasisFirst(builder, v, out->shape()));
  }

  std::vector<Array> Run() {
    ir::Simplify(program_);
    return trace::CallProgram(ir::Shared(std::move(program_)), t_.inputs, call_.name, call_.loc);
  }

 private:
  const TracedCall& t_;
  LinearizedProgram linear_;
  Call call_;
  ir::Program program_;
  std::vector<ValueId> residuals_;  // values of `program_`
};

// Returns the Jacobian for an argument that is not floating. Its dims are sharded like those of
// other Jacobians: the result's dims if columns are computed, the argument's if rows are.
Array ZerosBetween(const ir::Type* out, const ir::Type* in, bool reverse, Call call) {
  base::Shape shape = out->shape();
  shape.insert(shape.end(), in->shape().begin(), in->shape().end());
  const sharding::TensorSharding& from = (reverse ? in : out)->sharding();
  sharding::TensorSharding s;
  s.mesh = from.mesh;
  s.dims.resize(shape.size());
  absl::c_copy(from.dims, s.dims.begin() + static_cast<long>(reverse ? out->rank() : 0));
  return FilledWith(0, ir::Type::Get(std::move(shape), out->dtype(), std::move(s)), call);
}

void CheckResults(const TracedCall& t, const detail::JacobianOptions& options, Call call) {
  for (ValueId v : t.program.outputs) {
    if (!ops::HasTangent(t.program.type(v)))
      FailDType(call, 21,
                fmt::format("the function returns {}, which is not floating-point",
                            t.program.type(v)->text()));
    // jacfwd also takes complex results of real arguments.
    if (options.reverse || options.holomorphic)
      CheckComplexResult(t.program.type(v), options.holomorphic, call);
  }
}

detail::FunctionResult JacobianInTrace(std::vector<ArrayRef> arrays,
                                       const std::vector<int>& argument_of,
                                       const detail::Body& body,
                                       const detail::JacobianOptions& options, Call call) {
  trace::NestingScope nesting(call.name, call.loc);
  std::vector<bool> chosen;
  chosen.reserve(argument_of.size());
  for (int n : argument_of) chosen.push_back(n == options.argument);
  TracedCall t = TraceCall(std::move(arrays), body, chosen, call);
  CheckArguments(t, {options.argument}, argument_of, call);
  CheckComplexArguments(t, {options.argument}, argument_of, options.holomorphic, options.reverse,
                        call);
  CheckResults(t, options, call);
  if (options.reverse)
    for (ValueId v : t.program.outputs)
      CheckSameDevices(t, std::vector<bool>(t.inputs.size(), true), argument_of, t.program.type(v),
                       call);
  JacobianProgram whole(t, call);
  const size_t outputs = t.program.outputs.size();
  for (size_t j = 0, active = 0; !options.reverse && j < t.inputs.size(); ++j)
    if (t.active[j]) whole.AddColumns(active++, t.inputs[j]->type());
  for (size_t i = 0; options.reverse && i < outputs; ++i) whole.AddRows(i);
  const std::vector<Array> made = whole.Run();
  const auto inputs = base::Size(absl::c_count(t.active, true));
  detail::FunctionResult result{{}, std::move(t.tree)};
  for (size_t i = 0; i < outputs; ++i)
    for (size_t j = 0, next = 0; j < t.inputs.size(); ++j) {
      if (!chosen[j]) continue;
      const ir::Type* out = t.program.type(t.program.outputs[i]);
      const size_t at = options.reverse ? i * inputs + next : next * outputs + i;
      result.arrays.push_back(
          t.active[j] ? made[at] : ZerosBetween(out, t.inputs[j]->type(), options.reverse, call));
      next += t.active[j];
    }
  return result;
}

}  // namespace

namespace detail {

FunctionResult CallJacobian(const FunctionCall& f, const JacobianOptions& options,
                            const Jit& kept) {
  const Call call{options.reverse ? "jacrev" : "jacfwd", f.loc};
  const std::vector<int> argument_of = ArgumentOf(f.arguments);
  const auto in_trace = [&](const std::vector<Array>& arrays) {
    return JacobianInTrace(RefsOf(arrays, call), argument_of, f.body, options, call);
  };
  return CallTransformed(f, std::bind_front(&Jit::Call, &kept), in_trace, call);
}

}  // namespace detail
}  // namespace tessera
