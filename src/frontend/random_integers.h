// Random integers inside of a draw, where `key` is one key.
#pragma once
#include "frontend/draws.h"

namespace tessera::frontend {

// Returns integers in [minval, maxval).
Array RandomIntegers(const Array& key, const DrawnAs& as, const Operand& minval,
                     const Operand& maxval, Call call);

}  // namespace tessera::frontend
