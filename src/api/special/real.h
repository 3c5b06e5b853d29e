// Formulas of real numbers that narrow floats compute in f32, and some in f64.
#pragma once
#include <type_traits>
#include <vector>

#include "api/core/slopes.h"

namespace tessera::api {

inline Array Widened(const Array& x, Call call) {
  CheckReal(x, call);
  return ToWide(x, call);
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

// Returns f(xs) of the operands, which promote and broadcast, in f64: for functions whose terms
// cancel, or are rounded many times. f may take the dtype of the result too.
template <class F>
Array WideFormula(Call call, const Arguments& arguments, const F& f) {
  return AsOne(call, arguments, [&](const Operands& operands) -> Array {
    const std::vector<Array> given = PromoteFloat(operands, call);
    std::vector<Located> xs;
    for (const Array& x : given) {
      CheckReal(x, call);
      xs.emplace_back(Convert(x, f64, call), call.loc);
    }
    // Adding zeros broadcasts, and joins the shardings.
    Located all = xs[0];
    for (size_t i = 1; i < xs.size(); ++i) all = all + xs[i];
    const Located zero(tessera::zeros_like(all, {}, call.loc), call.loc);
    if (xs.size() > 1)
      for (Located& x : xs) x = x + zero;
    const DType dtype = TypeOf(given[0])->dtype();
    if constexpr (std::is_invocable_v<F, std::vector<Located>, DType>)
      return Convert(f(xs, dtype), dtype, call);
    else
      return Convert(f(xs), dtype, call);
  });
}

}  // namespace tessera::api
