// Conversions between f32 and the bits of f16 and bf16, rounding to nearest even. They have no
// branches, so loops over them vectorise.
#pragma once
#include <bit>
#include <cstdint>

namespace tessera::base {

inline float HalfToFloat(uint16_t h) {
  const uint32_t body = static_cast<uint32_t>(h & 0x7fff) << 13;
  const float scaled = std::bit_cast<float>(body) * 0x1p112f;  // exact for subnormals as well
  const uint32_t special = body >= 0x0f800000 ? 0x7f800000 : 0;
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

inline uint16_t FloatToHalf(float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v), body = bits & 0x7fffffff;
  // Subnormal in f16: adding 0.5 makes the float adder round at the right bit.
  const uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(body) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  const uint32_t normal = (body + 0xfff + ((body >> 13) & 1) - 0x38000000) >> 13;
  const uint32_t special = 0x7c00 | (body > 0x7f800000 ? 0x200 : 0);
  const uint32_t number = body < 0x38800000 ? small : normal;
  return static_cast<uint16_t>((body >= 0x477ff000 ? special : number) | ((bits >> 16) & 0x8000));
}

inline float BrainToFloat(uint16_t b) {
  return std::bit_cast<float>(static_cast<uint32_t>(b) << 16);
}

inline uint16_t FloatToBrain(float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v);
  const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return static_cast<uint16_t>(v == v ? rounded >> 16 : (bits >> 16) | 0x40);
}

}  // namespace tessera::base
