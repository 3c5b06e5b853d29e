// The long double references of the accuracy table against MPFR. Their errors are a small part of a
// unit of f64, so the table shows the errors of our functions, not those of libm.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <functional>
#include <map>

#include "elementwise_rows.h"
#include "fuzz.h"

namespace tessera::suite::references_test {
namespace {

constexpr double kMost = 0.1;                // units of f64
constexpr mpfr_prec_t kPrecisionBits = 200;  // more than any cancellation here needs

class Big {
 public:
  explicit Big(Real x = 0) {
    mpfr_init2(value_, kPrecisionBits);
    mpfr_set_ld(value_, x, MPFR_RNDN);
  }
  Big(const Big& b) : Big() { mpfr_set(value_, b.value_, MPFR_RNDN); }
  ~Big() { mpfr_clear(value_); }
  Big& operator=(const Big& b) {
    mpfr_set(value_, b.value_, MPFR_RNDN);
    return *this;
  }
  operator mpfr_ptr() { return value_; }
  operator mpfr_srcptr() const { return value_; }
  Real real() const { return mpfr_get_ld(value_, MPFR_RNDN); }

 private:
  mpfr_t value_;
};

template <auto kFunction>
Big Of(const Big& x) {
  Big y;
  kFunction(y, x, MPFR_RNDN);
  return y;
}
template <auto kFunction>
Big OfTwo(const Big& x, const Big& y) {
  Big z;
  kFunction(z, x, y, MPFR_RNDN);
  return z;
}
Big operator+(const Big& x, const Big& y) { return OfTwo<mpfr_add>(x, y); }
Big operator-(const Big& x, const Big& y) { return OfTwo<mpfr_sub>(x, y); }
Big operator*(const Big& x, const Big& y) { return OfTwo<mpfr_mul>(x, y); }
Big operator/(const Big& x, const Big& y) { return OfTwo<mpfr_div>(x, y); }

Big Lgamma(const Big& x) {
  Big y;
  int sign;
  mpfr_lgamma(y, &sign, x, MPFR_RNDN);
  return y;
}
Big Logistic(const Big& x) { return Big(1) / (Big(1) + Of<mpfr_exp>(Big(0) - x)); }
// A Newton step from the reference doubles its digits.
Big ErfInv(const Big& x) {
  if (!(std::fabs(x.real()) < 1)) return Big(ErfInvReal(x.real()));
  const Big y(ErfInvReal(x.real()));
  Big root_pi;
  mpfr_const_pi(root_pi, MPFR_RNDN);
  root_pi = Of<mpfr_sqrt>(root_pi);
  return y - (Of<mpfr_erf>(y) - x) * root_pi / Big(2) * Of<mpfr_exp>(y * y);
}

using OfOne = std::function<Big(const Big&)>;
const std::map<std::string, OfOne>& FunctionsOfOne() {
  static const std::map<std::string, OfOne> functions = {
      {"exp", Of<mpfr_exp>},         {"exp2", Of<mpfr_exp2>},   {"expm1", Of<mpfr_expm1>},
      {"log", Of<mpfr_log>},         {"log1p", Of<mpfr_log1p>}, {"sqrt", Of<mpfr_sqrt>},
      {"rsqrt", Of<mpfr_rec_sqrt>},  {"cbrt", Of<mpfr_cbrt>},   {"sin", Of<mpfr_sin>},
      {"cos", Of<mpfr_cos>},         {"tan", Of<mpfr_tan>},     {"asin", Of<mpfr_asin>},
      {"acos", Of<mpfr_acos>},       {"atan", Of<mpfr_atan>},   {"sinh", Of<mpfr_sinh>},
      {"cosh", Of<mpfr_cosh>},       {"tanh", Of<mpfr_tanh>},   {"asinh", Of<mpfr_asinh>},
      {"acosh", Of<mpfr_acosh>},     {"atanh", Of<mpfr_atanh>}, {"erf", Of<mpfr_erf>},
      {"erfc", Of<mpfr_erfc>},       {"erf_inv", ErfInv},       {"lgamma", Lgamma},
      {"digamma", Of<mpfr_digamma>}, {"logistic", Logistic}};
  return functions;
}

TEST(References, OfOneNumberAreRight) {
  std::vector<double> all = AllExponents(f64, FuzzCount(1)), numbers;
  for (double x : HardNumbers(f64)) all.push_back(x);
  for (size_t i = 0; i < all.size(); i += 5) numbers.push_back(all[i]);
  const Format format = FormatOf(f64);
  for (const UnaryRow& row : UnaryRows()) {
    const auto exact = FunctionsOfOne().find(row.name);
    if (exact == FunctionsOfOne().end()) continue;
    double worst = 0, at = 0;
    for (double x : numbers) {
      if (!std::isfinite(x) || x == 0) continue;
      const double units = Units(row.want(x), exact->second(Big(x)).real(), format, row.least);
      if (units > worst) worst = units, at = x;
    }
    EXPECT_LE(worst, kMost) << row.name << " of " << at << ": " << row.want(at);
  }
}

TEST(References, OfTwoNumbersAreRight) {
  const std::map<std::string, std::function<Big(const Big&, const Big&)>> functions = {
      {"pow", OfTwo<mpfr_pow>}, {"atan2", OfTwo<mpfr_atan2>}, {"rem", OfTwo<mpfr_fmod>}};
  std::vector<double> x, y;
  Pairs(f64, FuzzCount(3000), x, y);
  for (const BinaryRow& row : BinaryRows()) {
    const auto exact = functions.find(row.name);
    if (exact == functions.end()) continue;
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(
          Units(row.want(x[i], y[i]), exact->second(Big(x[i]), Big(y[i])).real(), FormatOf(f64), 0),
          kMost)
          << row.name << " of " << x[i] << ", " << y[i] << ": " << row.want(x[i], y[i]);
  }
}

// zeta(s, q) is the sum of (q + k)^-s. For q = 1 it is Riemann's function, and for q = 1/2
// it is 2^s - 1 times that.
TEST(References, ZetaIsRight) {
  for (double s : {1.0009765625, 1.5, 2.0, 3.0, 4.25, 7.0, 12.0}) {
    const Big riemann = Of<mpfr_zeta>(Big(s));
    for (double first : {1.0, 0.5}) {
      Big want = first == 1 ? riemann : (Of<mpfr_exp2>(Big(s)) - Big(1)) * riemann;
      for (double q = first; q < 40; q += 1) {
        EXPECT_LE(Units(ZetaReal(s, q), want.real(), FormatOf(f64), 0), kMost) << s << ", " << q;
        want = want - OfTwo<mpfr_pow>(Big(q), Big(-s));
      }
    }
  }
}

// e^-|x| times the power series, which has no cancellation.
TEST(References, BesselFunctionsAreRight) {
  for (int n : {0, 1}) {
    for (double x : AllExponents(f64, 1)) {
      if (!(std::fabs(x) < 700) || std::fabs(x) < 1e-300) continue;
      const Big half = Big(std::fabs(x)) / Big(2);
      Big term = n == 0 ? Big(1) : half, sum;
      for (int k = 1; mpfr_zero_p(sum) || (term / sum).real() > 1e-30L; ++k) {
        sum = sum + term;
        term = term * half * half / Big(Real(k) * (k + n));
      }
      sum = sum * Of<mpfr_exp>(Big(-std::fabs(x)));
      EXPECT_LE(Units(std::fabs(ScaledBessel(n, x)), sum.real(), FormatOf(f64), 0), kMost)
          << n << " of " << x;
    }
  }
}

}  // namespace
}  // namespace tessera::suite::references_test
