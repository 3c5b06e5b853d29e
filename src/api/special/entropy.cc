// Logarithms times their weights, entropies, and logits. The rules of derivatives are those of JAX.
#include <limits>

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

// Both cases compute at 1 where they are not chosen, so that no derivative is NaN there.
Located RelativeEntropy(const Located& p, const Located& q) {
  const Located is_positive = (p > 0) & (q > 0), is_zero = (p == 0) & (q >= 0);
  const Located a = If(is_positive, p, 1.0), b = If(is_positive, q, 1.0);
  const Located value = XLogX(a) - WeightedLog(a, b, false);
  return If(is_positive, value, If(is_zero, a * 0.0, kInfinite));
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
  return WideFormula({"rel_entr", loc}, {{"p", p}, {"q", q}},
                     [](const std::vector<Located>& xs) { return RelativeEntropy(xs[0], xs[1]); });
}
Array kl_div(Operand p, Operand q, Loc loc) {
  return WideFormula({"kl_div", loc}, {{"p", p}, {"q", q}}, [](const std::vector<Located>& xs) {
    return RelativeEntropy(xs[0], xs[1]) - xs[0] + xs[1];
  });
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
