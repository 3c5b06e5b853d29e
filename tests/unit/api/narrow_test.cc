// Functions of f16 and bf16 whose squares or sums overflow or become 0 have the values of f64,
// rounded to the dtype.
#include <gmock/gmock.h>
#include <tessera/linalg.h>
#include <tessera/nn.h>
#include <tessera/signal.h>
#include <tessera/statistics.h>
#include <tessera/tessera.h>

#include <cmath>
#include <functional>

namespace tessera::narrow_test {
namespace {

struct Case {
  const char* name;
  std::function<Array(Array)> f;  // of x [4, 64]
  // The scales of x: at least, because f32 cancels below, and at most, because results overflow.
  double least = 0, most = INFINITY;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"mean", [](Array x) { return mean(x, 1); }},
      {"average", [](Array x) { return average(x, 1, {.weights = abs(x)}); }},
      {"var.of_root", [](Array x) { return sqrt(var(x, 1, {.dtype = f64})); }},
      {"stddev", [](Array x) { return stddev(x, 1); }},
      {"stddev.ddof", [](Array x) { return stddev(x, 0, {.ddof = 1}); }},
      {"norm", [](Array x) { return norm(x, 1); }, 0, 500},
      {"norm.3", [](Array x) { return norm(x, 1, {.ord = 3}); }, 0, 500},
      {"norm.1.5", [](Array x) { return norm(x, 0, {.ord = 1.5}); }},
      {"norm.inf", [](Array x) { return norm(x, 1, {.ord = INFINITY}); }},
      {"norm.frobenius",
       [](Array x) {
         return norm(x, {0, 1}, {.ord = "fro"});
       },
       0, 500},
      {"nanmean", [](Array x) { return nanmean(x, 1); }},
      {"nanstd", [](Array x) { return nanstd(x, 1); }},
      {"median", [](Array x) { return median(x, 1); }},
      {"nanmedian", [](Array x) { return nanmedian(x, 1); }},
      {"quantile", [](Array x) { return quantile(x, 0.3, 1); }},
      {"nanquantile", [](Array x) { return nanquantile(x, 0.3, 1); }},
      {"corrcoef", [](Array x) { return corrcoef(x); }},
      {"layer_norm", [](Array x) { return layer_norm(x, 1.0, 0.0, -1, {.epsilon = 0}); }},
      {"standardize", [](Array x) { return standardize(x, -1, {.epsilon = 0}); }},
      {"rms_norm", [](Array x) { return rms_norm(x, 1.0, -1, {.epsilon = 0}); }},
      {"group_norm",
       [](Array x) { return group_norm(x, ones({64}), zeros({64}), 4, {.epsilon = 0}); }},
      {"instance_norm",
       [](Array x) {
         return instance_norm(reshape(x, {4, 8, 8}), ones({8}), zeros({8}), {.epsilon = 0});
       }},
      {"batch_norm",
       [](Array x) { return batch_norm(x, ones({64}), zeros({64}), {.epsilon = 0}).y; }},
      {"softmax", [](Array x) { return softmax(x); }},
      {"log_softmax", [](Array x) { return log_softmax(x); }},
      {"logsumexp", [](Array x) { return logsumexp(x, 1); }},
      {"logmeanexp", [](Array x) { return logmeanexp(x, 1); }, 1},
      {"cross_entropy",
       [](Array x) {
         return cross_entropy(x, array({0, 1, 2, -1}));
       }},
      {"cross_entropy.smoothing",
       [](Array x) {
         return cross_entropy(x, array({0, 1, 2, -1}), {.smoothing = 0.1});
       }},
      {"trapezoid", [](Array x) { return trapezoid(x, {.dx = 0.125}); }},
      {"gradient", [](Array x) { return gradient(x, 1)[0]; }},
      {"interp",
       [](Array x) {
         return interp(x, array({-1e5, 0.0, 1e5}), array({-1.0, 0.0, 1.0}));
       },
       1},
      {"interp.values",
       [](Array x) {
         return interp(array({0.25, 0.75}).astype(x.dtype()), array({0.0, 1.0}).astype(x.dtype()),
                       stack({max(x, All), min(x, All)}, 0));
       }},
      {"clip_by_global_norm",
       [](Array x) {
         const Optimiser o = optimisers::clip_by_global_norm(1);
         return o.update(x, o.init(x), x).updates;
       }},
      {"clip_by_block_rms",
       [](Array x) {
         const Optimiser o = optimisers::clip_by_block_rms(1);
         return o.update(x, o.init(x), x).updates;
       }},
      {"scale_by_trust_ratio",
       [](Array x) {
         const Optimiser o = optimisers::scale_by_trust_ratio();
         return o.update(x, o.init(x), x).updates;
       }},
      {"scale_by_adam",
       [](Array x) {
         const Optimiser o = optimisers::scale_by_adam();
         return o.update(x, o.init(x), x).updates;
       }},
      {"rmsprop",
       [](Array x) {
         const Optimiser o = optimisers::rmsprop(1, {.eps = 0, .centered = true});
         return o.update(x, o.init(x), x).updates;
       }},
      {"adafactor",
       [](Array x) {
         const Optimiser o = optimisers::adafactor(1, {.min_dim_size_to_factor = 2});
         return o.update(x, o.init(x), ones({4, 64}, {.dtype = x.dtype()})).updates;
       }},
      {"lamb",
       [](Array x) {
         const Optimiser o = optimisers::lamb(0.01);
         return o.update(x, o.init(x), ones({4, 64}, {.dtype = x.dtype()})).updates;
       }},
      {"lion",
       [](Array x) {
         const Optimiser o = optimisers::lion(0.01);
         return o.update(x, o.init(x), zeros({4, 64}, {.dtype = x.dtype()})).updates;
       }},
  };
  return cases;
}

// Expects f of the narrow numbers to be f of the same numbers in f64, to a few roundings.
void ExpectAsWide(const Case& c, const Array& narrow) {
  const Array got = c.f(narrow), want = c.f(narrow.astype(f64));
  const double unit = narrow.dtype() == bf16 ? 0x1p-8 : 0x1p-11;
  const double tiny = narrow.dtype() == bf16 ? 0x1p-126 : 0x1p-24;
  const double most = narrow.dtype() == bf16 ? 0x1p127 : 65504;
  const std::vector<double> a = got.astype(f64).to_vector<double>(),
                            b = want.astype(f64).to_vector<double>();
  ASSERT_EQ(a.size(), b.size());
  double size = 0;  // of the results: differences are rounded as the largest of them
  for (double x : b) size = std::max(size, std::abs(x));
  ASSERT_LE(size, most) << "a case whose result overflows";
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], 4 * unit * size + 2 * tiny) << "element " << i;
}

TEST(NarrowFloats, AreComputedInF32) {
  for (DType t : {f16, bf16})
    for (double scale : {1e-4, 1.0, 500.0, 3e4})
      for (const Case& c : Cases()) {
        if (scale < c.least || scale > c.most) continue;
        SCOPED_TRACE(testing::Message() << c.name << " of " << t.name() << " times " << scale);
        const Array x = cos(reshape(arange(256, {.dtype = f64}), {4, 64}) * 1.7) + 0.25;
        ExpectAsWide(c, (x * scale).astype(t));
      }
}

}  // namespace
}  // namespace tessera::narrow_test
