// Errors in units of the last place, and numbers of every exponent.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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

// All numbers of 16 bits; of more, `each` with every exponent and sign, and as many in [-20, 20]
// and where functions of exp leave the dtype's range.
inline std::vector<double> AllExponents(DType dtype, int64_t each) {
  const int mantissa = FormatOf(dtype).digits - 1, width = dtype.size() * 8;
  const auto number = [&](uint64_t bits) -> double {
    if (dtype == f64) return std::bit_cast<double>(bits);
    if (dtype == f32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (dtype == bf16) return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
    Float16 half;
    half.bits = static_cast<uint16_t>(bits);
    return static_cast<float>(half);
  };
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

}  // namespace tessera
