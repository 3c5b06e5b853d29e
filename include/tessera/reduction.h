// How several values become one.
#pragma once
#include <cstdint>

#include "tessera/visibility.h"

namespace TESSERA_PUBLIC tessera {

// How partial values combine. Types are unreduced by sum, max or min; the others arise inside
// device programs.
enum class Reduction : uint8_t { kSum, kMax, kMin, kProd, kAnd, kOr };

}  // namespace tessera
