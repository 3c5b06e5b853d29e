// Lesson 25: a Gaussian process whose matrix of covariances is sharded by rows. The factorisation
// and the solves exchange blocks, so no device holds the whole matrix.
#include <tessera/tessera.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <numbers>

#include "compare.h"

using namespace tessera;

constexpr int64_t kPoints = 256, kAt = 5;

struct Params {
  Array log_length, log_noise;
};
TESSERA_FIELDS(Params, log_length, log_noise);
struct Data {
  Array x, y;  // [n]: the values y at the points x
  Array at;    // [m]: points for which f is asked
};
TESSERA_FIELDS(Data, x, y, at);

// Returns the covariance of f at each point of a and each of b. Rows are sharded like a.
Array kernel(const Params& p, Array a, Array b) {
  Array distance = (expand_dims(a, 1) - reshard(b, P())) / exp(p.log_length);
  return exp(-0.5 * square(distance));
}

// Returns l of the covariance l l^T of y, and l^-1 y.
std::pair<Array, Array> factor(const Params& p, const Data& d) {
  Array noise = exp(2 * p.log_noise);
  Array l = linalg::cholesky(
      kernel(p, d.x, d.x) + noise * eye(kPoints, {.dtype = f64, .out_sharding = P("data")}),
      {.symmetrize_input = false, .out_sharding = P("data", None)});
  Array z = linalg::triangular_solve(
      l, expand_dims(d.y, 1), {.left_side = true, .lower = true, .out_sharding = P("data", None)});
  return {l, z};
}

// Returns the log marginal likelihood of y.
Array likelihood(const Params& p, const Data& d) {
  auto [l, z] = factor(p, d);
  Array log_det = sum(log(diagonal(l, {.out_sharding = P("data")})));
  return -0.5 * sum(square(z)) - log_det - 0.5 * kPoints * std::log(2 * std::numbers::pi);
}

// Returns the mean and the variance of f at the points asked for: K^T (l l^T)^-1 y, and 1 less the
// squares of l^-1 K.
std::pair<Array, Array> predict(const Params& p, const Data& d) {
  auto [l, z] = factor(p, d);
  Array v = linalg::triangular_solve(
      l, kernel(p, d.x, d.at), {.left_side = true, .lower = true, .out_sharding = P("data", None)});
  return {sum(v * z, 0), 1 - sum(square(v), 0)};
}

// Ascends the likelihood's gradient.
Params step(Params p, Data d) {
  Params slope = grad([&](const Params& q) { return likelihood(q, d); })(p);
  return tree_map([](Array a, Array g) { return a + 0.003 * g; }, p, slope);
}

struct Fit {
  Params params;
  Array likelihood, mean, variance;
};
TESSERA_FIELDS(Fit, params, likelihood, mean, variance);

Fit fit(const Data& all, int devices) {
  MeshScope scope(make_mesh({{"data", devices}}));
  Data d{reshard(all.x, P("data")), reshard(all.y, P("data")), all.at};
  Params p{array(0.5), array(-0.5)};
  // 1. The points are gathered, devices exchange panels of the matrix, and the terms of the
  //    likelihood are added up.
  auto likely = jit(likelihood);
  std::cout << devices << (devices == 1 ? " device\n" : " devices\n") << likely.lower(p, d).comm();
  // 2. The gradient runs the same blocks backwards.
  auto ascend = jit(step);
  for (int i = 0; i < 20; ++i) p = ascend(p, d);
  // 3. A prediction is a sum over the points, so over devices.
  auto [mean, variance] = jit(predict)(p, d);
  return {p, likely(p, d), mean, variance};
}

int main() {
  SetDeviceCount(4);
  auto [k1, k2] = random::split<2>(random::key(5));
  Array x = random::uniform(k1, {kPoints}, {.minval = -3, .maxval = 3}).astype(f64);
  Array noise = 0.2 * random::normal(k2, {kPoints}).astype(f64);
  Data d{x, sin(2 * x) + noise, linspace(-2, 4, kAt, {.dtype = f64})};
  Fit alone = fit(d, 1), f = fit(d, 4);
  compare("the fit", f, alone, 1e-8);

  std::printf("length %.2f, noise %.2f, log likelihood %.1f\n",
              exp(f.params.log_length).item<double>(), exp(f.params.log_noise).item<double>(),
              f.likelihood.item<double>());
  for (int64_t i = 0; i < kAt; ++i)
    std::printf("at %4.1f: %5.2f +- %.2f\n", d.at[{i}].item<double>(), f.mean[{i}].item<double>(),
                sqrt(f.variance[{i}]).item<double>());
}
