// Inputs of the workloads.
#pragma once
#include <tessera/tessera.h>

#include <vector>

namespace tessera::bench {

// Returns f32 numbers in [0, 1); the same seed gives the same numbers.
inline Array Random(std::vector<int64_t> shape, uint64_t seed) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  std::vector<float> values(static_cast<size_t>(n));
  uint64_t state = seed;
  for (float& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<float>(state >> 40) * 0x1p-24f;
  }
  return array(values, {.shape = Shape(std::move(shape))});
}

}  // namespace tessera::bench
