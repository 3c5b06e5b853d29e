// Jacobians: the linear program of a derivative, or its transpose, mapped over a basis.
#include "tessera/jacobians.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/linear.h"
#include "api/regions.h"
#include "base/at.h"
#include "ir/inline.h"
#include "ir/simplify.h"
#include "ops/basis.h"
#include "ops/tangents.h"
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

// One program of all rows or columns. What several of them need of the function is made once.
class Whole {
 public:
  Whole(const Traced& t, Call call) : t_(t), call_(call), builder_(program_, call.loc) {
    program_.mesh = t.program.mesh;
    for (ir::ValueId v : t.program.inputs) {
      const ir::Value& value = base::At(t.program.values, v);
      program_.inputs.push_back(program_.AddValue(value.type, value.loc, value.place));
    }
    for (const ir::Capture& c : t.program.captures) {
      const ir::Value& value = base::At(t.program.values, c.value);
      program_.captures.push_back({program_.AddValue(value.type, value.loc, value.place), c.array});
    }
  }
  ir::Builder& builder() { return builder_; }

  // Returns what the linear part reads.
  std::vector<ValueId> AddKnown(const Linear& l) {
    std::vector<ValueId> given = program_.inputs;
    for (const ir::Capture& c : program_.captures) given.push_back(c.value);
    std::vector<ValueId> made = ir::Inline(builder_, l.known, given);
    made.erase(made.begin(), made.begin() + static_cast<long>(l.outputs));
    return made;
  }
  void Return(ValueId v) { program_.outputs.push_back(v); }
  std::vector<Array> Run() {
    ir::Simplify(program_);
    return trace::CallProgram(Shared(std::move(program_)), t_.inputs, call_.name, call_.loc);
  }

 private:
  const Traced& t_;
  Call call_;
  ir::Program program_;
  ir::Builder builder_;
};

// By columns, in which outputs vary fastest: their tangents for each element of an input.
void AddColumns(const Traced& t, size_t input, Whole& whole) {
  std::vector<bool> active(t.inputs.size());
  active[input] = true;
  const size_t n = t.program.outputs.size();
  const Linear l = Linearized(t.program, active, std::vector<bool>(n, true));
  const ir::Type* in = t.inputs[input]->type()->WithWeak(false);
  for (ValueId v : OnBasis(whole.builder(), l.linear, whole.AddKnown(l), in))
    whole.Return(ops::BasisLast(whole.builder(), v, in->shape()));
}

// By rows, in which inputs vary fastest: their cotangents for each element of an output.
void AddRows(const Traced& t, size_t output, Whole& whole) {
  std::vector<bool> wanted(t.program.outputs.size());
  wanted[output] = true;
  const Linear l = Linearized(t, wanted);
  const ir::Type* out = ops::CotangentType(t.program.type(t.program.outputs[output]));
  const ir::Program transposed = transforms::MakeTranspose(l.linear, l.residuals);
  for (ValueId v : OnBasis(whole.builder(), transposed, whole.AddKnown(l), out))
    whole.Return(ops::BasisFirst(whole.builder(), v, out->shape()));
}

// Of an array that is not floating. It lies as the others do: by columns as the result, by rows as
// the argument.
Array ZerosBetween(const ir::Type* out, const ir::Type* in, bool reverse, Call call) {
  ir::Shape shape = out->shape();
  shape.insert(shape.end(), in->shape().begin(), in->shape().end());
  const sharding::TensorSharding& from = (reverse ? in : out)->sharding();
  sharding::TensorSharding s;
  s.mesh = from.mesh;
  s.dims.resize(shape.size());
  std::copy(from.dims.begin(), from.dims.end(),
            s.dims.begin() + static_cast<long>(reverse ? out->rank() : 0));
  return FilledWith(0, ir::Type::Get(std::move(shape), out->dtype(), std::move(s)), call);
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
  Whole whole(t, call);
  const size_t outputs = t.program.outputs.size();
  for (size_t j = 0; !options.reverse && j < t.inputs.size(); ++j)
    if (t.active[j]) AddColumns(t, j, whole);
  for (size_t i = 0; options.reverse && i < outputs; ++i) AddRows(t, i, whole);
  const std::vector<Array> made = whole.Run();
  const auto inputs = static_cast<size_t>(std::count(t.active.begin(), t.active.end(), true));
  detail::Result result{{}, std::move(t.tree)};
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
