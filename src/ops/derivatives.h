// Derivative rules: formulas, which stand beside the records that hold them.
#pragma once
#include <type_traits>

#include "ops/expression.h"
#include "ops/params.h"
#include "ops/tangents.h"

namespace tessera::ops {

// The tangent of the result by a formula: f(g, x, y) of the operand's tangent g, the operand x and
// the result y; of more operands f(g, a, b, y) and f(g, a, b, c, y).
template <auto f>
ir::ValueId ByFormula(const ir::DiffCall& c, ir::ValueId tangent) {
  const X g(c.builder, tangent), y(c.builder, c.results[0]);
  const auto x = [&](size_t k) { return X(c.builder, c.operands[k]); };
  if constexpr (std::is_invocable_v<decltype(f), X, X, X>)
    return f(g, x(0), y).id();
  else if constexpr (std::is_invocable_v<decltype(f), X, X, X, X>)
    return f(g, x(0), x(1), y).id();
  else
    return f(g, x(0), x(1), x(2), y).id();
}

template <auto f>
constexpr ir::TangentFn FormulaOf() {
  if constexpr (std::is_null_pointer_v<decltype(f)>)
    return nullptr;
  else
    return ByFormula<f>;
}

// Returns the rule with a formula per operand; nullptr: see ir::Derivative.
template <auto... f>
constexpr ir::Derivative By(ir::TransposeFn transpose = nullptr) {
  return {.of = {FormulaOf<f>()...}, .transpose = transpose};
}

inline constexpr ir::Derivative kZeroAlmostEverywhere{};
inline constexpr ir::NotDifferentiable kOnDevicesOnly{
    "it occurs only in device programs, which are built after differentiation"};

// Returns the type of the cotangent of operand k: what its transpose ends with.
inline const ir::Type* CotangentTypeOf(const ir::DiffCall& c, size_t k) {
  return CotangentType(c.operand_types[k]);
}
// Returns the op's only result, which is of the type of operand k's cotangent. For ops that take an
// out_sharding.
inline ir::ValueId AsCotangent(const ir::DiffCall& c, size_t k, const OpDef& op,
                               ir::ParamsPtr params, std::initializer_list<ir::ValueId> operands) {
  const ir::Type* type = CotangentTypeOf(c, k);
  return c.builder.EmitTyped(op, std::move(params), {operands.begin(), operands.size()},
                             {&type, 1})[0];
}

// The tangent of what is linear in its one operand: it travels as its value does.
inline ir::ValueId AlongWithValue(const ir::DiffCall& c, ir::ValueId tangent) {
  const ir::Type* type = c.result_types[0]->WithWeak(false);
  return c.builder.EmitTyped(c.op, c.params, {tangent}, {&type, 1})[0];
}

// Returns the result of an op that changes sizes but keeps axes where the new size divides, of
// operands of which the first is the cotangent: laid out before so that the result is as near to
// operand k's cotangent as the sizes allow.
ir::ValueId OfOtherSize(const ir::DiffCall& c, size_t k, const OpDef& op, ir::ParamsPtr params,
                        std::vector<ir::ValueId> operands);

// The cotangent of what the op gives as it is.
inline ir::ValueId Same(const ir::DiffCall&, ir::ValueId cotangent, size_t) { return cotangent; }

}  // namespace tessera::ops
