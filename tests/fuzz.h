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

}  // namespace tessera
