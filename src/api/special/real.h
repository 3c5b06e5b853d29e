// Formulas of real numbers that narrow floats compute in f32.
#pragma once
#include <span>

#include "api/core/located.h"

namespace tessera::api {

// Returns the polynomial of these coefficients, the highest power first.
inline Located Polynomial(std::span<const double> coefficients, const Located& x) {
  Located y = x.With(WeakScalar(coefficients[0], x.dtype(), {"polynomial", x.loc()}));
  for (double c : coefficients.subspan(1)) y = y * x + c;
  return y;
}

inline Array Widened(const Array& x, Call call) {
  CheckReal(x, call);
  return TypeOf(x)->dtype().size() < 4 ? Convert(x, f32, call) : x;
}

// Returns f of the operands, which promote, in their floating dtype.
template <class F>
Array RealFormula(Call call, const Operand& x, const F& f) {
  return AsOne(call, {x}, [&](const Operand& operand) -> Array {
    const Array a = ToFloat(operand, call);
    return Convert(f(Located(Widened(a, call), call.loc)), TypeOf(a)->dtype(), call);
  });
}
template <class F>
Array RealFormula(Call call, const Argument& x, const Argument& y, const F& f) {
  return AsOne(call, {x, y}, [&](const Operand& a, const Operand& b) -> Array {
    const std::vector<Array> xs = PromoteFloat({a, b}, call);
    return Convert(
        f(Located(Widened(xs[0], call), call.loc), Located(Widened(xs[1], call), call.loc)),
        TypeOf(xs[0])->dtype(), call);
  });
}

}  // namespace tessera::api
