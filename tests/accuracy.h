// Errors in units of the last place, and numbers of every exponent.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "tessera/dtype.h"

namespace tessera {

using Real = long double;  // with more digits and exponents than any dtype

// The spacing of a dtype's numbers: `digits` bits; 2^least is the smallest number and 2^end the
// first one beyond the largest.
struct Format {
  int digits, least, end;
};
inline Format FormatOf(DType dtype) {
  if (dtype == f16) return {11, -24, 16};
  if (dtype == bf16) return {8, -133, 128};
  return dtype == f32 ? Format{24, -149, 128} : Format{53, -1074, 1024};
}

// |got - want| in units of the last place of `want`, or of `least` where want is smaller. Infinity
// counts as the number after the largest.
inline double Units(Real got, Real want, const Format& f, Real least) {
  constexpr double kWrong = 1e30;
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : kWrong;
  if (least == 0 && std::signbit(got) != std::signbit(want)) return kWrong;
  const Real end = std::ldexp(Real{1}, f.end);
  got = std::clamp(got, -end, end), want = std::clamp(want, -end, end);
  const Real scale = std::clamp(std::fabs(want), least, end / 2);
  const int exponent = scale == 0 ? f.least : std::ilogb(scale) - f.digits + 1;
  return static_cast<double>(std::ldexp(std::fabs(got - want), -std::max(exponent, f.least)));
}

// The number of a dtype that has these bits.
inline double NumberOf(DType dtype, uint64_t bits) {
  if (dtype == f64) return std::bit_cast<double>(bits);
  if (dtype == f32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (dtype == bf16) return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
  Float16 half;
  half.bits = static_cast<uint16_t>(bits);
  return static_cast<float>(half);
}
// The nearest number of a dtype.
inline double Rounded(DType dtype, Real x) {
  if (dtype == f64) return static_cast<double>(x);
  const float narrow = static_cast<float>(x);
  if (dtype == f16) return static_cast<float>(Float16(narrow));
  return dtype == bf16 ? static_cast<float>(BFloat16(narrow)) : narrow;
}
// The number of the format next to x on the way to y.
inline Real NextReal(Real x, Real y, const Format& f) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  if (x == y) return y;
  if (x == 0) return std::copysign(std::ldexp(Real{1}, f.least), y);
  const Real end = std::ldexp(Real{1}, f.end);
  const bool grows = (x < y) == (x > 0);
  const Real a = std::min(std::fabs(x), end);
  // Below a power of two numbers are twice as close.
  const int exponent = std::ilogb(a) - (!grows && std::ldexp(Real{1}, std::ilogb(a)) == a);
  const Real next =
      a + (grows ? 1 : -1) * std::ldexp(Real{1}, std::max(exponent - f.digits + 1, f.least));
  return std::copysign(next == end ? std::numeric_limits<Real>::infinity() : next, x);
}

// All numbers of 16 bits; of more, `each` with every exponent and sign, and as many in [-20, 20]
// and where functions of exp leave the dtype's range.
inline std::vector<double> AllExponents(DType dtype, int64_t each) {
  const int mantissa = FormatOf(dtype).digits - 1, width = dtype.size() * 8;
  const auto number = [&](uint64_t bits) { return NumberOf(dtype, bits); };
  std::vector<double> numbers;
  if (width == 16) {
    for (uint64_t bits = 0; bits < 65536; ++bits) numbers.push_back(number(bits));
    return numbers;
  }
  std::mt19937_64 random(11);
  for (uint64_t high = 0; high < uint64_t{1} << (width - mantissa); ++high)
    // The first of each exponent is a power of two, zero or infinite.
    for (int64_t k = 0; k < each; ++k)
      numbers.push_back(number(high << mantissa | (k == 0 ? 0 : random() >> (64 - mantissa))));
  for (double end : {20.0, dtype == f32 ? 130.0 : 1100.0}) {
    for (int64_t k = 0; k < 64 * each; ++k) {
      const double x = (static_cast<double>(random() >> 11) * 0x1p-52 - 1) * end;
      numbers.push_back(dtype == f32 ? static_cast<float>(x) : x);
    }
  }
  return numbers;
}

// Numbers of f32 or f64 at which functions are hard: close to where they are zero, turn, or leave
// one formula for another.
inline std::vector<double> HardNumbers(DType dtype) {
  std::vector<Real> centers;
  for (int k = -40; k <= 40; ++k) {
    centers.push_back(k / Real{4});
    centers.push_back(k * std::numbers::pi_v<Real> / 4);
  }
  for (Real center :
       {100.0L, 171.0L, 355.0L, 1e5L, 0x1p52L, 0.6931471805599453094L, 2.718281828459045L,
        1.4616321449683623413L, -0.5040830082644554093L, -2.4570247382208005L, -2.7476826467274127L,
        -3.1435808883499798L, -3.9552942848585979L})
    centers.push_back(center);
  std::vector<double> numbers;
  for (Real center : centers)
    for (int k = 1; k < FormatOf(dtype).digits + 2; ++k)
      for (Real sign : {-1, 1})
        numbers.push_back(
            Rounded(dtype, center + sign * std::ldexp(std::max<Real>(std::fabs(center), 1), -k)));
  return numbers;
}

// Whether a number of the format that is nearest to x is zero, finite or infinite.
inline int RangeOf(Real x, const Format& f) {
  if (std::isnan(x)) return 3;
  const Real a = std::fabs(x);
  if (a <= std::ldexp(Real{1}, f.least - 1)) return 0;
  const Real last = std::ldexp(Real{1}, f.end - f.digits - 1);  // half of the largest's unit
  return a < std::ldexp(Real{1}, f.end) - last ? 1 : 2;
}
// The neighbours of the places where a function overflows or vanishes between two of the numbers.
template <class F>
std::vector<double> RangeEnds(DType dtype, std::vector<double> numbers, F want) {
  const Format format = FormatOf(dtype);
  const auto range = [&](double x) { return RangeOf(want(x), format); };
  std::erase_if(numbers, [](double x) { return !std::isfinite(x); });
  std::sort(numbers.begin(), numbers.end());
  std::vector<double> ends;
  for (size_t i = 1; i < numbers.size(); ++i) {
    double low = numbers[i - 1], high = numbers[i];
    const int below = range(low);
    if (below == range(high)) continue;
    for (int steps = 0; steps < 80; ++steps) {
      const double middle = Rounded(dtype, (static_cast<Real>(low) + high) / 2);
      if (middle == low || middle == high) break;
      (range(middle) == below ? low : high) = middle;
    }
    for (int k = 0; k < 5; ++k) {
      ends.push_back(low), ends.push_back(high);
      low = static_cast<double>(NextReal(low, -HUGE_VALL, format));
      high = static_cast<double>(NextReal(high, HUGE_VALL, format));
    }
  }
  return ends;
}

// Two by two: special numbers; any; such as are close to each other; x and y with x^y in range.
inline void Pairs(DType dtype, int64_t count, std::vector<double>& x, std::vector<double>& y) {
  const Format f = FormatOf(dtype);
  const double least = std::ldexp(1, f.least),
               most = std::ldexp(2 - std::ldexp(1, 1 - f.digits), f.end - 1);
  for (double a : {0.0, 0.5, 1.0, 2.0, 3.0, 2.5, least, most, HUGE_VAL, std::nan("")})
    for (double b : {0.0, 0.5, 1.0, 2.0, 3.0, 2.5, least, most, HUGE_VAL, std::nan("")})
      for (int signs = 0; signs < 4; ++signs) {
        x.push_back(signs & 1 ? -a : a);
        y.push_back(signs & 2 ? -b : b);
      }
  std::mt19937_64 random(12);
  const auto any = [&] { return NumberOf(dtype, random() >> (64 - dtype.size() * 8)); };
  for (int64_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    const double first = any();
    x.push_back(first);
    if (i % 3 == 0) y.push_back(any());
    if (i % 3 == 1) y.push_back(Rounded(dtype, first * (1 + unit)));
    if (i % 3 == 2) {
      const double power = unit * 1.1 * (f.end - f.least) / std::log2(std::fabs(first));
      y.push_back(Rounded(dtype, first < 0 ? std::nearbyint(power) : power));
    }
  }
}

}  // namespace tessera
