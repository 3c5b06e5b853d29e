// Functions that are made of several ops: the same bits run one by one and fused, over every
// exponent, and no error beyond what their formula has.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cstring>
#include <functional>
#include <numbers>

#include "accuracy.h"
#include "fuzz.h"

namespace tessera::suite {
namespace {

struct Composite {
  const char* name;
  std::function<Array(Array)> function;
  std::function<Real(Real)> want;
  double units;  // f32 and f64; what is rounded in between to 8 or 11 bits has no such bound
};

Real TanhGelu(Real x) {
  const Real t = std::sqrt(2 / std::numbers::pi_v<Real>) * (x + 0.044715L * x * x * x);
  return x / (1 + std::exp(-2 * t));
}
Real Softplus(Real x) { return std::max<Real>(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

const std::vector<Composite>& Composites() {
  static const std::vector<Composite> table = {
      {"log2", [](Array x) { return log2(x); }, [](Real x) { return std::log2(x); }, 4},
      {"log10", [](Array x) { return log10(x); }, [](Real x) { return std::log10(x); }, 4},
      {"softplus", [](Array x) { return softplus(x); }, Softplus, 4},
      {"hypot", [](Array x) { return hypot(x, 1); }, [](Real x) { return std::hypot(x, Real{1}); },
       4},
      // x times a subnormal logistic(x).
      {"silu", [](Array x) { return silu(x); }, [](Real x) { return x / (1 + std::exp(-x)); }, 800},
      // An error in t counts t times in e^t.
      {"gelu", [](Array x) { return gelu(x, {.approximate = true}); }, TanhGelu, 4000},
      {"gelu of erf", [](Array x) { return gelu(x, {.approximate = false}); },
       [](Real x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2_v<Real>); }, 4000},
  };
  return table;
}

TEST(Composites, AreAccurateOneByOneAndFused) {
  for (DType dtype : {f16, bf16, f32, f64}) {
    const std::vector<double> numbers = AllExponents(dtype, FuzzCount(dtype == f64 ? 4 : 32));
    const Array x = astype(array(numbers, {.dtype = f64}), dtype);
    for (const Composite& c : Composites()) {
      const auto eager = astype(c.function(x), f64).to_vector<double>();
      const auto fused = astype(jit(c.function)(x), f64).to_vector<double>();
      double worst = 0;
      size_t at = 0;
      for (size_t i = 0; i < numbers.size(); ++i) {
        if (std::isinf(numbers[i])) continue;  // -inf times 0 is NaN, as in JAX
        const double units = Units(eager[i], c.want(numbers[i]), FormatOf(dtype), 0);
        if (units > worst) worst = units, at = i;
        const bool same = std::memcmp(&eager[i], &fused[i], sizeof(double)) == 0;
        ASSERT_TRUE(same || (std::isnan(eager[i]) && std::isnan(fused[i])))
            << c.name << " " << dtype.name() << " of " << numbers[i] << ": " << eager[i]
            << " one by one, " << fused[i] << " fused";
      }
      if (dtype.size() > 2) {
        EXPECT_LE(worst, c.units) << c.name << " " << dtype.name() << " of " << numbers[at]
                                  << ": got " << eager[at];
      }
    }
  }
}

}  // namespace
}  // namespace tessera::suite
