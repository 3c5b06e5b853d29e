// Formulas of real numbers that narrow floats compute in f32, and some in f64.
#pragma once
#include <span>
#include <type_traits>
#include <vector>

#include "api/core/located.h"
#include "tessera/custom_rules.h"

namespace tessera::api {

// Returns the polynomial of these coefficients, the highest power first.
inline Located Polynomial(std::span<const double> coefficients, const Located& x) {
  Located y = x.With(WeakScalar(coefficients[0], x.dtype(), {"polynomial", x.loc()}));
  for (double c : coefficients.subspan(1)) y = y * x + c;
  return y;
}

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

// Returns f of the operands, with its slope in each of them: slopes(xs, y) of the operands and the
// result.
template <class F, class G>
Located WithSlopes(const std::vector<Located>& xs, const F& f, const G& slopes) {
  const Loc loc = xs[0].loc();
  using Arrays = std::vector<Array>;
  const auto located = [loc](const Arrays& values) {
    std::vector<Located> made;
    for (const Array& v : values) made.emplace_back(v, loc);
    return made;
  };
  const auto function = [=](Arrays values) -> Array { return f(located(values)); };
  const auto rule = [=](const std::tuple<Arrays>& primals, const std::tuple<Arrays>& tangents) {
    const std::vector<Located> values = located(std::get<0>(primals)),
                               changes = located(std::get<0>(tangents));
    const Located y = f(values);
    const std::vector<Located> slope = slopes(values, y);
    Located change = slope[0] * changes[0];
    for (size_t i = 1; i < values.size(); ++i) change = change + slope[i] * changes[i];
    return std::pair<Array, Array>(y, change);
  };
  Arrays values;
  for (const Located& x : xs) values.push_back(x.plain());
  return xs[0].With(custom_jvp(function, rule, loc)(values, loc));
}

}  // namespace tessera::api
