// Functions of complex numbers that the standard library lacks, or computes less accurately. They
// are accurate over the whole range of exponents, in the norm of the result.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

namespace tessera::kernels {

using Complex = std::complex<double>;

// The product without C's recovery of infinities from NaN, as in XLA.
template <class T>
inline std::complex<T> ComplexProduct(std::complex<T> x, std::complex<T> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

namespace complex_math {

inline bool IsFinite(Complex z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }
inline bool IsInfinite(Complex z) { return std::isinf(z.real()) || std::isinf(z.imag()); }

// Returns the exponent of the larger part of a finite number that is not 0.
inline int Exponent(Complex z) {
  return std::ilogb(std::max(std::fabs(z.real()), std::fabs(z.imag())));
}
inline Complex Scaled(Complex z, int exponent) {
  return {std::scalbn(z.real(), exponent), std::scalbn(z.imag(), exponent)};
}

// 1 for an infinite part and 0 for others, with the part's sign.
inline Complex Directions(Complex z) {
  return {std::copysign(std::isinf(z.real()) ? 1.0 : 0.0, z.real()),
          std::copysign(std::isinf(z.imag()) ? 1.0 : 0.0, z.imag())};
}

// x times the conjugate of y.
inline Complex TimesConjugate(Complex x, Complex y) {
  return {x.real() * y.real() + x.imag() * y.imag(), x.imag() * y.real() - x.real() * y.imag()};
}

// One operand is 0, infinite or NaN. The result is as in C (annex G), except that infinite parts of
// x are multiplied and added as they are, as in XLA, and so may give NaN.
inline Complex SpecialQuotient(Complex x, Complex y) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (y == Complex() && !(std::isnan(x.real()) && std::isnan(x.imag()))) {
    const double inf = std::copysign(kInf, y.real());
    return {inf * x.real(), inf * x.imag()};
  }
  if (IsInfinite(x) && IsFinite(y)) return TimesConjugate(x, y);
  if (IsInfinite(y) && IsFinite(x)) {
    const Complex p = TimesConjugate(x, Directions(y));
    return {0.0 * p.real(), 0.0 * p.imag()};
  }
  return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
}

inline Complex PlainQuotient(Complex x, Complex y) {
  const Complex p = TimesConjugate(x, y);
  const double norm = y.real() * y.real() + y.imag() * y.imag();
  return {p.real() / norm, p.imag() / norm};
}

// Whether products of such numbers stay in the range.
inline bool IsModerate(Complex z) {
  const double size = std::max(std::fabs(z.real()), std::fabs(z.imag()));
  return size > 0x1p-400 && size < 0x1p400;
}

// Large and small operands are scaled first, so no intermediate result leaves the range.
inline Complex Quotient(Complex x, Complex y) {
  if (IsModerate(x) && IsModerate(y)) return PlainQuotient(x, y);
  if (y == Complex() || !IsFinite(x) || !IsFinite(y)) return SpecialQuotient(x, y);
  const int by = Exponent(y), of = x == Complex() ? 0 : Exponent(x);
  return Scaled(PlainQuotient(Scaled(x, -of), Scaled(y, -by)), of - by);
}

inline Complex Sign(Complex z) {
  if (z == Complex()) return z;
  const double size = std::hypot(z.real(), z.imag());
  if (!std::isfinite(size) && !IsFinite(z)) return {z.real() / size, z.imag() / size};
  const Complex u = Scaled(z, -Exponent(z));
  const double length = std::hypot(u.real(), u.imag());
  return {u.real() / length, u.imag() / length};
}

// The number high + low, where `high` is that number rounded.
struct DoubleDouble {
  double high, low;
};
inline DoubleDouble ExactSum(double a, double b) {
  const double sum = a + b, b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}
inline DoubleDouble ExactSquare(double a) { return {a * a, std::fma(a, a, -(a * a))}; }

// log(|1 + z|) = log1p(2 x + x^2 + y^2) / 2, whose terms may cancel, so their sum is exact first.
inline Complex Log1p(Complex z) {
  const double x = z.real(), y = z.imag();
  constexpr double kLarge = 0x1p100, kSmall = 0x1p-500;
  const double angle = std::atan2(y, 1 + x);
  if (!(std::fabs(x) < kLarge && std::fabs(y) < kLarge))
    return {std::log(Complex(1 + x, y)).real(), angle};
  if (std::fabs(y) < kSmall && std::fabs(x) < 0.5) return {std::log1p(x), angle};
  const DoubleDouble xx = ExactSquare(x), yy = ExactSquare(y);
  const DoubleDouble first = ExactSum(2 * x, xx.high), all = ExactSum(first.high, yy.high);
  const double rest = first.low + all.low + xx.low + yy.low;
  if (all.high + rest < -0.5) return {std::log(Complex(1 + x, y)).real(), angle};
  return {std::log1p(all.high + rest) / 2, angle};
}

inline Complex Expm1(Complex z) {
  const double x = z.real(), y = z.imag();
  if (y == 0) return {std::expm1(x), y};
  if (!IsFinite(z) || x > 600) return std::exp(z) - 1.0;
  const double half = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y)};
}

// The angle y log(2) may be large, so its rounding error is kept and applied to the result.
inline Complex Exp2(Complex z) {
  constexpr double kLog2Rest = 2.3190468138462996e-17;  // log(2) minus its nearest f64
  const double y = z.imag(), size = std::exp2(z.real() / 2);
  if (y == 0) return {std::exp2(z.real()), y};
  const double angle = y * std::numbers::ln2;
  const double rest = std::fma(y, std::numbers::ln2, -angle) + y * kLog2Rest;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  return {size * (cosine - rest * sine) * size, size * (sine + rest * cosine) * size};
}

// 1 / (1 + e^-z). Near the poles, on the imaginary axis, tanh keeps the digits.
inline Complex Logistic(Complex z) {
  if (std::fabs(z.real()) < 1) return 0.5 + 0.5 * std::tanh(z / 2.0);
  if (z.real() > 0) return Quotient(1.0, 1.0 + std::exp(-z));
  const Complex e = std::exp(z);
  return Quotient(e, 1.0 + e);
}

inline Complex Rsqrt(Complex z) { return Quotient(1.0, std::sqrt(z)); }

// exp(y log x) with the logarithm in T, which has more digits than the result needs: the exponent
// may be large.
template <class T, class Log>
Complex PowBy(Complex x, Complex y, Log log) {
  if (y == Complex()) return 1.0;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (x == Complex()) return y.real() > 0 ? Complex() : Complex(nan, nan);
  const std::complex<T> power = ComplexProduct(std::complex<T>(y), log(std::complex<T>(x)));
  // In std::exp an infinite exponent would hide an angle that is NaN.
  const T size = std::exp(power.real()), angle = power.imag();
  return {static_cast<double>(size * std::cos(angle)), static_cast<double>(size * std::sin(angle))};
}
inline Complex Pow(Complex x, Complex y) {
  return PowBy<long double>(x, y, [](auto z) { return std::log(z); });
}
// The same for numbers from f32, whose squares stay in the range.
inline Complex PowOfFloats(Complex x, Complex y) {
  return PowBy<double>(x, y, [](Complex z) {
    return Complex(std::log(std::norm(z)) / 2, std::atan2(z.imag(), z.real()));
  });
}

// The angle of x + i y, for complex x and y: -i log((x + i y) / sqrt(x^2 + y^2)).
inline Complex Atan2(Complex y, Complex x) {
  const Complex sum(x.real() - y.imag(), x.imag() + y.real());
  const Complex size = std::sqrt(ComplexProduct(x, x) + ComplexProduct(y, y));
  const Complex log = std::log(Quotient(sum, size));
  return {log.imag(), -log.real()};
}

}  // namespace complex_math
}  // namespace tessera::kernels
