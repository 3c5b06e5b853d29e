// Distributions of ints, and of vectors.
#include <fmt/format.h>

#include "api/stats/formulas.h"
#include "base/at.h"
#include "base/error.h"
#include "tessera/distributions.h"
#include "tessera/linalg.h"

namespace tessera::stats {

using namespace api;
using namespace formulas;

namespace {

// Distributions of ints have the location last.
Located Count(const Xs& v) { return v[0] - v.back(); }

// Returns the logarithm f(k) of the probability of a count; `inside` is a count that is possible.
template <class F>
Located OfCount(const Located& k, const Located& is_outside, double inside, const F& f) {
  return OnSupport(k, is_outside | (k == kInf), inside, -kInf, f);
}

Located PoissonLogMass(const Xs& v) {
  const Located k = Count(v), is_part = (v[0] > Floor(v[0])) & (k == k);
  return OfCount(k, (k < 0) | is_part, 0,
                 [&](const Located& n) { return Xlogy(n, v[1]) - Lgamma(n + 1) - v[1]; });
}
Located PoissonBelow(const Xs& v) {
  const Located k = Count(v);
  return OnSupport(k, k < 0, 0, 0, [&](const Located& n) { return Igammac(Floor(1 + n), v[1]); });
}
Located BinomLogMass(const Xs& v) {
  const Located k = Count(v), &n = v[1], &p = v[2];
  return OfCount(k, (k < 0) | (k >= n + 1), 0, [&](const Located& y) {
    const Located rest = n - y, ways = Lgamma(n + 1) - Lgamma(y + 1) - Lgamma(rest + 1);
    return ways + Xlogy(y, p) + Xlog1py(rest, -p);
  });
}
Located BernoulliLogMass(const Xs& v) {
  const Located k = Count(v), &p = v[1];
  return OfCount(k, (k < 0) | (k > 1), 0,
                 [&](const Located& y) { return Xlogy(y, p) + Xlog1py(1 - y, -p); });
}
Located BernoulliBelow(const Xs& v) {
  const Located &k = v[0], &p = v[1];
  const Located made = If(k < 0, 0.0, If(k < 1, 1 - p, 1.0));
  return If(IsNan(k) | IsNan(p) | (p < 0) | (p > 1), kNan, made);
}
Located BernoulliQuantile(const Xs& v) {
  const Located &q = v[0], &p = v[1];
  const Located is_given = (p >= 0) & (p <= 1) & (q >= 0) & (q <= 1);
  return If(is_given, If(q <= 1 - p, q.With(zeros_like(q, {}, q.loc())), 1.0), kNan);
}
Located GeomLogMass(const Xs& v) {
  const Located k = Count(v), &p = v[1];
  return OfCount(k, k <= 0, 1, [&](const Located& n) { return Xlog1py(n - 1, -p) + Log(p); });
}
Located NbinomLogMass(const Xs& v) {
  const Located k = Count(v), &n = v[1], &p = v[2];
  return OfCount(k, k < 0, 0, [&](const Located& y) {
    const Located ways = Lgamma(y + n) - Lgamma(n) - Lgamma(y + 1);
    return ways + Xlogy(n, p) + Xlogy(y, 1 - p);
  });
}
Located BetabinomLogMass(const Xs& v) {
  const Located k = Floor(v[0]) - v.back(), &n = v[1], &a = v[2], &b = v[3];
  const Located made = OfCount(k, (k < 0) | (k > n), 0, [&](const Located& y) {
    const Located rest = n - y, ways = -Log1p(n) - Betaln(rest + 1, y + 1);
    return ways + Betaln(y + a, rest + b) - Betaln(a, b);
  });
  return If((n >= 0) & (a > 0) & (b > 0), made, kNan);
}

}  // namespace

namespace poisson {
Array logpmf(Operand k, Operand mu, Operand location, Loc loc) {
  return Of("stats::poisson::logpmf", {k, mu, location}, loc,
            [](const Xs& v) { return PoissonLogMass(v); });
}
Array pmf(Operand k, Operand mu, Operand location, Loc loc) {
  return Of("stats::poisson::pmf", {k, mu, location}, loc,
            [](const Xs& v) { return Exp(PoissonLogMass(v)); });
}
Array cdf(Operand x, Operand mu, Operand location, Loc loc) {
  return Of("stats::poisson::cdf", {x, mu, location}, loc,
            [](const Xs& v) { return PoissonBelow(v); });
}
}  // namespace poisson

namespace binom {
Array logpmf(Operand k, Operand n, Operand p, Operand location, Loc loc) {
  return Of("stats::binom::logpmf", {k, n, p, location}, loc,
            [](const Xs& v) { return BinomLogMass(v); });
}
Array pmf(Operand k, Operand n, Operand p, Operand location, Loc loc) {
  return Of("stats::binom::pmf", {k, n, p, location}, loc,
            [](const Xs& v) { return Exp(BinomLogMass(v)); });
}
}  // namespace binom

namespace bernoulli {
Array logpmf(Operand k, Operand p, Operand location, Loc loc) {
  return Of("stats::bernoulli::logpmf", {k, p, location}, loc,
            [](const Xs& v) { return BernoulliLogMass(v); });
}
Array pmf(Operand k, Operand p, Operand location, Loc loc) {
  return Of("stats::bernoulli::pmf", {k, p, location}, loc,
            [](const Xs& v) { return Exp(BernoulliLogMass(v)); });
}
Array cdf(Operand x, Operand p, Loc loc) {
  return Of("stats::bernoulli::cdf", {x, p}, loc, [](const Xs& v) { return BernoulliBelow(v); });
}
Array ppf(Operand q, Operand p, Loc loc) {
  return Of("stats::bernoulli::ppf", {q, p}, loc, [](const Xs& v) { return BernoulliQuantile(v); });
}
}  // namespace bernoulli

namespace geom {
Array logpmf(Operand k, Operand p, Operand location, Loc loc) {
  return Of("stats::geom::logpmf", {k, p, location}, loc,
            [](const Xs& v) { return GeomLogMass(v); });
}
Array pmf(Operand k, Operand p, Operand location, Loc loc) {
  return Of("stats::geom::pmf", {k, p, location}, loc,
            [](const Xs& v) { return Exp(GeomLogMass(v)); });
}
}  // namespace geom

namespace nbinom {
Array logpmf(Operand k, Operand n, Operand p, Operand location, Loc loc) {
  return Of("stats::nbinom::logpmf", {k, n, p, location}, loc,
            [](const Xs& v) { return NbinomLogMass(v); });
}
Array pmf(Operand k, Operand n, Operand p, Operand location, Loc loc) {
  return Of("stats::nbinom::pmf", {k, n, p, location}, loc,
            [](const Xs& v) { return Exp(NbinomLogMass(v)); });
}
}  // namespace nbinom

namespace betabinom {
Array logpmf(Operand k, Operand n, Operand a, Operand b, Operand location, Loc loc) {
  return Of("stats::betabinom::logpmf", {k, n, a, b, location}, loc,
            [](const Xs& v) { return BetabinomLogMass(v); });
}
Array pmf(Operand k, Operand n, Operand a, Operand b, Operand location, Loc loc) {
  return Of("stats::betabinom::pmf", {k, n, a, b, location}, loc,
            [](const Xs& v) { return Exp(BetabinomLogMass(v)); });
}
}  // namespace betabinom

namespace {

Located Sum(const Located& x, int64_t dim, bool keep = false) {
  return x.With(sum(x, Dims(static_cast<int>(dim)), {.keepdims = keep}, x.loc()));
}

Array MultinomialLogMass(const Operand& k, const Operand& n, const Operand& p, Call call) {
  const Array counts = ToArray(k, call), trials = ToArray(n, call);
  for (const Array& x : {counts, trials})
    if (!TypeOf(x)->dtype().is_integer())
      FailDType(call, 15, fmt::format("counts and trials are ints, not {}", TypeOf(x)->text()));
  const Located chance(Widened(ToFloat(p, call), call), call.loc);
  const Located x = chance.With(Convert(counts, chance.dtype(), call)),
                all = chance.With(Convert(trials, chance.dtype(), call));
  const Located made = Lgamma(all + 1) + Sum(Xlogy(x, chance) - Lgamma(x + 1), -1);
  return If((Sum(x, -1) != all) & (made == made), -kInf, made);
}

Array DirichletLogDensity(const Array& given, const Array& alpha, Call call) {
  const Loc loc = call.loc;
  if (Rank(alpha) != 1 || Rank(given) < 1)
    FailShape(call, 17,
              fmt::format("alpha has rank 1 and x rank 1 or more, not {} and {}", Rank(alpha),
                          Rank(given)));
  const int64_t m = ShapeOf(alpha)[0], own = ShapeOf(given)[0];
  if (own != m && own != m - 1)
    FailShape(call, 18, fmt::format("x has {} probabilities for {} concentrations", own, m));
  Located x(given, loc);
  if (own != m) x = x.With(concatenate({x, 1 - Sum(x, 0, true)}, 0, loc));
  base::Shape shape(base::Size(Rank(given)), 1);
  shape[0] = m;
  const Located a(alpha, loc), wide = a.With(Reshape(alpha, shape, call));
  const Located constant = Sum(Lgamma(a), 0) - Lgamma(Sum(a, 0));
  const Located is_low = x <= 0;
  const Located is_outside = x.With(any(is_low, 0, {}, loc)) | (Abs(Sum(x, 0) - 1) >= 1e-6);
  const Located made = Sum(Xlogy(wide - 1, If(is_low, 1.0, x)), 0) - constant;
  return If(is_outside & (made == made), -kInf, made);
}

// C18: throws ShapeError unless the shapes are those of numbers, or of vectors of one size.
void CheckNormal(const Array& x, const Array& mean, const Array& covariance, Call call) {
  const base::Shape &shape = ShapeOf(covariance), &of_mean = ShapeOf(mean), &of_x = ShapeOf(x);
  if (of_mean.empty()) {
    if (shape.empty()) return;
    FailShape(call, 18, fmt::format("a covariance of shape {} for numbers", ir::FieldText(shape)));
  }
  const int64_t n = of_mean.back();
  if (of_x.empty() || of_x.back() != n)
    FailShape(call, 18, fmt::format("x of shape {} for a mean of size {}", ir::FieldText(of_x), n));
  if (shape.empty()) return;
  if (shape.size() < 2 || shape[shape.size() - 1] != n || shape[shape.size() - 2] != n)
    FailShape(
        call, 18,
        fmt::format("a covariance of shape {} for vectors of size {}", ir::FieldText(shape), n));
}

Array NormalLogDensity(const Array& given, const Array& mean, const Array& covariance, Call call) {
  const Loc loc = call.loc;
  const Located x(given, loc), mu(mean, loc), c(covariance, loc);
  constexpr double kLogTwoPi = 1.8378770664093454836;
  CheckNormal(given, mean, covariance, call);
  if (Rank(mean) == 0) return -0.5 * (Square(x - mu) / c + kLogTwoPi + Log(c));
  const int64_t n = ShapeOf(mean).back();
  const auto quadratic = [&](const Located& y) { return Sum(Square(y), -1); };
  const auto size = static_cast<double>(n);
  if (Rank(covariance) == 0) return -0.5 * (quadratic(x - mu) / c + size * (kLogTwoPi + Log(c)));
  const Located root = x.With(linalg::cholesky(covariance, {}, loc));
  const Located away = x - mu;
  const Array column = expand_dims(away, -1, loc);
  base::Shape batch = ShapeOf(column);
  base::Shape of_root = ShapeOf(root);
  const size_t rank = std::max(batch.size(), of_root.size());
  batch.insert(batch.begin(), rank - batch.size(), 1);
  of_root.insert(of_root.begin(), rank - of_root.size(), 1);
  for (size_t d = 0; d + 2 < rank; ++d) batch[d] = of_root[d] = std::max(batch[d], of_root[d]);
  const Array y = linalg::solve_triangular(BroadcastTo(root, of_root, call),
                                           BroadcastTo(column, batch, call), {.lower = true}, loc);
  const Located logs = Log(root.With(diagonal(root, {.dim1 = -2, .dim2 = -1}, loc)));
  return -0.5 * (quadratic(x.With(squeeze(y, -1, loc))) + size * kLogTwoPi) - Sum(logs, -1);
}

// Returns f of the operands in one floating dtype, each with its own rank.
template <class F>
Array OfVectors(const char* name, const std::vector<Operand>& operands, Loc loc, const F& f) {
  const Call call{name, loc};
  Arguments arguments;
  for (const Operand& x : operands) arguments.emplace_back(x);
  return AsOne(call, arguments, [&](const Operands& given) -> Array {
    const DType t = TypeOf(PromoteFloat(given, call)[0])->dtype();
    std::vector<Array> xs;
    for (const Operand& x : given) xs.push_back(Widened(Convert(ToArray(x, call), t, call), call));
    return Convert(f(xs, call), t, call);
  });
}

}  // namespace

namespace multinomial {
Array logpmf(Operand k, Operand n, Operand p, Loc loc) {
  const Call call{"stats::multinomial::logpmf", loc};
  return AsOne(call, {{"k", k}, {"n", n}, {"p", p}},
               [&](const Operands& xs) { return MultinomialLogMass(xs[0], xs[1], xs[2], call); });
}
Array pmf(Operand k, Operand n, Operand p, Loc loc) {
  const Call call{"stats::multinomial::pmf", loc};
  return AsOne(call, {{"k", k}, {"n", n}, {"p", p}}, [&](const Operands& xs) {
    return exp(MultinomialLogMass(xs[0], xs[1], xs[2], call), loc);
  });
}
}  // namespace multinomial

namespace dirichlet {
Array logpdf(Operand x, Operand alpha, Loc loc) {
  return OfVectors("stats::dirichlet::logpdf", {x, alpha}, loc, [](const auto& xs, Call call) {
    return DirichletLogDensity(xs[0], xs[1], call);
  });
}
Array pdf(Operand x, Operand alpha, Loc loc) {
  return OfVectors("stats::dirichlet::pdf", {x, alpha}, loc, [](const auto& xs, Call call) {
    return exp(DirichletLogDensity(xs[0], xs[1], call), call.loc);
  });
}
}  // namespace dirichlet

namespace multivariate_normal {
Array logpdf(Operand x, Operand mean, Operand covariance, Loc loc) {
  return OfVectors(
      "stats::multivariate_normal::logpdf", {x, mean, covariance}, loc,
      [](const auto& xs, Call call) { return NormalLogDensity(xs[0], xs[1], xs[2], call); });
}
Array pdf(Operand x, Operand mean, Operand covariance, Loc loc) {
  return OfVectors("stats::multivariate_normal::pdf", {x, mean, covariance}, loc,
                   [](const auto& xs, Call call) {
                     return exp(NormalLogDensity(xs[0], xs[1], xs[2], call), call.loc);
                   });
}
}  // namespace multivariate_normal

}  // namespace tessera::stats
