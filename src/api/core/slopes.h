// Functions with their slopes, and quotients that are 0 / 0 at 0. Formulas alone have no right
// derivatives where their terms cancel, or are infinite.
#pragma once
#include <array>
#include <span>
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

// Returns f(xs) with its slope in each operand: slopes(xs, y) of the operands and the result. The
// value in the rule has a rule too, so that second derivatives are those of the slopes and not of
// f; derivatives of more orders than kOrders are those of f. The result has the layout of
// `options`.
template <class F, class G>
Located WithSlopes(const std::vector<Located>& xs, const F& f, const G& slopes,
                   const OutOptions& options = {}, int order = 1) {
  constexpr int kOrders = 3;
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
    const Located y =
        order < kOrders ? WithSlopes(values, f, slopes, options, order + 1) : Located(f(values));
    const std::vector<Located> slope = slopes(values, y);
    const auto term = [&](size_t i) {
      return values[0].With(tessera::mul(slope[i], changes[i], options, loc));
    };
    Located change = term(0);
    for (size_t i = 1; i < values.size(); ++i) change = change + term(i);
    return std::pair<Array, Array>(y, change);
  };
  Arrays values;
  for (const Located& x : xs) values.push_back(x.plain());
  return xs[0].With(custom_jvp(function, rule, loc)(values, loc));
}
// As WithSlopes, of one operand: f(x) and slope(x, y).
template <class F, class G>
Located WithSlope(const Located& x, const F& f, const G& slope) {
  return WithSlopes(
      {x}, [=](const std::vector<Located>& xs) { return f(xs[0]); },
      [=](const std::vector<Located>& xs, const Located& y) {
        return std::vector<Located>{slope(xs[0], y)};
      });
}

// ---- quotients whose numerator and denominator are 0 together ----

// Returns f(x) for |x| < limit by its Taylor series, the highest power first, whose derivatives are
// right at 0, and elsewhere by `far`, of x where it is used and of 1 where it is not.
template <class F>
Located NearZero(const Located& x, double limit, std::span<const double> series, const F& far) {
  const Located is_near = Abs(x) < limit;
  return If(is_near, Polynomial(series, If(is_near, x, 0.0)), far(If(is_near, 1.0, x)));
}

// Returns sin(x) / x.
inline Located SineQuotient(const Located& x) {
  std::array<double, 10> series{};  // of x^2
  double term = 1;
  for (size_t k = 0; k < series.size(); ++k) {
    series[series.size() - 1 - k] = term;
    const auto n = static_cast<double>(2 * k + 2);
    term /= -n * (n + 1);
  }
  const Located is_near = Abs(x) < 1;
  const Located far = If(is_near, 1.0, x);
  return If(is_near, Polynomial(series, Square(If(is_near, x, 0.0))), Sin(far) / far);
}
// Returns expm1(x) / x.
inline Located Expm1Quotient(const Located& x) {
  std::array<double, 18> series{};
  double term = 1;
  for (size_t k = 0; k < series.size(); ++k) {
    series[series.size() - 1 - k] = term;
    term /= static_cast<double>(k + 2);
  }
  return NearZero(x, 1, series, [](const Located& v) { return Expm1(v) / v; });
}
// Returns log1p(x) / x.
inline Located Log1pQuotient(const Located& x) {
  std::array<double, 28> series{};
  for (size_t k = 0; k < series.size(); ++k) {
    const double term = 1.0 / static_cast<double>(k + 1);
    series[series.size() - 1 - k] = k % 2 == 0 ? term : -term;
  }
  return NearZero(x, 0.25, series, [](const Located& v) { return Log1p(v) / v; });
}

}  // namespace tessera::api
