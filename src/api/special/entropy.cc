// Logarithms times their weights, entropies, and logits. The rules of derivatives are those of JAX.
#include <array>
#include <limits>
#include <vector>

#include "api/special/real.h"
#include "tessera/custom_rules.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
using Pair = std::tuple<Array, Array>;

// Returns x log(y), or x log(1 + y), with its derivative.
Located WeightedLog(const Located& x, const Located& y, bool plus_one) {
  const Loc loc = x.loc();
  const auto log_of = [plus_one](const Located& v) { return plus_one ? Log1p(v) : Log(v); };
  const auto f = [=](Array a, Array b) -> Array {
    const Located u(a, loc), v(b, loc);
    return If((u != 0) | IsNan(v), u * log_of(v), 0.0);
  };
  const auto rule = [=](const Pair& primals, const Pair& tangents) {
    const Located u(std::get<0>(primals), loc), v(std::get<1>(primals), loc);
    const Located du(std::get<0>(tangents), loc), dv(std::get<1>(tangents), loc);
    const Located divisor = plus_one ? 1 + v : v;
    return std::pair<Array, Array>(f(u, v), du * log_of(v) + dv * u / divisor);
  };
  return x.With(custom_jvp(f, rule, loc)(x.plain(), y.plain(), loc));
}

Located XLogX(const Located& x) {
  const Loc loc = x.loc();
  const auto f = [loc](Array a) -> Array {
    const Located u(a, loc);
    return If(u != 0, u * Log(u), 0.0);
  };
  const auto rule = [=](const std::tuple<Array>& primals, const std::tuple<Array>& tangents) {
    const Located u(std::get<0>(primals), loc), du(std::get<0>(tangents), loc);
    return std::pair<Array, Array>(f(u), du * (Log(u) + 1));
  };
  return x.With(custom_jvp(f, rule, loc)(x.plain(), loc));
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

// Returns f(p, q) where both are positive, else the value and the slopes of JAX. `slopes` are those
// where both are positive.
template <class F, class G>
Located OfPositive(const std::vector<Located>& xs, const F& f, const G& slopes, double linear) {
  const auto value = [=](const std::vector<Located>& v) {
    const Located is_positive = (v[0] > 0) & (v[1] > 0), is_zero = (v[0] == 0) & (v[1] >= 0);
    const Located p = If(is_positive, v[0], 1.0), q = If(is_positive, v[1], 1.0);
    Located other = If(is_zero, p * 0.0, kInfinite);
    if (linear != 0) other = other + linear * (v[1] - v[0]);
    return If(is_positive, f(p, q), other);
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
        return If(is_near, q * LogMinusLine(t), p * LogQuotient(p, q) - p + q);
      },
      [](const Located& p, const Located& q) {
        return std::vector<Located>{LogQuotient(p, q), (q - p) / q};
      },
      1);
}

Located BoxCox(const Located& log_x, const Located& lambda) {
  const Located is_log = lambda == 0;
  const Located power = If(is_log, 1.0, lambda);
  return If(is_log, log_x, Expm1(power * log_x) / power);
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
  const auto f = [loc](Array a) -> Array {
    const Located x(a, loc);
    return Log(x / (1 - x));
  };
  const auto rule = [=](const std::tuple<Array>& primals, const std::tuple<Array>& tangents) {
    const Located x(std::get<0>(primals), loc), dx(std::get<0>(tangents), loc);
    return std::pair<Array, Array>(f(x), dx / (x * (1 - x)));
  };
  return RealFormula({"logit", loc}, p, [&](const Located& a) {
    return a.With(custom_jvp(f, rule, loc)(a.plain(), loc));
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
  return RealFormula({"boxcox", loc}, {"x", x}, {"lambda", lambda},
                     [](const Located& a, const Located& power) { return BoxCox(Log(a), power); });
}
Array boxcox1p(Operand x, Operand lambda, Loc loc) {
  return RealFormula(
      {"boxcox1p", loc}, {"x", x}, {"lambda", lambda},
      [](const Located& a, const Located& power) { return BoxCox(Log1p(a), power); });
}

}  // namespace tessera
