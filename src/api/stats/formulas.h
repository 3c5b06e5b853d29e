// Parts that compose the densities of distributions.
#pragma once
#include <limits>
#include <numbers>
#include <vector>

#include "api/special/real.h"
#include "tessera/nn.h"
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
inline Located LogOneMinusExp(const Located& x) { return x.With(tessera::log1mexp(x, x.loc())); }

// Returns f(x) on the support of a distribution, and `outside` elsewhere. f takes the number
// `inside` for x elsewhere, so that its slopes are finite; at an end of the support f has the
// derivative. A NaN stays: comparisons that find x outside are false for it, and f has the NaN of
// parameters.
template <class F>
Located OnSupport(const Located& x, const Located& is_outside, double inside, double outside,
                  const F& f) {
  const Located made = f(If(is_outside, inside, x));
  return If(is_outside & (made == made), outside, made);
}
// As OnSupport, of the support from `low` on.
template <class F>
Located From(double low, const Located& x, double below, const F& f) {
  return OnSupport(x, x < low, low + 1, below, f);
}
// Returns the logarithm of the density f(x) on the support from `low` on; at infinity it is -inf.
template <class F>
Located LogDensityFrom(double low, const Located& x, const F& f) {
  return OnSupport(x, (x < low) | (x == kInf), low + 1, -kInf, f);
}
// As OnSupport, of the support from 0 to 1.
template <class F>
Located FromZeroToOne(const Located& x, double below, double above, const F& f) {
  const auto to_one = [&](const Located& v) { return OnSupport(v, v > 1, 0.5, above, f); };
  return OnSupport(x, x < 0, 0.5, below, to_one);
}

// Distributions that can be shifted and stretched have the location and the scale last.
inline const Located& Scale(const Xs& v) { return v.back(); }
inline Located Scaled(const Xs& v) { return (v[0] - v[v.size() - 2]) / v.back(); }
// Returns the number that is z if it is scaled.
inline Located Placed(const Xs& v, const Located& z) { return v[v.size() - 2] + v.back() * z; }

}  // namespace tessera::stats::formulas
