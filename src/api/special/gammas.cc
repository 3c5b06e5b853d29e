// Gamma and beta functions, counts of choices, and Bernoulli numbers.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "api/special/real.h"
#include "base/at.h"
#include "base/dtype.h"
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

// Returns the gamma function in f64 within a few units: by recurrence to z >= 10, and there by
// Stirling's formula. The digits that the sums 1 - x and x + k lose
// count by the derivative.
Located GammaValue(const Located& x) {
  const auto power = [](const Located& a, const Located& b) {
    return a.With(pow(a, b, {}, a.loc()));
  };
  const Located is_low = x < 0.5, r = If(is_low, 1.0 - x, x);
  const Located lost = If(is_low, (1.0 - r) - x, 0.0);
  const Located gap = 10.0 - r, steps = If(r < 10, -Floor(-gap), 0.0);
  const Located z = If(x > 180, 10.0, r + steps), left = r - (z - steps);
  Located product = If(steps > 0, r, 1.0);
  for (int k = 1; k < 10; ++k) product = If(steps > k, product * (r + k), product);
  const Located inverse = 1 / z, half = power(z, 0.5 * z - 0.25);
  // B_2k / (2k (2k - 1))
  constexpr std::array<double, 9> kTerms = {43867. / 244188, -3617. / 122400, 1. / 156,
                                            -691. / 360360,  1. / 1188,       -1. / 1680,
                                            1. / 1260,       -1. / 360,       1. / 12};
  const Located series = Exp(Polynomial(kTerms, Square(inverse)) * inverse);
  const Located scale = std::sqrt(2 * std::numbers::pi) * series / product;
  const Located turn = 1.0 + (left * (Log(z) - 0.5 * inverse) + lost * Digamma(r));
  const Located rest = half * Exp(-z) * scale * turn;
  const Located nearest = x.With(round(x, {}, x.loc())), part = x - nearest;
  const Located is_odd = x.With(remainder(nearest, Operand(2, x.loc()), {}, x.loc())) != 0;
  const Located sine = Sin(std::numbers::pi * part) * If(is_odd, -1.0, 1.0);
  const Located y = If(is_low, std::numbers::pi / (sine * rest) / half, rest * half);
  const Located ends = If(x > 180, std::numeric_limits<double>::infinity(), y);
  return If((x < 0) & (x == Floor(x)), kNotANumber, If(x < -200, 0.0 * sine, ends));
}
Located Gamma(const Located& x) {
  return WithSlope(x, GammaValue,
                   [](const Located& u, const Located& y) { return y * Digamma(u); });
}

// Returns gamma(x + y). The digits that the sum loses count by the derivative.
Located GammaOfSum(const Located& x, const Located& y) {
  const Located sum = x + y, of_y = sum - x;
  constexpr double kLargest = std::numeric_limits<double>::infinity();
  const Located is_finite = (sum < kLargest) & (sum > -kLargest);
  const Located lost = If(is_finite, (x - (sum - of_y)) + (y - of_y), 0.0), loses = lost != 0;
  const Located turn = lost * Digamma(If(loses, sum, 1.0));
  return GammaValue(sum) * If(loses, 1 + turn, 1.0);
}

// Returns log(gamma(b) / gamma(a + b)) for b of 8 or more, by the series of the logarithms'
// difference (algdiv of CDFLIB). JAX takes c for x, which costs half of its digits.
Located LogRatio(const Located& a, const Located& b) {
  const Located h = a / b, c = h / (1 + h), d = b + (a - 0.5), x = 1 / (1 + h), x2 = x * x;
  const Located s3 = 1.0 + (x + x2), s5 = 1.0 + (x + x2 * s3), s7 = 1.0 + (x + x2 * s5),
                s9 = 1.0 + (x + x2 * s7), s11 = 1.0 + (x + x2 * s9);
  const Located t = Square(1.0 / b);
  Located w = (-0.165322962780713e-02 * s11 * t + 0.837308034031215e-03 * s9) * t;
  w = (w + -0.595202931351870e-03 * s7) * t + 0.793650666825390e-03 * s5;
  w = (w * t + -0.277777777760991e-02 * s3) * t + 0.833333333333333e-01;
  w = w * (c / b);
  const Located u = d * Log1p(a / b), v = a * (Log(b) - 1);
  return If(u <= v, (w - v) - u, (w - u) - v);
}

Located IsWhole(const Located& x) { return x == Floor(x); }
// Whether gamma(x) is infinite.
Located IsPole(const Located& x) { return (x <= 0) & IsWhole(x); }

// For a = -n, where gamma is infinite, and b = 1, ..., n, where gamma(a + b) is infinite too, |B(a,
// b)| is B(1 - a - b, b).
Located OtherOf(const Located& a, const Located& b) {
  const Located is_finite = IsWhole(a) & IsWhole(b) & (a <= 0) & (b > 0) & (a + b <= 0);
  return If(is_finite, (1.0 - a) - b, a);
}

Located LogBetaValue(const Located& x, const Located& y) {
  const Located u = OtherOf(x, y), v = OtherOf(y, x);
  const Located a = x.With(minimum(u, v, {}, x.loc())), b = x.With(maximum(u, v, {}, x.loc()));
  constexpr double kLargest = std::numeric_limits<double>::infinity();
  const Located is_small = (b < 8) | (a + b < 8), is_pole = IsPole(a);
  const Located small = Lgamma(a) + (Lgamma(b) - Lgamma(If(is_pole, 1.0, a + b)));
  const Located large = Lgamma(a) + LogRatio(a, If(is_small, 8.0, b));
  const Located at_end = If(a > 0, -kLargest, kLargest);
  return If(b == kLargest, at_end, If(is_small | is_pole, small, large));
}
std::vector<Located> SlopesOfLogBeta(const std::vector<Located>& xs, const Located&) {
  const Located both = Digamma(xs[0] + xs[1]);
  return {Digamma(xs[0]) - both, Digamma(xs[1]) - both};
}
Located LogBeta(const Located& x, const Located& y) {
  return WithSlopes(
      {x, y}, [](const std::vector<Located>& xs) { return LogBetaValue(xs[0], xs[1]); },
      SlopesOfLogBeta);
}

// Quotients of gamma functions while they are finite, else exponentials.
Located BetaValue(const Located& given_x, const Located& given_y) {
  const Located x = OtherOf(given_x, given_y), y = OtherOf(given_y, given_x);
  const Located is_small = (Abs(x) < 170) & (Abs(y) < 170) & (Abs(x + y) < 170);
  const Located u = If(is_small, x, 1.0), v = If(is_small, y, 1.0);
  const Located p = If(is_small, 1.0, x), q = If(is_small, 1.0, y);
  const Located is_other = (x != given_x) | (y != given_y);
  const Located whole = If(x != given_x, given_y, given_x);  // the positive one
  const Located odd = x.With(remainder(whole, Operand(2, x.loc()), {}, x.loc())) != 0;
  const Located sign = If(is_other, If(odd, -1.0, 1.0),
                          GammaSign(given_x) * GammaSign(given_y) * GammaSign(given_x + given_y));
  const Located quotient = GammaValue(u) / GammaOfSum(u, v) * GammaValue(v);
  const Located made =
      If(is_small, If(is_other, sign, 1.0) * quotient, sign * Exp(LogBetaValue(p, q)));
  return If(IsPole(x + y) & !IsPole(x) & !IsPole(y), 0.0, made);
}

// Returns gamma(z + m) / gamma(z) of large z and z + m: z^m, and the rest of Stirling's formulas.
Located LargePoch(const Located& z, const Located& m) {
  constexpr std::array<double, 6> kTerms = {-691. / 360360, 1. / 1188, -1. / 1680,
                                            1. / 1260,      -1. / 360, 1. / 12};
  const auto rest = [&](const Located& v) {
    return Polynomial(kTerms, Square(1.0 / v)) * (1.0 / v);
  };
  const Located sum = z + m, power = z.With(pow(z, m, {}, z.loc()));
  return power * Exp((sum - 0.5) * Log1p(m / z) - m + (rest(sum) - rest(z)));
}

// For z <= 0 and whole m, the factors z, z + 1, ..., z + m - 1 are those of 1 - z - m, with their
// signs.
Located PochValue(const Located& z, const Located& m) {
  const Located is_low = (z <= 0) & IsWhole(m) & ((1.0 - z) - m > 0);
  const Located odd = m.With(remainder(m, Operand(2, m.loc()), {}, m.loc())) != 0;
  const Located a = If(is_low, (1.0 - z) - m, z), sign = If(is_low & odd, -1.0, 1.0);
  const Located fits = (Abs(a) < 170) & (Abs(a + m) < 170);
  const Located is_large = (!fits) & (a >= 15) & (a + m >= 15) & (a + m < 1e300);
  const Located u = If(is_large, 1.0, a), v = If(is_large, 1.0, m);
  const Located large = LargePoch(If(is_large, a, 15.0), If(is_large, m, 1.0));
  const Located value = sign * If(is_large, large, GammaOfSum(u, v) / GammaValue(u));
  const Located is_zero = IsPole(z) & !IsPole(z + m), is_infinite = IsPole(z + m) & !IsPole(z);
  constexpr double kLargest = std::numeric_limits<double>::infinity();
  return If(m == 0, 1.0, If(is_zero, 0.0, If(is_infinite, kLargest, value)));
}

// Whether k of n can be chosen.
Located IsChoice(const Located& n, const Located& k) { return (k <= n) & (n >= 0) & (k >= 0); }

Located CombValue(const Located& n, const Located& k) {
  const Located is_there = IsChoice(n, k), is_small = n < 169;
  const Located a = If(is_there, n, 0.0), b = If(is_there, k, 0.0);
  const Located c = If(is_small, a, 0.0), d = If(is_small, b, 0.0);
  const Located quotient = GammaValue(c + 1) / GammaValue(d + 1) / GammaValue(c + 1 - d);
  const Located power = Exp(Lgamma(a + 1) - Lgamma(b + 1) - Lgamma(a + 1 - b));
  return If(is_there, If(is_small, quotient, power), 0.0);
}

}  // namespace

Array gamma(Operand x, Loc loc) {
  return WideFormula({"gamma", loc}, {x},
                     [](const std::vector<Located>& xs) { return Gamma(xs[0]); });
}
Array gammasgn(Operand x, Loc loc) { return RealFormula({"gammasgn", loc}, x, GammaSign); }
Array loggamma(Operand x, Loc loc) {
  return RealFormula({"loggamma", loc}, x,
                     [](const Located& a) { return If(a > 0, Lgamma(a), kNotANumber); });
}
Array betaln(Operand a, Operand b, Loc loc) {
  return WideFormula({"betaln", loc}, {{"a", a}, {"b", b}},
                     [](const std::vector<Located>& xs) { return LogBeta(xs[0], xs[1]); });
}
Array beta(Operand a, Operand b, Loc loc) {
  return WideFormula({"beta", loc}, {{"a", a}, {"b", b}}, [](const std::vector<Located>& given) {
    return WithSlopes(
        given, [](const std::vector<Located>& xs) { return BetaValue(xs[0], xs[1]); },
        [](const std::vector<Located>& xs, const Located& y) {
          std::vector<Located> slopes = SlopesOfLogBeta(xs, y);
          for (Located& slope : slopes) slope = y * slope;
          return slopes;
        });
  });
}
Array factorial(Operand n, Loc loc) {
  return WideFormula({"factorial", loc}, {n}, [](const std::vector<Located>& xs) {
    const Located is_low = xs[0] < 0;
    return If(is_low, 0.0, Gamma(If(is_low, 1.0, xs[0] + 1)));
  });
}
Array comb(Operand n, Operand k, Loc loc) {
  return WideFormula({"comb", loc}, {{"n", n}, {"k", k}}, [](const std::vector<Located>& given) {
    return WithSlopes(
        given, [](const std::vector<Located>& xs) { return CombValue(xs[0], xs[1]); },
        [](const std::vector<Located>& xs, const Located& y) {
          const Located is_there = IsChoice(xs[0], xs[1]);
          const Located all = If(is_there, xs[0], 0.0), some = If(is_there, xs[1], 0.0);
          const Located rest = Digamma(all - some + 1);
          return std::vector<Located>{y * (Digamma(all + 1) - rest),
                                      y * (rest - Digamma(some + 1))};
        });
  });
}

// For even k from 10 on: 2 k! / (2 pi)^k times the sum of j^-k, with alternating signs.
Array bernoulli(int64_t n, Loc loc) {
  const Call call{"bernoulli", loc};
  if (n < 0) FailShape(call, 17, fmt::format("there is no Bernoulli number B_{}", n));
  CheckShape({n + 1}, call);
  std::vector<double> numbers = {1, -0.5, 1.0 / 6, 0, -1.0 / 30, 0, 1.0 / 42, 0, -1.0 / 30};
  numbers.resize(static_cast<size_t>(n) + 1, 0.0);
  long double size = 2;
  for (int64_t k = 1; k <= n; ++k) {
    const auto wide = static_cast<long double>(k);
    size *= wide / (2 * std::numbers::pi_v<long double>);
    if (k < 10 || k % 2 != 0) continue;
    long double sum = 1;
    for (int j = 2; j < 1000; ++j) sum += std::pow(static_cast<long double>(j), -wide);
    base::At(numbers, k) = static_cast<double>(k % 4 == 0 ? -size * sum : size * sum);
  }
  return astype(array(numbers, {.dtype = f64}, loc), base::DefaultFloat(), loc);
}

Array poch(Operand z, Operand m, Loc loc) {
  return WideFormula({"poch", loc}, {{"z", z}, {"m", m}}, [](const std::vector<Located>& given) {
    return WithSlopes(
        given, [](const std::vector<Located>& xs) { return PochValue(xs[0], xs[1]); },
        [](const std::vector<Located>& xs, const Located& y) {
          const Located slope = Digamma(xs[0] + xs[1]);
          return std::vector<Located>{(slope - Digamma(xs[0])) * y, slope * y};
        });
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
