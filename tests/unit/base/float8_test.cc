// The formats of 8 bits: against their definition, for all codes and for numbers around all ties.
#include "base/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace tessera::base {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The definition of a format: bits of the exponent and the mantissa, the bias, whether it has
// infinities, and whether its only NaN is the code of -0.
struct Definition {
  DType dtype;
  int exponent, mantissa, bias;
  enum { kIeee, kFiniteWithNaN, kFiniteUnsignedZero } kind;
};
const Definition kDefinitions[] = {{f8_e3m4, 3, 4, 3, Definition::kIeee},
                                   {f8_e4m3, 4, 3, 7, Definition::kIeee},
                                   {f8_e4m3b11fnuz, 4, 3, 11, Definition::kFiniteUnsignedZero},
                                   {f8_e4m3fn, 4, 3, 7, Definition::kFiniteWithNaN},
                                   {f8_e4m3fnuz, 4, 3, 8, Definition::kFiniteUnsignedZero},
                                   {f8_e5m2, 5, 2, 15, Definition::kIeee},
                                   {f8_e5m2fnuz, 5, 2, 16, Definition::kFiniteUnsignedZero}};

double ValueOf(const Definition& d, int code) {
  const bool negative = (code & 0x80) != 0;
  const int mantissa = code & ((1 << d.mantissa) - 1), exponent = (code & 0x7f) >> d.mantissa;
  if (d.kind == Definition::kFiniteUnsignedZero && code == 0x80) return std::nan("");
  if (d.kind == Definition::kFiniteWithNaN && (code & 0x7f) == 0x7f) return std::nan("");
  if (d.kind == Definition::kIeee && exponent == (1 << d.exponent) - 1)
    return mantissa != 0 ? std::nan("") : negative ? -kInf : kInf;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, 1 - d.bias - d.mantissa)
                    : std::ldexp((1 << d.mantissa) + mantissa, exponent - d.bias - d.mantissa);
  return negative ? -size : size;
}

// Returns the code that v rounds to: the nearest number, the even code if two are; beyond the
// largest number and half a step, infinity or NaN.
int Nearest(const Definition& d, float v, const std::map<double, int>& codes) {
  const bool negative = std::signbit(v);
  const int sign = negative ? 0x80 : 0;
  const int nan = d.kind == Definition::kIeee ? (((1 << (d.exponent + 1)) - 1) << (d.mantissa - 1))
                  : d.kind == Definition::kFiniteWithNaN ? 0x7f
                                                         : 0x80;
  if (std::isnan(v)) return d.kind == Definition::kFiniteUnsignedZero ? 0x80 : sign | nan;
  const double size = std::fabs(static_cast<double>(v));
  const auto [most, last] = *codes.rbegin();
  const double step = most - std::prev(codes.end(), 2)->first;
  // Half a step beyond the largest number is a tie with a number whose code would be last + 1.
  const bool beyond = size > most + step / 2 || (size == most + step / 2 && last % 2 == 1);
  if (beyond) {
    if (d.kind == Definition::kIeee) return sign | ((1 << d.exponent) - 1) << d.mantissa;
    return d.kind == Definition::kFiniteWithNaN ? sign | 0x7f : 0x80;
  }
  auto above = codes.lower_bound(size);
  if (above == codes.end()) above = std::prev(above);
  int code = above->second;
  if (above->first > size) {
    const auto below = std::prev(above);
    const double down = size - below->first, up = above->first - size;
    if (down < up || (down == up && below->second % 2 == 0)) code = below->second;
  }
  return d.kind == Definition::kFiniteUnsignedZero && code == 0 ? 0 : sign | code;
}

TEST(Float8, EveryCodeIsTheNumberOfItsDefinition) {
  for (const Definition& d : kDefinitions) {
    const Float8Format format = Float8Format::Of(d.dtype.code());
    for (int code = 0; code < 256; ++code) {
      const double want = ValueOf(d, code);
      const float got = Float8ToFloat(format, static_cast<uint32_t>(code));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << d.dtype.name() << " " << code;
        continue;
      }
      EXPECT_EQ(got, want) << d.dtype.name() << " " << code;
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << d.dtype.name() << " " << code;
    }
  }
}

TEST(Float8, RoundsToTheNearestAndTiesToEven) {
  for (const Definition& d : kDefinitions) {
    const Float8Format format = Float8Format::Of(d.dtype.code());
    std::map<double, int> codes;  // of finite numbers that are not negative
    for (int code = 0; code < 128; ++code)
      if (std::isfinite(ValueOf(d, code))) codes[ValueOf(d, code)] = code;
    std::vector<float> numbers = {0,
                                  std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::max(),
                                  std::numeric_limits<float>::min(),
                                  std::numeric_limits<float>::denorm_min()};
    const double most = codes.rbegin()->first, step = most - std::prev(codes.end(), 2)->first;
    double last = 0;
    for (auto [size, code] : codes) {
      for (double v : {size, (size + last) / 2}) numbers.push_back(static_cast<float>(v));
      last = size;
    }
    for (double v : {most + step / 2, most + step, 4 * most})
      numbers.push_back(static_cast<float>(v));
    for (float v : std::vector<float>(numbers)) {
      numbers.push_back(std::nextafter(v, 0.0f));
      numbers.push_back(std::nextafter(v, std::numeric_limits<float>::infinity()));
    }
    for (float v : numbers)
      for (float x : {v, -v})
        EXPECT_EQ(FloatToFloat8(format, x), Nearest(d, x, codes)) << d.dtype.name() << " " << x;
  }
}

}  // namespace
}  // namespace tessera::base
