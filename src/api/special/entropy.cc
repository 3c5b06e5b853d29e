// Logarithms times their weights, entropies, and logits.
#include <array>
#include <limits>
#include <vector>

#include "api/special/real.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Returns x log(y), or x log(1 + y).
Located WeightedLog(const Located& x, const Located& y, bool plus_one) {
  const auto log_of = [plus_one](const Located& v) { return plus_one ? Log1p(v) : Log(v); };
  return WithSlopes(
      {x, y},
      [=](const std::vector<Located>& xs) {
        return If((xs[0] != 0) | IsNan(xs[1]), xs[0] * log_of(xs[1]), 0.0);
      },
      [=](const std::vector<Located>& xs, const Located&) {
        const Located divisor = plus_one ? 1 + xs[1] : xs[1];
        const Located is_zero = (xs[0] == 0) & (divisor == 0);
        const Located by_y = If(is_zero, 0.0, xs[0] / If(is_zero, 1.0, divisor));
        return std::vector<Located>{log_of(xs[1]), by_y};
      });
}

Located XLogX(const Located& x) {
  return WithSlope(
      x, [](const Located& u) { return If(u != 0, u * Log(u), 0.0); },
      [](const Located& u, const Located&) { return Log(u) + 1; });
}

// Where p and q are positive: the quotient minus 1, and whether it is so small that the logarithm
// of the quotient would lose digits.
struct Nearness {
  Located t, is_near;
};
Nearness NearnessOf(const Located& p, const Located& q) {
  const Located is_near = (p <= 2 * q) & (q <= 2 * p);
  return {If(is_near, p - q, 0.0) / q, is_near};
}

// Returns log(p / q). A quotient that overflows, or has few digits, is not taken.
Located LogQuotient(const Located& p, const Located& q) {
  const auto [t, is_near] = NearnessOf(p, q);
  const Located quotient = p / q, is_usual = (quotient > 1e-300) & (quotient < 1e300);
  return If(is_near, Log1p(t), If(is_usual, Log(If(is_usual, quotient, 1.0)), Log(p) - Log(q)));
}

// Returns (1 + t) log(1 + t) - t for -1/2 <= t <= 1. With s = t / (2 + t) the logarithm is
// 2 s + 2 s (s^2 / 3 + s^4 / 5 + ...), and 2 s - t is -s t: nothing cancels.
Located LogMinusLine(const Located& t) {
  const Located s = t / (2 + t), z = Square(s);
  std::array<double, 18> terms{};
  for (size_t k = 0; k + 1 < terms.size(); ++k)
    terms[k] = 1.0 / static_cast<double>(2 * (terms.size() - k) - 1);
  return s * t + 2 * s * (1 + t) * Polynomial(terms, z);
}

// Returns f(p, q) where both are positive, linear * q for p = 0 and q >= 0, and infinity elsewhere.
// `slopes` are those where both are positive; elsewhere they are those of linear * (q - p), as in
// JAX.
template <class F, class G>
Located OfPositive(const std::vector<Located>& xs, const F& f, const G& slopes, double linear) {
  const auto value = [=](const std::vector<Located>& v) {
    const Located is_positive = (v[0] > 0) & (v[1] > 0), is_zero = (v[0] == 0) & (v[1] >= 0);
    const Located p = If(is_positive, v[0], 1.0), q = If(is_positive, v[1], 1.0);
    const Located at_zero = linear == 0 ? p * 0.0 : linear * v[1];
    const Located has_nan = IsNan(v[0]) | IsNan(v[1]);
    return If(is_positive, f(p, q), If(has_nan, v[0] + v[1], If(is_zero, at_zero, kInfinite)));
  };
  const auto slope = [=](const std::vector<Located>& v, const Located&) {
    const Located is_positive = (v[0] > 0) & (v[1] > 0);
    const Located p = If(is_positive, v[0], 1.0), q = If(is_positive, v[1], 1.0);
    const std::vector<Located> made = slopes(p, q);
    return std::vector<Located>{If(is_positive, made[0], -linear),
                                If(is_positive, made[1], linear)};
  };
  return WithSlopes(xs, value, slope);
}

Located RelativeEntropy(const std::vector<Located>& xs) {
  return OfPositive(
      xs, [](const Located& p, const Located& q) { return p * LogQuotient(p, q); },
      [](const Located& p, const Located& q) {
        return std::vector<Located>{LogQuotient(p, q) + 1, -p / q};
      },
      0);
}
Located Divergence(const std::vector<Located>& xs) {
  return OfPositive(
      xs,
      [](const Located& p, const Located& q) {
        const auto [t, is_near] = NearnessOf(p, q);
        return If(is_near, q * LogMinusLine(t), p * (LogQuotient(p, q) - 1) + q);
      },
      [](const Located& p, const Located& q) {
        return std::vector<Located>{LogQuotient(p, q), (q - p) / q};
      },
      1);
}

// The logarithm of a base, and its product with the power lambda where that is so near 0 that
// quotients are series.
struct Powered {
  Located log, is_near, near, far;
};
Powered PoweredOf(const Located& log, const Located& lambda) {
  const Located m = lambda * If(Abs(log) == kInfinite, 0.0, log);
  const Located is_near = (lambda == 0) | ((Abs(m) < 0.5) & (Abs(log) != kInfinite));
  return {log, is_near, If(is_near, m, 0.0), If(is_near, 1.0, lambda)};
}

// Returns (base^lambda - 1) / lambda.
Located BoxCoxValue(const Located& log, const Located& lambda) {
  const Powered x = PoweredOf(log, lambda);
  const Located far = Expm1(x.far * If(x.is_near, 0.0, log)) / x.far;
  return If(x.is_near, log * Expm1Quotient(x.near), far);
}
// Returns its derivative in lambda: the derivative of expm1(m) / m, times the square of the
// logarithm.
Located BoxCoxByPower(const Located& log, const Located& lambda, const Located& y) {
  std::array<double, 16> series{};
  double term = 0.5;
  for (size_t k = 0; k < series.size(); ++k) {
    series[series.size() - 1 - k] = term * static_cast<double>(k + 1);
    term /= static_cast<double>(k + 3);
  }
  const Powered x = PoweredOf(log, lambda);
  const Located finite = If(x.is_near | (log == -kInfinite), 0.0, log);
  const Located far = (finite * Exp(x.far * finite) - y) / x.far;
  return If(x.is_near, Square(log) * Polynomial(series, x.near), far);
}
Located BoxCox(const Located& x, const Located& lambda, bool plus_one) {
  const auto log_of = [plus_one](const Located& v) { return plus_one ? Log1p(v) : Log(v); };
  return WithSlopes(
      {x, lambda},
      [=](const std::vector<Located>& xs) { return BoxCoxValue(log_of(xs[0]), xs[1]); },
      [=](const std::vector<Located>& xs, const Located& y) {
        const Located base = plus_one ? 1 + xs[0] : xs[0];
        return std::vector<Located>{x.With(pow(base, xs[1] - 1, {}, x.loc())),
                                    BoxCoxByPower(log_of(xs[0]), xs[1], y)};
      });
}

}  // namespace

Array xlogy(Operand x, Operand y, Loc loc) {
  return RealFormula({"xlogy", loc}, {"x", x}, {"y", y},
                     [](const Located& a, const Located& b) { return WeightedLog(a, b, false); });
}
Array xlog1py(Operand x, Operand y, Loc loc) {
  return RealFormula({"xlog1py", loc}, {"x", x}, {"y", y},
                     [](const Located& a, const Located& b) { return WeightedLog(a, b, true); });
}
Array logit(Operand p, Loc loc) {
  return RealFormula({"logit", loc}, p, [](const Located& a) {
    return WithSlope(
        a, [](const Located& x) { return Log(x / (1 - x)); },
        [](const Located& x, const Located&) { return 1 / x + 1 / (1 - x); });
  });
}
Array expit(Operand x, Loc loc) {
  return RealFormula({"expit", loc}, x,
                     [loc](const Located& a) { return a.With(logistic(a, loc)); });
}
Array entr(Operand x, Loc loc) {
  return RealFormula({"entr", loc}, x,
                     [](const Located& a) { return If(a < 0, -kInfinite, -XLogX(a)); });
}
Array rel_entr(Operand p, Operand q, Loc loc) {
  return WideFormula({"rel_entr", loc}, {{"p", p}, {"q", q}}, RelativeEntropy);
}
Array kl_div(Operand p, Operand q, Loc loc) {
  return WideFormula({"kl_div", loc}, {{"p", p}, {"q", q}}, Divergence);
}
Array boxcox(Operand x, Operand lambda, Loc loc) {
  return RealFormula(
      {"boxcox", loc}, {"x", x}, {"lambda", lambda},
      [](const Located& a, const Located& power) { return BoxCox(a, power, false); });
}
Array boxcox1p(Operand x, Operand lambda, Loc loc) {
  return RealFormula({"boxcox1p", loc}, {"x", x}, {"lambda", lambda},
                     [](const Located& a, const Located& power) { return BoxCox(a, power, true); });
}

}  // namespace tessera
