// Densities and distribution functions of probability distributions, under SciPy's names in
// namespaces of their own: stats::norm::logpdf(x, mean, sigma).
//
// Functions of the same names are alike in all distributions. They are elementwise: operands
// promote and broadcast, ints become floats; complex numbers are refused. Values and derivatives
// are those of JAX, where JAX has one; beyond the ends of a distribution the density is 0.
//
//   logpdf, pdf    density of x, and its logarithm; logpmf, pmf: probability of the int k
//   cdf, logcdf    probability of at most x
//   sf, logsf      probability of more than x
//   ppf, isf       the inverses of cdf and sf; NaN for q outside of [0, 1]
//
// `location` and `scale` shift and stretch: the density is the standard one at (x - location) /
// scale, divided by the scale.
#pragma once
#include "tessera/ops.h"

namespace TESSERA_PUBLIC tessera {
namespace stats {

// ---- of real numbers ----

// The normal distribution of mean `location` and standard deviation `scale`.
namespace norm {
Array logpdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array pdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array cdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logcdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array sf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logsf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array ppf(Operand q, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array isf(Operand q, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
}  // namespace norm

// The gamma distribution of shape a.
namespace gamma {
Array logpdf(Operand x, Operand a, Operand location = 0, Operand scale = 1,
             Loc loc = Loc::Current());
Array pdf(Operand x, Operand a, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array cdf(Operand x, Operand a, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logcdf(Operand x, Operand a, Operand location = 0, Operand scale = 1,
             Loc loc = Loc::Current());
Array sf(Operand x, Operand a, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logsf(Operand x, Operand a, Operand location = 0, Operand scale = 1,
            Loc loc = Loc::Current());
}  // namespace gamma

// The chi-squared distribution of df degrees of freedom.
namespace chi2 {
Array logpdf(Operand x, Operand df, Operand location = 0, Operand scale = 1,
             Loc loc = Loc::Current());
Array pdf(Operand x, Operand df, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array cdf(Operand x, Operand df, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logcdf(Operand x, Operand df, Operand location = 0, Operand scale = 1,
             Loc loc = Loc::Current());
Array sf(Operand x, Operand df, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logsf(Operand x, Operand df, Operand location = 0, Operand scale = 1,
            Loc loc = Loc::Current());
}  // namespace chi2

// The beta distribution of shapes a and b. Distribution functions are differentiable in x, location
// and scale only.
namespace beta {
Array logpdf(Operand x, Operand a, Operand b, Operand location = 0, Operand scale = 1,
             Loc loc = Loc::Current());
Array pdf(Operand x, Operand a, Operand b, Operand location = 0, Operand scale = 1,
          Loc loc = Loc::Current());
Array cdf(Operand x, Operand a, Operand b, Operand location = 0, Operand scale = 1,
          Loc loc = Loc::Current());
Array logcdf(Operand x, Operand a, Operand b, Operand location = 0, Operand scale = 1,
             Loc loc = Loc::Current());
Array sf(Operand x, Operand a, Operand b, Operand location = 0, Operand scale = 1,
         Loc loc = Loc::Current());
Array logsf(Operand x, Operand a, Operand b, Operand location = 0, Operand scale = 1,
            Loc loc = Loc::Current());
}  // namespace beta

// Student's t distribution of df degrees of freedom.
namespace t {
Array logpdf(Operand x, Operand df, Operand location = 0, Operand scale = 1,
             Loc loc = Loc::Current());
Array pdf(Operand x, Operand df, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
}  // namespace t

// The exponential distribution of mean `scale`, from `location` on.
namespace expon {
Array logpdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array pdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array cdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logcdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array sf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logsf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array ppf(Operand q, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
}  // namespace expon

// The Laplace distribution.
namespace laplace {
Array logpdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array pdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array cdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
}  // namespace laplace

// The logistic distribution.
namespace logistic {
Array logpdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array pdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array cdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array sf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array ppf(Operand q, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array isf(Operand q, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
}  // namespace logistic

// The uniform distribution from `location` to `location` + `scale`.
namespace uniform {
Array logpdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array pdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array cdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array ppf(Operand q, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
}  // namespace uniform

// The Cauchy distribution.
namespace cauchy {
Array logpdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array pdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array cdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logcdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array sf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logsf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array ppf(Operand q, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array isf(Operand q, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
}  // namespace cauchy

// The Pareto distribution of shape b, from `location` + `scale` on.
namespace pareto {
Array logpdf(Operand x, Operand b, Operand location = 0, Operand scale = 1,
             Loc loc = Loc::Current());
Array pdf(Operand x, Operand b, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array cdf(Operand x, Operand b, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logcdf(Operand x, Operand b, Operand location = 0, Operand scale = 1,
             Loc loc = Loc::Current());
Array sf(Operand x, Operand b, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logsf(Operand x, Operand b, Operand location = 0, Operand scale = 1,
            Loc loc = Loc::Current());
Array ppf(Operand q, Operand b, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
}  // namespace pareto

// The Gumbel distribution of minima; NaN unless scale > 0.
namespace gumbel_l {
Array logpdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array pdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array cdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logcdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array sf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logsf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array ppf(Operand q, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
}  // namespace gumbel_l

// The Gumbel distribution of maxima; NaN unless scale > 0.
namespace gumbel_r {
Array logpdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array pdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array cdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logcdf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array sf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array logsf(Operand x, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
Array ppf(Operand q, Operand location = 0, Operand scale = 1, Loc loc = Loc::Current());
}  // namespace gumbel_r

// The generalized normal distribution of shape beta.
namespace gennorm {
Array logpdf(Operand x, Operand beta, Loc loc = Loc::Current());
Array pdf(Operand x, Operand beta, Loc loc = Loc::Current());
Array cdf(Operand x, Operand beta, Loc loc = Loc::Current());
}  // namespace gennorm

// The normal distribution between `location` + a `scale` and `location` + b `scale`; NaN unless a <
// b.
namespace truncnorm {
Array logpdf(Operand x, Operand a, Operand b, Operand location = 0, Operand scale = 1,
             Loc loc = Loc::Current());
Array pdf(Operand x, Operand a, Operand b, Operand location = 0, Operand scale = 1,
          Loc loc = Loc::Current());
Array cdf(Operand x, Operand a, Operand b, Operand location = 0, Operand scale = 1,
          Loc loc = Loc::Current());
Array logcdf(Operand x, Operand a, Operand b, Operand location = 0, Operand scale = 1,
             Loc loc = Loc::Current());
Array sf(Operand x, Operand a, Operand b, Operand location = 0, Operand scale = 1,
         Loc loc = Loc::Current());
Array logsf(Operand x, Operand a, Operand b, Operand location = 0, Operand scale = 1,
            Loc loc = Loc::Current());
}  // namespace truncnorm

// The von Mises distribution of concentration kappa on the circle; NaN unless kappa > 0.
namespace vonmises {
Array logpdf(Operand x, Operand kappa, Loc loc = Loc::Current());
Array pdf(Operand x, Operand kappa, Loc loc = Loc::Current());
}  // namespace vonmises

// The wrapped Cauchy distribution on [0, 2 pi]; NaN unless 0 < c < 1.
namespace wrapcauchy {
Array logpdf(Operand x, Operand c, Loc loc = Loc::Current());
Array pdf(Operand x, Operand c, Loc loc = Loc::Current());
}  // namespace wrapcauchy

// ---- of ints ----

// The Poisson distribution of mean mu.
namespace poisson {
Array logpmf(Operand k, Operand mu, Operand location = 0, Loc loc = Loc::Current());
Array pmf(Operand k, Operand mu, Operand location = 0, Loc loc = Loc::Current());
Array cdf(Operand x, Operand mu, Operand location = 0, Loc loc = Loc::Current());
}  // namespace poisson

// The binomial distribution of n trials of probability p.
namespace binom {
Array logpmf(Operand k, Operand n, Operand p, Operand location = 0, Loc loc = Loc::Current());
Array pmf(Operand k, Operand n, Operand p, Operand location = 0, Loc loc = Loc::Current());
}  // namespace binom

// The Bernoulli distribution of probability p.
namespace bernoulli {
Array logpmf(Operand k, Operand p, Operand location = 0, Loc loc = Loc::Current());
Array pmf(Operand k, Operand p, Operand location = 0, Loc loc = Loc::Current());
Array cdf(Operand x, Operand p, Loc loc = Loc::Current());
Array ppf(Operand q, Operand p, Loc loc = Loc::Current());
}  // namespace bernoulli

// The geometric distribution of probability p, from 1 on.
namespace geom {
Array logpmf(Operand k, Operand p, Operand location = 0, Loc loc = Loc::Current());
Array pmf(Operand k, Operand p, Operand location = 0, Loc loc = Loc::Current());
}  // namespace geom

// The negative binomial distribution: failures before the n-th success of probability p.
namespace nbinom {
Array logpmf(Operand k, Operand n, Operand p, Operand location = 0, Loc loc = Loc::Current());
Array pmf(Operand k, Operand n, Operand p, Operand location = 0, Loc loc = Loc::Current());
}  // namespace nbinom

// The beta-binomial distribution of n trials and shapes a and b.
namespace betabinom {
Array logpmf(Operand k, Operand n, Operand a, Operand b, Operand location = 0,
             Loc loc = Loc::Current());
Array pmf(Operand k, Operand n, Operand a, Operand b, Operand location = 0,
          Loc loc = Loc::Current());
}  // namespace betabinom

// ---- of vectors ----

// Counts k [..., m] of n trials, whose outcomes have the probabilities p [..., m]: [...]. Throws
// DTypeError unless n and k are ints.
namespace multinomial {
Array logpmf(Operand k, Operand n, Operand p, Loc loc = Loc::Current());
Array pmf(Operand k, Operand n, Operand p, Loc loc = Loc::Current());
}  // namespace multinomial
// Probabilities x [m, ...], or all but the last of them [m - 1, ...], of concentrations alpha [m]:
// [...]. 0 unless they are positive and add up to 1 within 1e-6. Throws ShapeError for others.
namespace dirichlet {
Array logpdf(Operand x, Operand alpha, Loc loc = Loc::Current());
Array pdf(Operand x, Operand alpha, Loc loc = Loc::Current());
}  // namespace dirichlet
// Vectors x [..., m] of mean [..., m], or [] for numbers, and covariance [..., m, m], or [] for a
// multiple of the identity: [...]. The covariance must be positive definite, else the result is
// NaN. Throws ShapeError for others.
namespace multivariate_normal {
Array logpdf(Operand x, Operand mean, Operand covariance, Loc loc = Loc::Current());
Array pdf(Operand x, Operand mean, Operand covariance, Loc loc = Loc::Current());
}  // namespace multivariate_normal

}  // namespace stats
}  // namespace tessera
