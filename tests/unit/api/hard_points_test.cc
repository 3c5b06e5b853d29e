// Derivatives at kinks, ties, poles and limits of functions. They equal those of JAX 0.10, except
// for a few whose comments give JAX's value.
#include <gtest/gtest.h>
#include <tessera/tessera.h>

#include <cmath>
#include <functional>
#include <limits>

namespace tessera::hard_points_test {
namespace {

using Arrays = std::vector<Array>;
using Numbers = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

Array Doubles(const Numbers& values) { return array(values, {.dtype = f64}); }

// A function, where it is differentiated, and the gradient of its sum in each argument.
struct Case {
  const char* name;
  std::function<Array(const Arrays&)> f;
  std::vector<Numbers> at, gradients;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"logistic",
       [](const Arrays& v) { return logistic(v[0]); },
       {{-1000, -50, -1.0000000000000001e-30, 0, 1.0000000000000001e-30, 50, 1000, kInf, -kInf}},
       {{0, 1.9287498479639181e-22, 0.25, 0.25, 0.25, 0, 0, 0, 0}}},
      {"softplus",
       [](const Arrays& v) { return softplus(v[0]); },
       {{-1000, -50, -1.0000000000000001e-30, 0, 1.0000000000000001e-30, 50, 1000, kInf, -kInf}},
       {{0, 1.9287498479639178e-22, 0.5, 0.5, 0.5, 1, 1, 1, 0}}},
      {"silu",
       [](const Arrays& v) { return silu(v[0]); },
       {{-1000, -50, 0, 50, 1000}},
       {{0, -9.4508742550231985e-21, 0.5, 1, 1}}},
      {"gelu",
       [](const Arrays& v) { return gelu(v[0], {.approximate = false}); },
       {{-1000, -50, 0, 50, 1000}},
       {{0, 0, 0.5, 1, 1}}},
      {"gelu_tanh",
       [](const Arrays& v) { return gelu(v[0]); },
       {{-1000, -50, 0, 50, 1000}},
       {{0, 0, 0.5, 1, 1}}},
      {"sqrt", [](const Arrays& v) { return sqrt(v[0]); }, {{0, 4, kInf}}, {{kInf, 0.25, 0}}},
      {"cbrt",
       [](const Arrays& v) { return cbrt(v[0]); },
       {{0, 8}},
       {{kInf, 0.083333333333333329}}},
      {"rsqrt",
       [](const Arrays& v) { return rsqrt(v[0]); },
       {{0, 4, kInf}},
       {{-kInf, -0.0625, -0}}},
      {"log", [](const Arrays& v) { return log(v[0]); }, {{0, 2, kInf}}, {{kInf, 0.5, 0}}},
      {"tanh",
       [](const Arrays& v) { return tanh(v[0]); },
       {{-1000, -50, -1.0000000000000001e-30, 0, 1.0000000000000001e-30, 50, 1000, kInf, -kInf}},
       {{0, 0, 1, 1, 1, 0, 0, 0, 0}}},
      {"square", [](const Arrays& v) { return square(v[0]); }, {{0, kInf}}, {{0, kInf}}},
      {"where_sqrt",
       [](const Arrays& v) { return where(v[0] > 0, sqrt(where(v[0] > 0, v[0], 1.0)), 0.0); },
       {{-1, 0, 4}},
       {{0, 0, 0.25}}},
      {"where_nan",
       [](const Arrays& v) { return where(v[0] > 0, log(v[0]), v[0]); },
       {{-1, 0, 4}},
       {{1, kNan, 0.25}}},
      {"logsumexp",
       [](const Arrays& v) { return logsumexp(v[0]); },
       {{1000, 1000, -1000}},
       {{0.5, 0.5, 0}}},
      {"logsumexp_inf",
       [](const Arrays& v) { return logsumexp(v[0]); },
       {{-kInf, -kInf}},
       {{kNan, kNan}}},
      {"logsumexp_one_inf",
       [](const Arrays& v) { return logsumexp(v[0]); },
       {{-kInf, 0, 1}},
       {{0, 0.2689414213699951, 0.7310585786300049}}},
      {"softmax",
       [](const Arrays& v) {
         return softmax(v[0]) * Doubles({1, 2, 3});
       },
       {{1000, 0, -1000}},
       {{0, 0, 0}}},
      {"log_softmax",
       [](const Arrays& v) {
         return log_softmax(v[0]) * Doubles({1, 2, 3});
       },
       {{1000, 0, -1000}},
       {{-5, 2, 3}}},
      {"logsumexp_inf_beside",
       [](const Arrays& v) { return logsumexp(v[0]); },
       {{kInf, kInf, 0}},
       {{kNan, kNan, 0}}},
      {"softmax_one_inf",
       [](const Arrays& v) {
         return softmax(v[0]) * Doubles({1, 2, 3});
       },
       {{-kInf, 0, 1}},
       {{0, -0.19661193324148182, 0.19661193324148196}}},
      {"softmax_ties",
       [](const Arrays& v) {
         return softmax(v[0]) * Doubles({1, 2, 3});
       },
       {{2, 2, 1}},
       {{-0.3095780944332167, 0.11274070381830148, 0.19683739061491543}}},
      {"softmax_inf",
       [](const Arrays& v) {
         return softmax(v[0]) * Doubles({1, 2});
       },
       {{kInf, 0}},
       {{kNan, kNan}}},
      {"softmax_all_inf",
       [](const Arrays& v) {
         return softmax(v[0]) * Doubles({1, 2});
       },
       {{-kInf, -kInf}},
       {{kNan, kNan}}},
      {"log_softmax_one_inf",
       [](const Arrays& v) {
         return log_softmax(v[0]) * Doubles({1, 2, 3});
       },
       {{-kInf, 0, 1}},
       {{1, 0.3863514717800293, -1.3863514717800296}}},
      {"log_softmax_ties",
       [](const Arrays& v) {
         return log_softmax(v[0]) * Doubles({1, 2, 3});
       },
       {{2, 2, 1}},
       {{-1.5339127895091091, -0.5339127895091091, 2.0678255790182183}}},
      {"max", [](const Arrays& v) { return max(v[0]); }, {{1, 2, 2, 0}}, {{0, 0.5, 0.5, 0}}},
      {"min", [](const Arrays& v) { return min(v[0]); }, {{0, 2, 2, 0}}, {{0.5, 0, 0, 0.5}}},
      {"maximum",
       [](const Arrays& v) { return maximum(v[0], v[1]); },
       {{1, 2, 3}, {1, 5, 0}},
       {{0.5, 0, 1}, {0.5, 1, 0}}},
      {"minimum",
       [](const Arrays& v) { return minimum(v[0], v[1]); },
       {{1, 2, 3}, {1, 5, 0}},
       {{0.5, 1, 0}, {0.5, 0, 1}}},
      {"clip",
       [](const Arrays& v) { return clip(v[0], 0.0, 1.0); },
       {{-1, 0, 0.5, 1, 2}},
       {{0, 0.5, 1, 0.5, 0}}},
      {"clamp",
       [](const Arrays& v) { return clamp(0.0, v[0], 1.0); },
       {{-1, 0, 0.5, 1, 2}},
       {{0, 0, 1, 0, 0}}},
      {"pow2", [](const Arrays& v) { return pow(v[0], 2); }, {{0, -3}}, {{0, -6}}},
      {"pow_half", [](const Arrays& v) { return pow(v[0], 0.5); }, {{0, 4}}, {{kInf, 0.25}}},
      {"prod1", [](const Arrays& v) { return prod(v[0]); }, {{0, 2, 3}}, {{6, 0, 0}}},
      {"prod2", [](const Arrays& v) { return prod(v[0]); }, {{0, 0, 3}}, {{0, 0, 0}}},
      {"cumprod", [](const Arrays& v) { return cumprod(v[0], 0); }, {{2, 0, 3}}, {{1, 8, 0}}},
      {"cummax",
       [](const Arrays& v) { return cummax(v[0], 0); },
       {{1, 1, 2, 0}},
       {{1.5, 0.5, 2, 0}}},
      {"cumlogsumexp",
       [](const Arrays& v) { return cumlogsumexp(v[0], 0); },
       {{1000, 1000, -1000}},
       {{2.0000000000000551, 1.0000000000000551, 0}}},
      {"atan2",
       [](const Arrays& v) { return atan2(v[0], v[1]); },
       {{0, 0, 1}, {0, 1, 0}},
       {{kNan, 1, 0}, {kNan, -0, -1}}},
      {"norm", [](const Arrays& v) { return norm(v[0]); }, {{3, 4}}, {{0.60000000000000009, 0.8}}},
      {"norm0", [](const Arrays& v) { return norm(v[0]); }, {{0, 0}}, {{kNan, kNan}}},
      {"std", [](const Arrays& v) { return stddev(v[0]); }, {{1, 1}}, {{kNan, kNan}}},
      {"var", [](const Arrays& v) { return var(v[0]); }, {{1, 1}}, {{0, 0}}},
      {"expm1", [](const Arrays& v) { return expm1(v[0]); }, {{0, -1000}}, {{1, 0}}},
      {"log1p", [](const Arrays& v) { return log1p(v[0]); }, {{0, -1}}, {{1, kInf}}},
      {"acosh",
       [](const Arrays& v) { return acosh(v[0]); },
       {{1, 2}},
       {{kInf, 0.57735026918962573}}},
      {"asin", [](const Arrays& v) { return asin(v[0]); }, {{1, -1, 0}}, {{kInf, kInf, 1}}},
      {"acos", [](const Arrays& v) { return acos(v[0]); }, {{1, -1, 0}}, {{-kInf, -kInf, -1}}},
      {"atanh", [](const Arrays& v) { return atanh(v[0]); }, {{1, 0}}, {{kInf, 1}}},
      {"erf", [](const Arrays& v) { return erf(v[0]); }, {{0, 100}}, {{1.1283791670955126, 0}}},
      {"erf_inv",
       [](const Arrays& v) { return erf_inv(v[0]); },
       {{0, 1}},
       {{0.88622692545275794, kInf}}},
      {"rem",
       [](const Arrays& v) { return rem(v[0], v[1]); },
       {{5, -5}, {3, 3}},
       {{1, 1}, {-1, 1}}},
      {"sign", [](const Arrays& v) { return sign(v[0]); }, {{0, 1}}, {{0, 0}}},
      {"floor", [](const Arrays& v) { return floor(v[0]); }, {{0, 1.5}}, {{0, 0}}},
      {"div",
       [](const Arrays& v) { return v[0] / v[1]; },
       {{0, 1}, {0, 0}},
       {{kInf, kInf}, {kNan, -kInf}}},
      {"xlogx", [](const Arrays& v) { return v[0] * log(v[0]); }, {{0, 1}}, {{kNan, 1}}},
      // At a kink between two slopes, as in JAX.
      {"relu", [](const Arrays& v) { return relu(v[0]); }, {{-1, 0, 1}}, {{0, 0, 1}}},
      {"abs", [](const Arrays& v) { return abs(v[0]); }, {{-1, 0, 1}}, {{-1, 1, 1}}},
      {"hypot",
       [](const Arrays& v) { return hypot(v[0], v[1]); },
       {{0, 3}, {0, 4}},
       {{0.5, 0.6}, {0.5, 0.8}}},
      // JAX: NaN in the base for 0^0, although x^0 is constant.
      {"pow",
       [](const Arrays& v) { return pow(v[0], v[1]); },
       {{0, 0, 0, 0, 2, -2, -2}, {0, 1, 2, 0.5, 0, 2, 3}},
       {{0, 1, 0, kInf, 0, -4, 12}, {0, 0, 0, 0, 0.69314718055994529, kNan, kNan}}},
      {"digamma",
       [](const Arrays& v) { return digamma(v[0]); },
       {{0.5, 1, -0.5, -1.5, 3.25, 100, 0, -1}},
       {{4.934802200544679309, 1.644934066848226436, 8.934802200544679309, 9.379246644989123754,
         0.3597982903095798751, 0.0100501666633335714, kInf, kInf}}},
      {"zeta_of_shift",
       [](const Arrays& v) { return zeta(Doubles({2.5, 2.5, 3}), v[0]); },
       {{0.5, 3, -0.5}},
       {{-29.05201165860473619, -0.09586379917184551469, -96.70454551700121862}}},
      {"polygamma",
       [](const Arrays& v) { return polygamma(array({0, 0, 1, 2, 3, 0, 2}), v[0]); },
       {{0.5, -0.5, 1.25, 2.5, -0.25, 0, 0}},
       {{4.934802200544679309, 8.934802200544679309, -1.327739937536920333, 0.2239058488172520513,
         24473.19939418458253, kInf, kInf}}},
      // JAX differs in these.
      // It has 9.7e19 and NaN.
      {"digamma_far_out",
       [](const Arrays& v) { return digamma(v[0]); },
       {{-10.25, kInf}},
       {{19.6462524246226528, 0}}},
      // The smaller operand has derivative 0 if the other one is infinite; JAX returns e.
      {"logaddexp",
       [](const Arrays& v) { return logaddexp(v[0], v[1]); },
       {{0, 1000, -kInf, -kInf, kInf}, {0, -1000, -kInf, 0, 1}},
       {{0.5, 1, kNan, 0, 1}, {0.5, 0, kNan, 1, 0}}},
  };
  return cases;
}

class HardPoints : public testing::TestWithParam<size_t> {};

TEST_P(HardPoints, HaveTheseDerivatives) {
  const Case& c = Cases()[GetParam()];
  Arrays at;
  for (const Numbers& values : c.at) at.push_back(Doubles(values));
  const Arrays got = grad([&](Arrays v) { return sum(c.f(v)); })(at);
  for (size_t i = 0; i < got.size(); ++i) {
    const Numbers values = got[i].to_vector<double>();
    for (size_t k = 0; k < values.size(); ++k) {
      const double want = c.gradients[i][k];
      if (std::isnan(want) && std::isnan(values[k])) continue;
      if (values[k] == want) continue;
      EXPECT_NEAR(values[k], want, 1e-10 * std::abs(want))
          << "argument " << i << ", at " << c.at[i][k];
    }
  }
}

// Numbers from mpmath with 40 digits.
TEST(Polygamma, HasTheDerivativesOfDigamma) {
  const struct {
    int n;
    double x, want;
  } cases[] = {{0, 0.5, -1.9635100260214234794},   {1, 2.5, 0.490357756100234864973},
               {2, 2.5, -0.236204051641727403004}, {3, 0.5, 97.40909103400243724},
               {3, -0.25, 1555.76331253485059976}, {5, 10.5, 0.000237047875076858515519}};
  for (const auto& c : cases)
    for (const auto& [dtype, epsilon] :
         {std::pair(f64, 0x1p-52), {f32, 0x1p-23}, {f16, 0x1p-10}, {bf16, 0x1p-7}}) {
      const Array x = array(c.x, {.dtype = dtype}), n = array(c.n);
      for (const Array& got : {polygamma(c.n, x), polygamma(n, x), polygamma(double(c.n), x)}) {
        EXPECT_EQ(got.dtype(), dtype);
        EXPECT_NEAR(got.astype(f64).item<double>(), c.want, 16 * epsilon * std::abs(c.want))
            << c.n << ", " << c.x;
      }
    }
  for (const Array& got : {polygamma(-1, 2.0), polygamma(0.5, 2.0), polygamma(-2, 2.0)})
    EXPECT_TRUE(std::isnan(got.item<float>()));
}

TEST(Polygamma, SecondDerivativesOfLgammaAreOfOrderOne) {
  const auto second = grad(grad([](Array x) { return lgamma(x); }));
  EXPECT_NEAR(second(array(3.25, {.dtype = f64})).item<double>(), 0.3597982903095798751, 1e-15);
}

INSTANTIATE_TEST_SUITE_P(All, HardPoints, testing::Range(size_t{0}, Cases().size()),
                         [](const auto& info) { return Cases()[info.param].name; });

// Where the arguments are equal, the maximum of the two has a kink, but logaddexp has none.
TEST(Logaddexp, HasASecondDerivativeAtEqualArguments) {
  const auto f = [](Array v) { return logaddexp(v[{0}], v[{1}]); };
  EXPECT_EQ(hessian(f)(Doubles({1, 1})).to_vector<double>(), (Numbers{0.25, -0.25, -0.25, 0.25}));
  EXPECT_EQ(hessian(f)(Doubles({kInf, kInf})).to_vector<double>(), (Numbers{0, 0, 0, 0}));
}

}  // namespace
}  // namespace tessera::hard_points_test
