// How several values become one.
#pragma once
#include <cstdint>

namespace tessera {

// How partial values combine. Types are unreduced by sum, max or min; the others arise inside
// device programs.
enum class Reduction : uint8_t { kSum, kMax, kMin, kProd, kAnd, kOr };

}  // namespace tessera
