// XXH64: four sums over 32 bytes at a time, merged and mixed.
#include "base/checksum.h"

#include <bit>
#include <cstring>

namespace tessera::base {
namespace {

constexpr uint64_t kPrimes[] = {0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                                0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5};

template <class T>
T Read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

uint64_t Round(uint64_t sum, uint64_t lane) {
  return std::rotl(sum + lane * kPrimes[1], 31) * kPrimes[0];
}
uint64_t Merge(uint64_t sum, uint64_t lane) {
  return (sum ^ Round(0, lane)) * kPrimes[0] + kPrimes[3];
}

}  // namespace

uint64_t Checksum(const void* data, size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  const std::byte* const end = at + bytes;
  uint64_t sum = kPrimes[4];
  if (bytes >= 32) {
    uint64_t s[] = {kPrimes[0] + kPrimes[1], kPrimes[1], 0, 0 - kPrimes[0]};
    for (; end - at >= 32; at += 32)
      for (int i = 0; i < 4; ++i) s[i] = Round(s[i], Read<uint64_t>(at + 8 * i));
    sum = std::rotl(s[0], 1) + std::rotl(s[1], 7) + std::rotl(s[2], 12) + std::rotl(s[3], 18);
    for (uint64_t lane : s) sum = Merge(sum, lane);
  }
  sum += bytes;
  for (; end - at >= 8; at += 8)
    sum = std::rotl(sum ^ Round(0, Read<uint64_t>(at)), 27) * kPrimes[0] + kPrimes[3];
  for (; end - at >= 4; at += 4)
    sum = std::rotl(sum ^ (Read<uint32_t>(at) * kPrimes[0]), 23) * kPrimes[1] + kPrimes[2];
  for (; at < end; ++at)
    sum = std::rotl(sum ^ (std::to_integer<uint64_t>(*at) * kPrimes[4]), 11) * kPrimes[0];
  sum = (sum ^ sum >> 33) * kPrimes[1];
  sum = (sum ^ sum >> 29) * kPrimes[2];
  return sum ^ sum >> 32;
}

}  // namespace tessera::base
