// Gamma and beta functions, and counts of choices.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "api/special/real.h"
#include "tessera/custom_rules.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// At 0 and at -0 the sign is their own.
Located GammaSign(const Located& x) {
  const Located whole = Floor(x);
  const Located is_odd = x.With(remainder(whole, Operand(2, x.loc()), {}, x.loc())) != 0;
  const Located is_minus_zero = (x == 0) & (1.0 / x < 0);
  const Located is_minus = ((x < 0) & is_odd) | is_minus_zero;
  const Located sign = If(is_minus, x.With(full_like(x, Operand(-1, x.loc()), {}, x.loc())), 1);
  return If(((x < 0) & (x == whole)) | IsNan(x), kNotANumber, sign);
}
Located Gamma(const Located& x) { return GammaSign(x) * Exp(Lgamma(x)); }

// Returns log(gamma(b) / gamma(a + b)) for b of 8 or more, by the series of the logarithms'
// difference (algdiv of CDFLIB, as SciPy and JAX).
Located LogRatio(const Located& a, const Located& b) {
  const Located h = a / b, c = h / (1 + h), d = b + (a - 0.5), c2 = c * c;
  const Located s3 = 1.0 + (c + c2), s5 = 1.0 + (c + c2 * s3), s7 = 1.0 + (c + c2 * s5),
                s9 = 1.0 + (c + c2 * s7), s11 = 1.0 + (c + c2 * s9);
  const Located t = Square(1.0 / b);
  Located w = (-0.165322962780713e-02 * s11 * t + 0.837308034031215e-03 * s9) * t;
  w = (w + -0.595202931351870e-03 * s7) * t + 0.793650666825390e-03 * s5;
  w = (w * t + -0.277777777760991e-02 * s3) * t + 0.833333333333333e-01;
  w = w * (c / b);
  const Located u = d * Log1p(a / b), v = a * (Log(b) - 1);
  return If(u <= v, (w - v) - u, (w - u) - v);
}

Located LogBeta(const Located& x, const Located& y) {
  const Located a = x.With(minimum(x, y, {}, x.loc())), b = x.With(maximum(x, y, {}, x.loc()));
  const Located small = Lgamma(a) + (Lgamma(b) - Lgamma(a + b));
  return If(b < 8, small, Lgamma(a) + LogRatio(a, If(b < 8, 8.0, b)));
}

}  // namespace

Array gamma(Operand x, Loc loc) { return RealFormula({"gamma", loc}, x, Gamma); }
Array gammasgn(Operand x, Loc loc) { return RealFormula({"gammasgn", loc}, x, GammaSign); }
Array loggamma(Operand x, Loc loc) {
  return RealFormula({"loggamma", loc}, x,
                     [](const Located& a) { return If(a > 0, Lgamma(a), kNotANumber); });
}
Array betaln(Operand a, Operand b, Loc loc) {
  return RealFormula({"betaln", loc}, {"a", a}, {"b", b}, LogBeta);
}
Array beta(Operand a, Operand b, Loc loc) {
  return RealFormula({"beta", loc}, {"a", a}, {"b", b}, [](const Located& x, const Located& y) {
    return GammaSign(x) * GammaSign(y) * GammaSign(x + y) * Exp(LogBeta(x, y));
  });
}
Array factorial(Operand n, Loc loc) {
  return RealFormula({"factorial", loc}, n,
                     [](const Located& a) { return If(a < 0, 0.0, Exp(Lgamma(a + 1))); });
}
Array comb(Operand n, Operand k, Loc loc) {
  return RealFormula(
      {"comb", loc}, {"n", n}, {"k", k}, [](const Located& all, const Located& some) {
        const Located is_there = (some <= all) & (all >= 0) & (some >= 0);
        const Located a = If(is_there, all, 0.0), b = If(is_there, some, 0.0);
        return If(is_there, Exp(Lgamma(a + 1) - Lgamma(b + 1) - Lgamma(a + 1 - b)), 0.0);
      });
}

Array poch(Operand z, Operand m, Loc loc) {
  const auto f = [loc](Array x, Array y) -> Array {
    const Located a(x, loc), b(y, loc);
    return If(b == 0, 1.0, Gamma(a + b) / Gamma(a));
  };
  using Pair = std::tuple<Array, Array>;
  const auto rule = [=](const Pair& primals, const Pair& tangents) {
    const Located a(std::get<0>(primals), loc), b(std::get<1>(primals), loc);
    const Located da(std::get<0>(tangents), loc), db(std::get<1>(tangents), loc);
    const Located y(f(a, b), loc), slope = Digamma(a + b);
    return std::pair<Array, Array>(y, (slope - Digamma(a)) * y * da + slope * y * db);
  };
  return RealFormula({"poch", loc}, {"z", z}, {"m", m}, [&](const Located& a, const Located& b) {
    return a.With(custom_jvp(f, rule, loc)(a.plain(), b.plain(), loc));
  });
}

Array multigammaln(Operand a, int64_t d, Loc loc) {
  const Call call{"multigammaln", loc};
  if (d < 0) FailShape(call, 17, fmt::format("there are no {} dimensions", d));
  return AsOne(call, {{"operand", a}, d}, [&](const Operand& operand) -> Array {
    const Array x = ToFloat(operand, call);
    const Located v(Widened(x, call), loc);
    const auto n = static_cast<double>(d);
    Located total(zeros_like(v, {}, loc), loc);
    for (int64_t j = 0; j < d; ++j) total = total + Lgamma(v - static_cast<double>(j) / 2);
    return Convert(total + 0.25 * n * (n - 1) * std::log(std::numbers::pi), TypeOf(x)->dtype(),
                   call);
  });
}

}  // namespace tessera
