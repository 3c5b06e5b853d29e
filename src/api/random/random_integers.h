// Random integers inside a sampling function. `key` is a single key.
#pragma once
#include "api/random/draws.h"

namespace tessera::api {

// Returns integers in [minval, maxval).
Array RandomIntegers(const Array& key, const DrawnAs& as, const Operand& minval,
                     const Operand& maxval, Call call);

}  // namespace tessera::api
