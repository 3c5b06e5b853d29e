// The operators that combine partial values.
#pragma once
#include <cstdint>

#include "tessera/visibility.h"

namespace TESSERA_PUBLIC tessera {

// The operator that combines partial values. Types may be unreduced by sum, max or min; the other
// operators occur only inside device programs.
enum class Reduction : uint8_t { kSum, kMax, kMin, kProd, kAnd, kOr, kXor };

}  // namespace tessera
