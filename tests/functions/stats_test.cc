// Distributions where formulas select constants: NaN operands, and the ends of supports.
#include <gmock/gmock.h>
#include <tessera/distributions.h>
#include <tessera/tessera.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace tessera::stats_test {
namespace {

using Numbers = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Function {
  const char* name;
  Numbers parameters;
  Array (*call)(const std::vector<Array>&);  // of x and the parameters
};
#define OF_TWO(name, ...)                                                                 \
  {                                                                                       \
#name, {__VA_ARGS__ }, [](const auto& v) -> Array { return stats::name(v[0], v[1]); } \
  }
#define OF_THREE(name, ...)                                                                     \
  {                                                                                             \
#name, {__VA_ARGS__ }, [](const auto& v) -> Array { return stats::name(v[0], v[1], v[2]); } \
  }
#define OF_FOUR(name, ...)                                                             \
  {                                                                                    \
#name, {__VA_ARGS__ },                                                             \
            [](const auto& v) -> Array { return stats::name(v[0], v[1], v[2], v[3]); } \
  }
#define OF_FIVE(name, ...)                                                                   \
  {                                                                                          \
#name, {__VA_ARGS__ },                                                                   \
            [](const auto& v) -> Array { return stats::name(v[0], v[1], v[2], v[3], v[4]); } \
  }

const std::vector<Function>& AllFunctions() {
  static const std::vector<Function> all = {
      OF_THREE(norm::logpdf, 0.5, 2),
      OF_THREE(norm::pdf, 0.5, 2),
      OF_THREE(norm::cdf, 0.5, 2),
      OF_THREE(norm::logcdf, 0.5, 2),
      OF_THREE(norm::sf, 0.5, 2),
      OF_THREE(norm::logsf, 0.5, 2),
      OF_THREE(norm::ppf, 0.5, 2),
      OF_THREE(norm::isf, 0.5, 2),
      OF_FOUR(gamma::logpdf, 2, 0.5, 2),
      OF_FOUR(gamma::pdf, 2, 0.5, 2),
      OF_FOUR(gamma::cdf, 2, 0.5, 2),
      OF_FOUR(gamma::logcdf, 2, 0.5, 2),
      OF_FOUR(gamma::sf, 2, 0.5, 2),
      OF_FOUR(gamma::logsf, 2, 0.5, 2),
      OF_FOUR(chi2::logpdf, 2, 0.5, 2),
      OF_FOUR(chi2::pdf, 2, 0.5, 2),
      OF_FOUR(chi2::cdf, 2, 0.5, 2),
      OF_FOUR(chi2::logcdf, 2, 0.5, 2),
      OF_FOUR(chi2::sf, 2, 0.5, 2),
      OF_FOUR(chi2::logsf, 2, 0.5, 2),
      OF_FIVE(beta::logpdf, 2, 3, 0.5, 2),
      OF_FIVE(beta::pdf, 2, 3, 0.5, 2),
      OF_FIVE(beta::cdf, 2, 3, 0.5, 2),
      OF_FIVE(beta::logcdf, 2, 3, 0.5, 2),
      OF_FIVE(beta::sf, 2, 3, 0.5, 2),
      OF_FIVE(beta::logsf, 2, 3, 0.5, 2),
      OF_FOUR(t::logpdf, 2, 0.5, 2),
      OF_FOUR(t::pdf, 2, 0.5, 2),
      OF_THREE(expon::logpdf, 0.5, 2),
      OF_THREE(expon::pdf, 0.5, 2),
      OF_THREE(expon::cdf, 0.5, 2),
      OF_THREE(expon::logcdf, 0.5, 2),
      OF_THREE(expon::sf, 0.5, 2),
      OF_THREE(expon::logsf, 0.5, 2),
      OF_THREE(expon::ppf, 0.5, 2),
      OF_THREE(laplace::logpdf, 0.5, 2),
      OF_THREE(laplace::pdf, 0.5, 2),
      OF_THREE(laplace::cdf, 0.5, 2),
      OF_THREE(logistic::logpdf, 0.5, 2),
      OF_THREE(logistic::pdf, 0.5, 2),
      OF_THREE(logistic::cdf, 0.5, 2),
      OF_THREE(logistic::sf, 0.5, 2),
      OF_THREE(logistic::ppf, 0.5, 2),
      OF_THREE(logistic::isf, 0.5, 2),
      OF_THREE(uniform::logpdf, 0.5, 2),
      OF_THREE(uniform::pdf, 0.5, 2),
      OF_THREE(uniform::cdf, 0.5, 2),
      OF_THREE(uniform::ppf, 0.5, 2),
      OF_THREE(cauchy::logpdf, 0.5, 2),
      OF_THREE(cauchy::pdf, 0.5, 2),
      OF_THREE(cauchy::cdf, 0.5, 2),
      OF_THREE(cauchy::logcdf, 0.5, 2),
      OF_THREE(cauchy::sf, 0.5, 2),
      OF_THREE(cauchy::logsf, 0.5, 2),
      OF_THREE(cauchy::ppf, 0.5, 2),
      OF_THREE(cauchy::isf, 0.5, 2),
      OF_FOUR(pareto::logpdf, 2, 0.5, 2),
      OF_FOUR(pareto::pdf, 2, 0.5, 2),
      OF_FOUR(pareto::cdf, 2, 0.5, 2),
      OF_FOUR(pareto::logcdf, 2, 0.5, 2),
      OF_FOUR(pareto::sf, 2, 0.5, 2),
      OF_FOUR(pareto::logsf, 2, 0.5, 2),
      OF_FOUR(pareto::ppf, 2, 0.5, 2),
      OF_THREE(gumbel_l::logpdf, 0.5, 2),
      OF_THREE(gumbel_l::pdf, 0.5, 2),
      OF_THREE(gumbel_l::cdf, 0.5, 2),
      OF_THREE(gumbel_l::logcdf, 0.5, 2),
      OF_THREE(gumbel_l::sf, 0.5, 2),
      OF_THREE(gumbel_l::logsf, 0.5, 2),
      OF_THREE(gumbel_l::ppf, 0.5, 2),
      OF_THREE(gumbel_r::logpdf, 0.5, 2),
      OF_THREE(gumbel_r::pdf, 0.5, 2),
      OF_THREE(gumbel_r::cdf, 0.5, 2),
      OF_THREE(gumbel_r::logcdf, 0.5, 2),
      OF_THREE(gumbel_r::sf, 0.5, 2),
      OF_THREE(gumbel_r::logsf, 0.5, 2),
      OF_THREE(gumbel_r::ppf, 0.5, 2),
      OF_TWO(gennorm::logpdf, 2),
      OF_TWO(gennorm::pdf, 2),
      OF_TWO(gennorm::cdf, 2),
      OF_FIVE(truncnorm::logpdf, -1, 2, 0.5, 2),
      OF_FIVE(truncnorm::pdf, -1, 2, 0.5, 2),
      OF_FIVE(truncnorm::cdf, -1, 2, 0.5, 2),
      OF_FIVE(truncnorm::logcdf, -1, 2, 0.5, 2),
      OF_FIVE(truncnorm::sf, -1, 2, 0.5, 2),
      OF_FIVE(truncnorm::logsf, -1, 2, 0.5, 2),
      OF_TWO(vonmises::logpdf, 2),
      OF_TWO(vonmises::pdf, 2),
      OF_TWO(wrapcauchy::logpdf, 0.5),
      OF_TWO(wrapcauchy::pdf, 0.5),
      OF_THREE(poisson::logpmf, 2, 1),
      OF_THREE(poisson::pmf, 2, 1),
      OF_THREE(poisson::cdf, 2, 1),
      OF_FOUR(binom::logpmf, 3, 0.5, 1),
      OF_FOUR(binom::pmf, 3, 0.5, 1),
      OF_THREE(bernoulli::logpmf, 0.5, 1),
      OF_THREE(bernoulli::pmf, 0.5, 1),
      OF_TWO(bernoulli::cdf, 0.5),
      OF_TWO(bernoulli::ppf, 0.5),
      OF_THREE(geom::logpmf, 0.5, 1),
      OF_THREE(geom::pmf, 0.5, 1),
      OF_FOUR(nbinom::logpmf, 3, 0.5, 1),
      OF_FOUR(nbinom::pmf, 3, 0.5, 1),
      OF_FIVE(betabinom::logpmf, 3, 2, 3, 1),
      OF_FIVE(betabinom::pmf, 3, 2, 3, 1),
  };
  return all;
}
#undef OF_TWO
#undef OF_THREE
#undef OF_FOUR
#undef OF_FIVE

// x inside of the supports, at and beyond their ends.
const Numbers kPlaces = {1, 0, 0.75, 2, -3, 9, kInf, -kInf};

// As in SciPy: also beyond the ends of a support, where formulas select a constant.
TEST(Stats, NanGivesNan) {
  for (const Function& f : AllFunctions()) {
    std::vector<Array> xs{array(kPlaces, {.dtype = f64})};
    for (double p : f.parameters) xs.push_back(full({}, p, {.dtype = f64}));
    for (size_t i = 0; i < xs.size(); ++i) {
      std::vector<Array> given = xs;
      given[i] = full_like(xs[i], kNan);
      for (double y : f.call(given).to_vector<double>())
        EXPECT_TRUE(std::isnan(y)) << f.name << " of NaN for operand " << i;
    }
  }
}

struct End {
  const char* name;
  double x, slope;
  Array (*call)(Array x);
};
#define AT_END(x, slope, ...)                                                   \
  {                                                                             \
#__VA_ARGS__, x, slope, [](Array v) -> Array { return stats::__VA_ARGS__; } \
  }

// At an end of a support the derivative is the one-sided one from the inside; beyond it 0.
TEST(Stats, DerivativesAtTheEndsOfSupports) {
  const double middle = 2 / (2 * std::sqrt(std::numbers::pi));  // 2 / (2 gamma(1 / 2))
  const std::vector<End> ends = {
      AT_END(0, 1, expon::cdf(v)),          AT_END(0, kInf, expon::logcdf(v)),
      AT_END(0, -1, expon::sf(v)),          AT_END(0, -1, expon::logsf(v)),
      AT_END(0, -1, expon::logpdf(v)),      AT_END(0, 1, uniform::cdf(v)),
      AT_END(1, 1, uniform::cdf(v)),        AT_END(3, 0.5, uniform::cdf(v, 1, 2)),
      AT_END(1, 2, pareto::cdf(v, 2)),      AT_END(1, -2, pareto::sf(v, 2)),
      AT_END(1, -2, pareto::logsf(v, 2)),   AT_END(1, -3, pareto::logpdf(v, 2)),
      AT_END(0, 1, gamma::cdf(v, 1)),       AT_END(0, -1, gamma::sf(v, 1)),
      AT_END(0, -1, gamma::logsf(v, 1)),    AT_END(0, 0, gamma::cdf(v, 2)),
      AT_END(0, -1, gamma::logpdf(v, 1)),   AT_END(0, 0.5, chi2::cdf(v, 2)),
      AT_END(0, -0.5, chi2::sf(v, 2)),      AT_END(0, -0.5, chi2::logpdf(v, 2)),
      AT_END(0, 1, beta::cdf(v, 1, 1)),     AT_END(1, 1, beta::cdf(v, 1, 1)),
      AT_END(1, -1, beta::sf(v, 1, 1)),     AT_END(0, -1, beta::logsf(v, 1, 1)),
      AT_END(0, 0.5, laplace::cdf(v)),      AT_END(0, middle, gennorm::cdf(v, 2)),
      AT_END(0, 0, poisson::cdf(v, 2)),     AT_END(-1, 0, expon::cdf(v)),
      AT_END(-1, 0, expon::logcdf(v)),      AT_END(-1, 0, gamma::cdf(v, 0.5)),
      AT_END(-1, 0, gamma::logcdf(v, 0.5)), AT_END(-1, 0, chi2::cdf(v, 1)),
      AT_END(2, 0, beta::cdf(v, 0.5, 0.5)), AT_END(-1, 0, beta::cdf(v, 0.5, 0.5)),
      AT_END(0.5, 0, pareto::logcdf(v, 2)), AT_END(2, 0, uniform::cdf(v)),
  };
  for (const End& end : ends)
    for (DType t : {f64, f32}) {
      const Array x = full({}, end.x, {.dtype = t}), one = ones_like(x);
      const double tolerance = t == f64 ? 1e-12 : 1e-5;
      const auto slope_of = [](const Array& v) { return astype(v, f64).item<double>(); };
      const double forward = slope_of(jvp([&](Array v) { return end.call(v); }, x, one).second);
      const double reverse = slope_of(grad([&](Array v) { return end.call(v); })(x));
      for (double slope : {forward, reverse})
        if (std::isinf(end.slope))
          EXPECT_EQ(slope, end.slope) << end.name << " at " << end.x;
        else
          EXPECT_NEAR(slope, end.slope, tolerance) << end.name << " at " << end.x;
    }
}
#undef AT_END

TEST(Stats, ABinomialAtTheEndsOfItsProbabilities) {
  const auto slope = [](double k, double p) {
    return grad([k](Array v) { return stats::binom::logpmf(k, 3, v); })(full({}, p, {.dtype = f64}))
        .item<double>();
  };
  EXPECT_EQ(slope(0, 0), -3);
  EXPECT_EQ(slope(3, 1), 3);
  EXPECT_EQ(stats::binom::logpmf(array({0.0, 3.0}), 3, array({0.0, 1.0})).to_vector<float>(),
            (std::vector<float>{0, 0}));
}

// Quantiles keep their digits at both ends; values from mpmath.
TEST(Stats, QuantilesOfCauchyInTheTails) {
  const Numbers q = {0, 1e-10, 1e-4, 0.25, 0.5, 0.75, 1 - 0x1p-30, 1};
  const Numbers wanted = {
      -kInf, -3183098861.8379066, -3183.09875711815075, -1, 0, 1, 341782637.788215794, kInf};
  const Array at = array(q, {.dtype = f64});
  const Numbers below = stats::cauchy::ppf(at).to_vector<double>();
  const Numbers above = stats::cauchy::isf(at).to_vector<double>();
  for (size_t i = 0; i < q.size(); ++i) {
    if (std::isinf(wanted[i])) {
      EXPECT_EQ(below[i], wanted[i]);
      EXPECT_EQ(above[i], -wanted[i]);
      continue;
    }
    EXPECT_NEAR(below[i], wanted[i], 1e-14 * std::fabs(wanted[i])) << q[i];
    EXPECT_NEAR(above[i], -wanted[i], 1e-14 * std::fabs(wanted[i])) << q[i];
  }
  EXPECT_TRUE(std::isnan(stats::cauchy::ppf(1.5).item<float>()));
}

TEST(Stats, DensitiesAtInfinityAre0) {
  const Array x = full({}, kInf, {.dtype = f64});
  for (const Array& y :
       {stats::gamma::logpdf(x, 2), stats::chi2::logpdf(x, 3), stats::expon::logpdf(x),
        stats::pareto::logpdf(x, 2), stats::poisson::logpmf(x, 2), stats::nbinom::logpmf(x, 2, 0.5),
        stats::geom::logpmf(x, 0.5)})
    EXPECT_EQ(y.item<double>(), -kInf);
}

}  // namespace
}  // namespace tessera::stats_test
