// Derivative rules as formulas. The formulas are written next to the records that hold them.
#pragma once
#include <type_traits>

#include "ops/expression.h"
#include "ops/params.h"
#include "ops/tangents.h"

namespace tessera::ops {

// Computes the result's tangent by a formula: f(g, x, y) of the operand's tangent g, the operand x
// and the result y. For more operands the formula is f(g, a, b, y) or f(g, a, b, c, y).
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

// Returns the rule with one formula per operand. For nullptr see ir::Derivative.
template <auto... f>
constexpr ir::Derivative By(ir::TransposeFn transpose = nullptr) {
  return {.of = {FormulaOf<f>()...}, .transpose = transpose};
}

inline constexpr ir::Derivative kZeroAlmostEverywhere{};
inline constexpr ir::NotDifferentiable kOnDevicesOnly{
    "it occurs only in device programs, which are built after differentiation"};

// Returns the type of operand k's cotangent, which its transpose returns.
inline const ir::Type* CotangentTypeOf(const ir::DiffCall& c, size_t k) {
  return CotangentType(c.operand_types[k]);
}
// Emits an op whose only result has the type of operand k's cotangent, and returns that. For ops
// that take an out_sharding.
inline ir::ValueId AsCotangent(const ir::DiffCall& c, size_t k, const OpDef& op,
                               ir::ParamsPtr params, std::initializer_list<ir::ValueId> operands) {
  const ir::Type* type = CotangentTypeOf(c, k);
  return c.builder.EmitTyped(op, std::move(params), {operands.begin(), operands.size()},
                             {&type, 1})[0];
}

// The tangent of an op that is linear in its one operand: the op itself, applied to the tangent.
inline ir::ValueId AlongWithValue(const ir::DiffCall& c, ir::ValueId tangent) {
  const ir::Type* type = c.result_types[0]->WithWeak(false);
  return c.builder.EmitTyped(c.op, c.params, {tangent}, {&type, 1})[0];
}

// Applies an op that changes sizes, and keeps axes where the new size divides, to a cotangent
// (operands[0]) and other operands. First lays the cotangent out, so that the result is as close to
// operand k's cotangent type as the sizes allow.
ir::ValueId OfOtherSize(const ir::DiffCall& c, size_t k, const OpDef& op, ir::ParamsPtr params,
                        std::vector<ir::ValueId> operands);

// Passes the cotangent on.
inline ir::ValueId Same(const ir::DiffCall&, ir::ValueId cotangent, size_t) { return cotangent; }

}  // namespace tessera::ops
