// Parts that compose the densities of distributions.
#pragma once
#include <limits>
#include <numbers>
#include <vector>

#include "api/special/real.h"
#include "tessera/special.h"

namespace tessera::stats::formulas {

using namespace api;

using Xs =
    std::vector<Located>;  // the operands of a function: x, the parameters, location and scale

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Returns f of the operands, which promote to one floating dtype and broadcast.
template <class F>
Array Of(const char* name, std::vector<Operand> operands, Loc loc, const F& f) {
  const Call call{name, loc};
  Arguments arguments;
  for (const Operand& x : operands) arguments.emplace_back(x);
  return AsOne(call, arguments, [&](const Operands& given) -> Array {
    const std::vector<Array> promoted = PromoteFloat(given, call);
    Xs xs;
    for (const Array& x : promoted) xs.emplace_back(Widened(x, call), loc);
    return Convert(f(xs), TypeOf(promoted[0])->dtype(), call);
  });
}

inline Located Xlogy(const Located& x, const Located& y) {
  return x.With(tessera::xlogy(x, y, x.loc()));
}
inline Located Xlog1py(const Located& x, const Located& y) {
  return x.With(tessera::xlog1py(x, y, x.loc()));
}
inline Located Betaln(const Located& a, const Located& b) {
  return a.With(tessera::betaln(a, b, a.loc()));
}
inline Located Igamma(const Located& a, const Located& x) {
  return x.With(tessera::igamma(a, x, {}, x.loc()));
}
inline Located Igammac(const Located& a, const Located& x) {
  return x.With(tessera::igammac(a, x, {}, x.loc()));
}
inline Located Betainc(const Located& a, const Located& b, const Located& x) {
  return x.With(tessera::betainc(a, b, x, {}, x.loc()));
}
inline Located Ndtr(const Located& x) { return x.With(tessera::ndtr(x, x.loc())); }
inline Located LogNdtr(const Located& x) { return x.With(tessera::log_ndtr(x, x.loc())); }
inline Located Ndtri(const Located& p) { return p.With(tessera::ndtri(p, p.loc())); }
inline Located Logit(const Located& p) { return p.With(tessera::logit(p, p.loc())); }
inline Located Expit(const Located& x) { return x.With(tessera::expit(x, x.loc())); }
inline Located Pow(const Located& x, const Located& y) {
  return x.With(tessera::pow(x, y, {}, x.loc()));
}
inline Located Maximum(const Located& x, double y) {
  return x.With(tessera::maximum(x, Operand(y, x.loc()), {}, x.loc()));
}
inline Located Between(const Located& x, double low, double high) {
  return x.With(tessera::clip(x, Operand(low, x.loc()), Operand(high, x.loc()), x.loc()));
}

// Returns log(1 - e^-x) for x >= 0, accurate on both sides of log 2.
inline Located LogOneMinusExp(const Located& x) {
  const Located is_small = x < std::numbers::ln2;
  return If(is_small, Log(-Expm1(-If(is_small, x, 1.0))), Log1p(-Exp(-If(is_small, 1.0, x))));
}

// Distributions that can be shifted and stretched have the location and the scale last.
inline const Located& Scale(const Xs& v) { return v.back(); }
inline Located Scaled(const Xs& v) { return (v[0] - v[v.size() - 2]) / v.back(); }
// Returns the number that is z if it is scaled.
inline Located Placed(const Xs& v, const Located& z) { return v[v.size() - 2] + v.back() * z; }

}  // namespace tessera::stats::formulas
