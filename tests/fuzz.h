// How much random tests do: little by default, more where TESSERA_FUZZ=N is set (scripts/nightly).
#pragma once
#include <cstdint>
#include <cstdlib>

namespace tessera {

// `count` times TESSERA_FUZZ. A larger count goes on where the smaller one ends.
inline int64_t FuzzCount(int64_t count) {
  const char* factor = std::getenv("TESSERA_FUZZ");
  const int64_t n = factor != nullptr ? std::atoll(factor) : 1;
  return n > 1 ? count * n : count;
}

// Whether case `index` of `all` is tried: the last one and about `most` others, chosen by a hash;
// all of them where TESSERA_FUZZ is set.
inline bool IsTried(int64_t index, int64_t all, int64_t most) {
  if (all <= most || index == all - 1 || FuzzCount(1) > 1) return true;
  uint64_t hash = (static_cast<uint64_t>(index) + 1) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ (hash >> 29)) * 0xBF58476D1CE4E5B9u;
  return (hash >> 32) % static_cast<uint64_t>(all) < static_cast<uint64_t>(most);
}

}  // namespace tessera
