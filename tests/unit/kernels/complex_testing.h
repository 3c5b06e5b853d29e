// Buffers of complex numbers for the kernels' tests.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "unit/kernels/fused_testing.h"

namespace tessera::kernels::test {

using Long = std::complex<long double>;

inline std::complex<double> ComplexAt(const Buffer& b, int64_t i) {
  if (b.dtype == c64) return b.as<std::complex<float>>()[i];
  if (b.dtype == c128) return b.as<std::complex<double>>()[i];
  return b.At(i);
}
inline void SetComplex(Buffer& b, int64_t i, Long v) {
  if (b.dtype == c64)
    b.as<std::complex<float>>()[i] = std::complex<float>(v);
  else if (b.dtype == c128)
    b.as<std::complex<double>>()[i] = std::complex<double>(v);
  else
    b.Set(i, static_cast<double>(v.real()));
}
inline Buffer ComplexNumbers(DType dtype, const std::vector<std::complex<double>>& values) {
  Buffer b(dtype, static_cast<int64_t>(values.size()));
  for (int64_t i = 0; i < b.n; ++i) SetComplex(b, i, Long(values[static_cast<size_t>(i)]));
  return b;
}

// Returns numbers with parts in [-2, 2], and small integers if `whole`.
inline Buffer RandomComplex(DType dtype, int64_t n, uint32_t seed, bool whole = false) {
  std::mt19937 random(seed);
  const auto part = [&] {
    const auto unit = static_cast<long double>(random() % 4001) / 1000 - 2;
    return whole ? std::round(unit) : unit;
  };
  Buffer b(dtype, n);
  for (int64_t i = 0; i < n; ++i) {
    const long double re = part();
    SetComplex(b, i, {re, part()});
  }
  return b;
}

// Returns numbers whose parts have any exponent from `least` to `most`, or are 0.
inline Buffer AllExponents(DType dtype, int64_t n, uint32_t seed, int least, int most) {
  std::mt19937 random(seed);
  const auto part = [&] {
    if (random() % 16 == 0) return 0.0L;
    const auto mantissa = 1 + static_cast<long double>(random() % 100001) / 100000;
    const int exponent = least + static_cast<int>(random() % static_cast<uint32_t>(most - least));
    return std::ldexp(random() % 2 == 0 ? mantissa : -mantissa, exponent);
  };
  Buffer b(dtype, n);
  for (int64_t i = 0; i < n; ++i) {
    const long double re = part();
    SetComplex(b, i, {re, part()});
  }
  return b;
}

inline long double Epsilon(DType dtype) {
  const DType part = base::PartOf(dtype);
  return part == f32 ? 0x1p-23L : 0x1p-52L;
}

// Whether |got - want| <= ulps * epsilon * |want|, or both are too large. Differences below the
// normal range do not count.
inline testing::AssertionResult NearComplex(const Buffer& got, const std::vector<Long>& want,
                                            long double ulps) {
  const bool narrow = base::PartOf(got.dtype) == f32;
  const long double most =
      narrow ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const long double least =
      narrow ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
  for (int64_t i = 0; i < got.n; ++i) {
    const Long w = want[static_cast<size_t>(i)], g(ComplexAt(got, i));
    const bool too_large = !(std::fabs(w.real()) <= most && std::fabs(w.imag()) <= most);
    if (too_large && !(std::isfinite(g.real()) && std::isfinite(g.imag()))) continue;
    if (!too_large && std::abs(g - w) <= ulps * Epsilon(got.dtype) * std::abs(w) + least) continue;
    return testing::AssertionFailure()
           << got.dtype.name() << " element " << i << ": got " << g << ", want " << w;
  }
  return testing::AssertionSuccess();
}

}  // namespace tessera::kernels::test
