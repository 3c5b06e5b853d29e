// Conversions between f32 and the bits of the formats of 8 bits, rounding to nearest even. They
// have no branches, so loops over them vectorise. Source: the names of ml_dtypes; Micikevicius et
// al., "FP8 formats for deep learning" (2022).
#pragma once
#include <bit>
#include <cstdint>

#include "tessera/dtype.h"

namespace tessera::base {

// 1 sign bit, then the exponent, then the mantissa.
struct Float8Format {
  int mantissa;           // bits
  int bias;               // of the exponent
  uint32_t most;          // bits of the largest number
  uint32_t infinite;      // bits of numbers that are too large: infinity, or NaN
  uint32_t nan;           // bits of NaN
  bool one_zero = false;  // there is no -0: its bits are the only NaN

  // Returns the format of a dtype that is_float8.
  static constexpr Float8Format Of(DType::Code code) {
    switch (code) {
      case DType::kF8E3M4:
        return {.mantissa = 4, .bias = 3, .most = 0x6f, .infinite = 0x70, .nan = 0x78};
      case DType::kF8E4M3:
        return {.mantissa = 3, .bias = 7, .most = 0x77, .infinite = 0x78, .nan = 0x7c};
      case DType::kF8E4M3B11FNUZ:
        return OneZero(3, 11);
      case DType::kF8E4M3FN:
        return {.mantissa = 3, .bias = 7, .most = 0x7e, .infinite = 0x7f, .nan = 0x7f};
      case DType::kF8E4M3FNUZ:
        return OneZero(3, 8);
      case DType::kF8E5M2:
        return {.mantissa = 2, .bias = 15, .most = 0x7b, .infinite = 0x7c, .nan = 0x7e};
      default:
        return OneZero(2, 16);
    }
  }

 private:
  static constexpr Float8Format OneZero(int mantissa, int bias) {
    return {mantissa, bias, 0x7f, 0x80, 0x80, true};
  }
};

inline float FloatOfExponent(int exponent) {
  return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
}

inline float Float8ToFloat(const Float8Format& f, uint32_t bits) {
  const uint32_t code = bits & 0x7f, body = code << (23 - f.mantissa);
  const float scaled = std::bit_cast<float>(body) * FloatOfExponent(127 - f.bias);  // exact
  const uint32_t special = code > f.most ? 0x7f800000 : 0;
  const uint32_t number = std::bit_cast<uint32_t>(scaled) | special | (bits & 0x80) << 24;
  return std::bit_cast<float>(f.one_zero && bits == 0x80 ? 0xffc00000 : number);
}

inline uint32_t FloatToFloat8(const Float8Format& f, float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v), body = bits & 0x7fffffff;
  const int cut = 23 - f.mantissa;
  // Subnormal in the format: adding a power of 2 makes the float adder round at the right bit.
  const float adder = FloatOfExponent(1 - f.bias + cut);
  const uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(body) + adder) - std::bit_cast<uint32_t>(adder);
  const auto rebias = static_cast<uint32_t>(127 - f.bias) << 23;
  const uint32_t even = (body >> cut) & 1;
  const uint32_t normal = (body + (1u << (cut - 1)) - 1 + even - rebias) >> cut;
  uint32_t number = body < rebias + (1u << 23) ? small : normal;
  number = number > f.most ? f.infinite : number;
  number = body > 0x7f800000 ? f.nan : number;
  const bool unsigned_zero = f.one_zero && number == 0;
  return number | (unsigned_zero ? 0 : (bits >> 24) & 0x80);
}

}  // namespace tessera::base
