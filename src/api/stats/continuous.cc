// Distributions of real numbers.
#include "api/stats/formulas.h"
#include "tessera/distributions.h"

namespace tessera::stats {

using namespace api;
using namespace formulas;

namespace {

constexpr double kLogRootOfTwoPi = 0.91893853320467274178;

// Returns a quantile for the probability v[0]; NaN outside of [0, 1].
Located OfProbability(const Xs& v, const Located& z) {
  return If((v[0] >= 0) & (v[0] <= 1), Placed(v, z), kNan);
}
// Returns y where the scale is positive, else NaN.
Located OfScale(const Xs& v, const Located& y) { return If(Scale(v) > 0, y, kNan); }

Located NormLogDensity(const Xs& v) {
  return -0.5 * Square(Scaled(v)) - Log(Scale(v)) - kLogRootOfTwoPi;
}
Located GammaLogDensity(const Xs& v) {
  const Located& a = v[1];
  return LogDensityFrom(0, Scaled(v), [&](const Located& x) {
    return Xlogy(a - 1, x) - x - Lgamma(a) - Log(Scale(v));
  });
}
Located GammaBelow(const Xs& v) {
  return From(0, Scaled(v), 0, [&](const Located& x) { return Igamma(v[1], x); });
}
Located GammaLogBelow(const Xs& v) {
  return From(0, Scaled(v), -kInf, [&](const Located& x) { return Log(Igamma(v[1], x)); });
}
Located GammaAbove(const Xs& v) {
  return From(0, Scaled(v), 1, [&](const Located& x) { return Igammac(v[1], x); });
}
Located GammaLogAbove(const Xs& v) {
  return From(0, Scaled(v), 0, [&](const Located& x) { return Log(Igammac(v[1], x)); });
}
// The chi-squared distribution is the gamma distribution of these operands.
Xs AsGamma(const Xs& v) { return {v[0], v[1] / 2, v[2], 2 * v[3]}; }
Located BetaLogDensity(const Xs& v) {
  const Located &a = v[1], &b = v[2];
  const Located made = FromZeroToOne(Scaled(v), -kInf, -kInf, [&](const Located& x) {
    return Xlogy(a - 1, x) + Xlog1py(b - 1, -x) - Betaln(a, b) - Log(Scale(v));
  });
  return If((a > 0) & (b > 0) & (Scale(v) > 0), made, kNan);
}
Located TLogDensity(const Xs& v) {
  const Located half = v[1] / 2, more = half + 0.5;
  const Located constant =
      Lgamma(half) - Lgamma(more) + Log(std::numbers::pi * v[1]) / 2 + Log(Scale(v));
  return -(constant + more * Log1p(Square(Scaled(v)) / v[1]));
}
Located ExponLogDensity(const Xs& v) {
  return From(0, Scaled(v), -kInf, [&](const Located& x) { return -x - Log(Scale(v)); });
}
// Returns f(h) of the logarithm -h of the probability above, and `outside` below the support.
template <class F>
Located OfExponTail(const Xs& v, double outside, const F& f) {
  return From(0, Scaled(v), outside, f);
}
template <class F>
Located OfParetoTail(const Xs& v, double outside, const F& f) {
  return From(1, Scaled(v), outside, [&](const Located& x) { return f(v[1] * Log(x)); });
}
Located TailBelow(const Located& h) { return -Expm1(-h); }
Located TailAbove(const Located& h) { return Exp(-h); }
Located TailLogAbove(const Located& h) { return -h; }
// Each side has a formula of its own numbers, which is smooth at 0.
Located LaplaceBelow(const Located& z) {
  const Located is_low = z <= 0;
  return If(is_low, 0.5 * Exp(If(is_low, z, 0.0)), 1 - 0.5 * Exp(-If(is_low, 0.0, z)));
}
Located LogisticLogDensity(const Xs& v) {
  const Located z = Abs(Scaled(v));
  return -z - 2 * Log1p(Exp(-z)) - Log(Scale(v));
}
Located UniformLogDensity(const Xs& v) {
  return FromZeroToOne(Scaled(v), -kInf, -kInf,
                       [&](const Located& x) { return 0.0 * x - Log(Scale(v)); });
}
Located CauchyLogDensity(const Xs& v) {
  return -Log(std::numbers::pi * Scale(v)) - Log1p(Square(Scaled(v)));
}
Located CauchyBelow(const Located& z) {
  // The angle of (-z, 1) does not cancel where z is far below 0.
  const Located one = z.With(ones_like(z, {}, z.loc()));
  return z.With(atan2(one, -z, {}, z.loc())) / std::numbers::pi;
}
// The tangent of pi (q - 1/2): far from 1/2 by the nearer end, whose distance is exact.
Located CauchyQuantile(const Located& q) {
  const auto tangent = [&](const Located& turns) {
    return q.With(tan(std::numbers::pi * turns, q.loc()));
  };
  const Located is_low = q<0.25, is_high = q> 0.75, is_far = is_low | is_high;
  const Located end = If(is_far, If(is_low, -q, 1 - q), 0.25);
  return If(is_far, 1 / tangent(end), tangent(If(is_far, 0.0, q - 0.5)));
}
Located ParetoLogDensity(const Xs& v) {
  return From(1, Scaled(v), -kInf,
              [&](const Located& x) { return Log(v[1]) - Log(Scale(v)) - (v[1] + 1) * Log(x); });
}
Located GennormLogDensity(const Xs& v) {
  return Log(0.5 * v[1]) - Lgamma(1 / v[1]) - Pow(Abs(v[0]), v[1]);
}
// At 0, where the power has no derivative, the line with the slope of the density.
Located GennormBelow(const Xs& v) {
  const Located &x = v[0], &shape = v[1], is_middle = x == 0, z = If(is_middle, 1.0, x);
  const Located half = 0.5 * Sign(z) * Igamma(1 / shape, Pow(Abs(z), shape));
  return 0.5 + If(is_middle, x * Exp(Log(0.5 * shape) - Lgamma(1 / shape)), half);
}
Located VonMisesLogDensity(const Xs& v) {
  const Located constant = Log(v[1].With(bessel_i0e(v[1], v[1].loc()))) + 2 * kLogRootOfTwoPi;
  return If(v[1] > 0, v[1] * (Cos(v[0]) - 1) - constant, kNan);
}
Located WrappedCauchyLogDensity(const Xs& v) {
  const Located &x = v[0], &c = v[1];
  const Located is_outside = (x < 0) | (x > 2 * std::numbers::pi);
  const Located made = OnSupport(x, is_outside, 1, -kInf, [&](const Located& angle) {
    return Log1p(-Square(c)) - 2 * kLogRootOfTwoPi - Log(1 + Square(c) - 2 * c * Cos(angle));
  });
  return If((c > 0) & (c < 1), made, kNan);
}

// Returns the logarithm of the probability of a normal number between a and b, from the tail in
// which both are small.
Located LogBetween(const Located& a, const Located& b) {
  const Located is_right = a > 0, low = If(is_right, -b, a), high = If(is_right, -a, b);
  const Located is_central = (a <= 0) & (b > 0);
  const Located upper = LogNdtr(If(is_central, -1.0, high)),
                lower = LogNdtr(If(is_central, -2.0, low));
  const Located gap = upper - lower, is_level = gap <= 0;
  const Located tail = If(is_level, -kInf, upper + LogOneMinusExp(If(is_level, 1.0, gap)));
  return If(is_central, Log1p(-Ndtr(a) - Ndtr(-b)), tail);
}
Located TruncatedLogDensity(const Xs& v) {
  const Located z = Scaled(v), &a = v[1], &b = v[2];
  const Located made = NormLogDensity(v) - LogBetween(a, b);
  return If(a < b, If((z < a) | (z > b), -kInf, made), kNan);
}
// Returns the logarithm of the probability of at most z between a and b. Near 1 it is computed from
// the probability above z.
Located TruncatedLogBelow(const Located& z, const Located& a, const Located& b) {
  const Located inside = If(a > 0, a, If(b < 0, b, 0.0));
  const Located is_outside = (z <= a) | (z >= b), x = If(is_outside, inside, z);
  const Located all = LogBetween(a, b), below = LogBetween(a, x) - all;
  const Located is_near = below > -0.1, above = LogBetween(x, b) - all;
  const Located log_share = If(is_near, Log1p(-Exp(If(is_near, above, -1.0))), below);
  const Located made = If(z >= b, 0.0, If(z <= a, -kInf, log_share));
  return If(a < b, made, kNan);
}

}  // namespace

namespace norm {
Array logpdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::norm::logpdf", {x, location, scale}, loc,
            [](const Xs& v) { return NormLogDensity(v); });
}
Array pdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::norm::pdf", {x, location, scale}, loc,
            [](const Xs& v) { return Exp(NormLogDensity(v)); });
}
Array cdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::norm::cdf", {x, location, scale}, loc,
            [](const Xs& v) { return Ndtr(Scaled(v)); });
}
Array logcdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::norm::logcdf", {x, location, scale}, loc,
            [](const Xs& v) { return LogNdtr(Scaled(v)); });
}
Array sf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::norm::sf", {x, location, scale}, loc,
            [](const Xs& v) { return Ndtr(-Scaled(v)); });
}
Array logsf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::norm::logsf", {x, location, scale}, loc,
            [](const Xs& v) { return LogNdtr(-Scaled(v)); });
}
Array ppf(Operand q, Operand location, Operand scale, Loc loc) {
  return Of("stats::norm::ppf", {q, location, scale}, loc,
            [](const Xs& v) { return Placed(v, Ndtri(v[0])); });
}
Array isf(Operand q, Operand location, Operand scale, Loc loc) {
  return Of("stats::norm::isf", {q, location, scale}, loc,
            [](const Xs& v) { return Placed(v, -Ndtri(v[0])); });
}
}  // namespace norm

namespace gamma {
Array logpdf(Operand x, Operand a, Operand location, Operand scale, Loc loc) {
  return Of("stats::gamma::logpdf", {x, a, location, scale}, loc,
            [](const Xs& v) { return GammaLogDensity(v); });
}
Array pdf(Operand x, Operand a, Operand location, Operand scale, Loc loc) {
  return Of("stats::gamma::pdf", {x, a, location, scale}, loc,
            [](const Xs& v) { return Exp(GammaLogDensity(v)); });
}
Array cdf(Operand x, Operand a, Operand location, Operand scale, Loc loc) {
  return Of("stats::gamma::cdf", {x, a, location, scale}, loc,
            [](const Xs& v) { return GammaBelow(v); });
}
Array logcdf(Operand x, Operand a, Operand location, Operand scale, Loc loc) {
  return Of("stats::gamma::logcdf", {x, a, location, scale}, loc,
            [](const Xs& v) { return GammaLogBelow(v); });
}
Array sf(Operand x, Operand a, Operand location, Operand scale, Loc loc) {
  return Of("stats::gamma::sf", {x, a, location, scale}, loc,
            [](const Xs& v) { return GammaAbove(v); });
}
Array logsf(Operand x, Operand a, Operand location, Operand scale, Loc loc) {
  return Of("stats::gamma::logsf", {x, a, location, scale}, loc,
            [](const Xs& v) { return GammaLogAbove(v); });
}
}  // namespace gamma

namespace chi2 {
Array logpdf(Operand x, Operand df, Operand location, Operand scale, Loc loc) {
  return Of("stats::chi2::logpdf", {x, df, location, scale}, loc,
            [](const Xs& v) { return GammaLogDensity(AsGamma(v)); });
}
Array pdf(Operand x, Operand df, Operand location, Operand scale, Loc loc) {
  return Of("stats::chi2::pdf", {x, df, location, scale}, loc,
            [](const Xs& v) { return Exp(GammaLogDensity(AsGamma(v))); });
}
Array cdf(Operand x, Operand df, Operand location, Operand scale, Loc loc) {
  return Of("stats::chi2::cdf", {x, df, location, scale}, loc,
            [](const Xs& v) { return GammaBelow(AsGamma(v)); });
}
Array logcdf(Operand x, Operand df, Operand location, Operand scale, Loc loc) {
  return Of("stats::chi2::logcdf", {x, df, location, scale}, loc,
            [](const Xs& v) { return GammaLogBelow(AsGamma(v)); });
}
Array sf(Operand x, Operand df, Operand location, Operand scale, Loc loc) {
  return Of("stats::chi2::sf", {x, df, location, scale}, loc,
            [](const Xs& v) { return GammaAbove(AsGamma(v)); });
}
Array logsf(Operand x, Operand df, Operand location, Operand scale, Loc loc) {
  return Of("stats::chi2::logsf", {x, df, location, scale}, loc,
            [](const Xs& v) { return GammaLogAbove(AsGamma(v)); });
}
}  // namespace chi2

namespace beta {
Array logpdf(Operand x, Operand a, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::beta::logpdf", {x, a, b, location, scale}, loc,
            [](const Xs& v) { return BetaLogDensity(v); });
}
Array pdf(Operand x, Operand a, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::beta::pdf", {x, a, b, location, scale}, loc,
            [](const Xs& v) { return Exp(BetaLogDensity(v)); });
}
Array cdf(Operand x, Operand a, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::beta::cdf", {x, a, b, location, scale}, loc, [](const Xs& v) {
    return FromZeroToOne(Scaled(v), 0, 1, [&](const Located& x) { return Betainc(v[1], v[2], x); });
  });
}
Array logcdf(Operand x, Operand a, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::beta::logcdf", {x, a, b, location, scale}, loc, [](const Xs& v) {
    return FromZeroToOne(Scaled(v), -kInf, 0,
                         [&](const Located& x) { return Log(Betainc(v[1], v[2], x)); });
  });
}
Array sf(Operand x, Operand a, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::beta::sf", {x, a, b, location, scale}, loc, [](const Xs& v) {
    return FromZeroToOne(Scaled(v), 1, 0,
                         [&](const Located& x) { return Betainc(v[2], v[1], 1 - x); });
  });
}
Array logsf(Operand x, Operand a, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::beta::logsf", {x, a, b, location, scale}, loc, [](const Xs& v) {
    return FromZeroToOne(Scaled(v), 0, -kInf,
                         [&](const Located& x) { return Log(Betainc(v[2], v[1], 1 - x)); });
  });
}
}  // namespace beta

namespace t {
Array logpdf(Operand x, Operand df, Operand location, Operand scale, Loc loc) {
  return Of("stats::t::logpdf", {x, df, location, scale}, loc,
            [](const Xs& v) { return TLogDensity(v); });
}
Array pdf(Operand x, Operand df, Operand location, Operand scale, Loc loc) {
  return Of("stats::t::pdf", {x, df, location, scale}, loc,
            [](const Xs& v) { return Exp(TLogDensity(v)); });
}
}  // namespace t

namespace expon {
Array logpdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::expon::logpdf", {x, location, scale}, loc,
            [](const Xs& v) { return ExponLogDensity(v); });
}
Array pdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::expon::pdf", {x, location, scale}, loc,
            [](const Xs& v) { return Exp(ExponLogDensity(v)); });
}
Array cdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::expon::cdf", {x, location, scale}, loc,
            [](const Xs& v) { return OfExponTail(v, 0, TailBelow); });
}
Array logcdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::expon::logcdf", {x, location, scale}, loc,
            [](const Xs& v) { return OfExponTail(v, -kInf, LogOneMinusExp); });
}
Array sf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::expon::sf", {x, location, scale}, loc,
            [](const Xs& v) { return OfExponTail(v, 1, TailAbove); });
}
Array logsf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::expon::logsf", {x, location, scale}, loc,
            [](const Xs& v) { return OfExponTail(v, 0, TailLogAbove); });
}
Array ppf(Operand q, Operand location, Operand scale, Loc loc) {
  return Of("stats::expon::ppf", {q, location, scale}, loc,
            [](const Xs& v) { return OfProbability(v, -Log1p(-v[0])); });
}
}  // namespace expon

namespace laplace {
Array logpdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::laplace::logpdf", {x, location, scale}, loc,
            [](const Xs& v) { return -Abs(Scaled(v)) - Log(2 * Scale(v)); });
}
Array pdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::laplace::pdf", {x, location, scale}, loc,
            [](const Xs& v) { return Exp(-Abs(Scaled(v)) - Log(2 * Scale(v))); });
}
Array cdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::laplace::cdf", {x, location, scale}, loc,
            [](const Xs& v) { return LaplaceBelow(Scaled(v)); });
}
}  // namespace laplace

namespace logistic {
Array logpdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::logistic::logpdf", {x, location, scale}, loc,
            [](const Xs& v) { return LogisticLogDensity(v); });
}
Array pdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::logistic::pdf", {x, location, scale}, loc,
            [](const Xs& v) { return Exp(LogisticLogDensity(v)); });
}
Array cdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::logistic::cdf", {x, location, scale}, loc,
            [](const Xs& v) { return Expit(Scaled(v)); });
}
Array sf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::logistic::sf", {x, location, scale}, loc,
            [](const Xs& v) { return Expit(-Scaled(v)); });
}
Array ppf(Operand q, Operand location, Operand scale, Loc loc) {
  return Of("stats::logistic::ppf", {q, location, scale}, loc,
            [](const Xs& v) { return Placed(v, Logit(v[0])); });
}
Array isf(Operand q, Operand location, Operand scale, Loc loc) {
  return Of("stats::logistic::isf", {q, location, scale}, loc,
            [](const Xs& v) { return Placed(v, -Logit(v[0])); });
}
}  // namespace logistic

namespace uniform {
Array logpdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::uniform::logpdf", {x, location, scale}, loc,
            [](const Xs& v) { return UniformLogDensity(v); });
}
Array pdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::uniform::pdf", {x, location, scale}, loc,
            [](const Xs& v) { return Exp(UniformLogDensity(v)); });
}
Array cdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::uniform::cdf", {x, location, scale}, loc, [](const Xs& v) {
    return FromZeroToOne(Scaled(v), 0, 1, [](const Located& x) { return x; });
  });
}
Array ppf(Operand q, Operand location, Operand scale, Loc loc) {
  return Of("stats::uniform::ppf", {q, location, scale}, loc,
            [](const Xs& v) { return OfProbability(v, v[0]); });
}
}  // namespace uniform

namespace cauchy {
Array logpdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::cauchy::logpdf", {x, location, scale}, loc,
            [](const Xs& v) { return CauchyLogDensity(v); });
}
Array pdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::cauchy::pdf", {x, location, scale}, loc,
            [](const Xs& v) { return Exp(CauchyLogDensity(v)); });
}
Array cdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::cauchy::cdf", {x, location, scale}, loc,
            [](const Xs& v) { return CauchyBelow(Scaled(v)); });
}
Array logcdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::cauchy::logcdf", {x, location, scale}, loc,
            [](const Xs& v) { return Log(CauchyBelow(Scaled(v))); });
}
Array sf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::cauchy::sf", {x, location, scale}, loc,
            [](const Xs& v) { return CauchyBelow(-Scaled(v)); });
}
Array logsf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::cauchy::logsf", {x, location, scale}, loc,
            [](const Xs& v) { return Log(CauchyBelow(-Scaled(v))); });
}
Array ppf(Operand q, Operand location, Operand scale, Loc loc) {
  return Of("stats::cauchy::ppf", {q, location, scale}, loc,
            [](const Xs& v) { return OfProbability(v, CauchyQuantile(v[0])); });
}
Array isf(Operand q, Operand location, Operand scale, Loc loc) {
  return Of("stats::cauchy::isf", {q, location, scale}, loc,
            [](const Xs& v) { return OfProbability(v, -CauchyQuantile(v[0])); });
}
}  // namespace cauchy

namespace pareto {
Array logpdf(Operand x, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::pareto::logpdf", {x, b, location, scale}, loc,
            [](const Xs& v) { return ParetoLogDensity(v); });
}
Array pdf(Operand x, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::pareto::pdf", {x, b, location, scale}, loc,
            [](const Xs& v) { return Exp(ParetoLogDensity(v)); });
}
Array cdf(Operand x, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::pareto::cdf", {x, b, location, scale}, loc,
            [](const Xs& v) { return OfParetoTail(v, 0, TailBelow); });
}
Array logcdf(Operand x, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::pareto::logcdf", {x, b, location, scale}, loc,
            [](const Xs& v) { return OfParetoTail(v, -kInf, LogOneMinusExp); });
}
Array sf(Operand x, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::pareto::sf", {x, b, location, scale}, loc,
            [](const Xs& v) { return OfParetoTail(v, 1, TailAbove); });
}
Array logsf(Operand x, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::pareto::logsf", {x, b, location, scale}, loc,
            [](const Xs& v) { return OfParetoTail(v, 0, TailLogAbove); });
}
Array ppf(Operand q, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::pareto::ppf", {q, b, location, scale}, loc,
            [](const Xs& v) { return OfProbability(v, Exp(-Log1p(-v[0]) / v[1])); });
}
}  // namespace pareto

namespace gumbel_l {
Array logpdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_l::logpdf", {x, location, scale}, loc,
            [](const Xs& v) { return OfScale(v, Scaled(v) - Exp(Scaled(v)) - Log(Scale(v))); });
}
Array pdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_l::pdf", {x, location, scale}, loc, [](const Xs& v) {
    return Exp(OfScale(v, Scaled(v) - Exp(Scaled(v)) - Log(Scale(v))));
  });
}
Array cdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_l::cdf", {x, location, scale}, loc,
            [](const Xs& v) { return OfScale(v, -Expm1(-Exp(Scaled(v)))); });
}
Array logcdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_l::logcdf", {x, location, scale}, loc,
            [](const Xs& v) { return OfScale(v, LogOneMinusExp(Exp(Scaled(v)))); });
}
Array sf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_l::sf", {x, location, scale}, loc,
            [](const Xs& v) { return OfScale(v, Exp(-Exp(Scaled(v)))); });
}
Array logsf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_l::logsf", {x, location, scale}, loc,
            [](const Xs& v) { return OfScale(v, -Exp(Scaled(v))); });
}
Array ppf(Operand q, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_l::ppf", {q, location, scale}, loc,
            [](const Xs& v) { return OfProbability(v, Log(-Log1p(-v[0]))); });
}
}  // namespace gumbel_l

namespace gumbel_r {
Array logpdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_r::logpdf", {x, location, scale}, loc,
            [](const Xs& v) { return OfScale(v, -Scaled(v) - Exp(-Scaled(v)) - Log(Scale(v))); });
}
Array pdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_r::pdf", {x, location, scale}, loc, [](const Xs& v) {
    return Exp(OfScale(v, -Scaled(v) - Exp(-Scaled(v)) - Log(Scale(v))));
  });
}
Array cdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_r::cdf", {x, location, scale}, loc,
            [](const Xs& v) { return OfScale(v, Exp(-Exp(-Scaled(v)))); });
}
Array logcdf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_r::logcdf", {x, location, scale}, loc,
            [](const Xs& v) { return OfScale(v, -Exp(-Scaled(v))); });
}
Array sf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_r::sf", {x, location, scale}, loc,
            [](const Xs& v) { return OfScale(v, -Expm1(-Exp(-Scaled(v)))); });
}
Array logsf(Operand x, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_r::logsf", {x, location, scale}, loc,
            [](const Xs& v) { return OfScale(v, LogOneMinusExp(Exp(-Scaled(v)))); });
}
Array ppf(Operand q, Operand location, Operand scale, Loc loc) {
  return Of("stats::gumbel_r::ppf", {q, location, scale}, loc,
            [](const Xs& v) { return OfProbability(v, -Log(-Log(v[0]))); });
}
}  // namespace gumbel_r

namespace gennorm {
Array logpdf(Operand x, Operand beta, Loc loc) {
  return Of("stats::gennorm::logpdf", {x, beta}, loc,
            [](const Xs& v) { return GennormLogDensity(v); });
}
Array pdf(Operand x, Operand beta, Loc loc) {
  return Of("stats::gennorm::pdf", {x, beta}, loc,
            [](const Xs& v) { return Exp(GennormLogDensity(v)); });
}
Array cdf(Operand x, Operand beta, Loc loc) {
  return Of("stats::gennorm::cdf", {x, beta}, loc, [](const Xs& v) { return GennormBelow(v); });
}
}  // namespace gennorm

namespace truncnorm {
Array logpdf(Operand x, Operand a, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::truncnorm::logpdf", {x, a, b, location, scale}, loc,
            [](const Xs& v) { return TruncatedLogDensity(v); });
}
Array pdf(Operand x, Operand a, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::truncnorm::pdf", {x, a, b, location, scale}, loc,
            [](const Xs& v) { return Exp(TruncatedLogDensity(v)); });
}
Array cdf(Operand x, Operand a, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::truncnorm::cdf", {x, a, b, location, scale}, loc,
            [](const Xs& v) { return Exp(TruncatedLogBelow(Scaled(v), v[1], v[2])); });
}
Array logcdf(Operand x, Operand a, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::truncnorm::logcdf", {x, a, b, location, scale}, loc,
            [](const Xs& v) { return TruncatedLogBelow(Scaled(v), v[1], v[2]); });
}
Array sf(Operand x, Operand a, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::truncnorm::sf", {x, a, b, location, scale}, loc,
            [](const Xs& v) { return Exp(TruncatedLogBelow(-Scaled(v), -v[2], -v[1])); });
}
Array logsf(Operand x, Operand a, Operand b, Operand location, Operand scale, Loc loc) {
  return Of("stats::truncnorm::logsf", {x, a, b, location, scale}, loc,
            [](const Xs& v) { return TruncatedLogBelow(-Scaled(v), -v[2], -v[1]); });
}
}  // namespace truncnorm

namespace vonmises {
Array logpdf(Operand x, Operand kappa, Loc loc) {
  return Of("stats::vonmises::logpdf", {x, kappa}, loc,
            [](const Xs& v) { return VonMisesLogDensity(v); });
}
Array pdf(Operand x, Operand kappa, Loc loc) {
  return Of("stats::vonmises::pdf", {x, kappa}, loc,
            [](const Xs& v) { return Exp(VonMisesLogDensity(v)); });
}
}  // namespace vonmises

namespace wrapcauchy {
Array logpdf(Operand x, Operand c, Loc loc) {
  return Of("stats::wrapcauchy::logpdf", {x, c}, loc,
            [](const Xs& v) { return WrappedCauchyLogDensity(v); });
}
Array pdf(Operand x, Operand c, Loc loc) {
  return Of("stats::wrapcauchy::pdf", {x, c}, loc,
            [](const Xs& v) { return Exp(WrappedCauchyLogDensity(v)); });
}
}  // namespace wrapcauchy

}  // namespace tessera::stats
