// Checks of indices, which programs contain that are traced inside of a CheckedIndices.
#pragma once
#include <vector>

#include "api/core/operands.h"

namespace tessera::api {

// A dim, and how many elements are taken of it from each index on.
struct IndexedDim {
  int64_t size = 0, taken = 1;
};
enum class Negative : uint8_t { kFromEnd, kOutside };  // counts from the end, or is out of bounds

// Inside of a CheckedIndices, lets the program throw RuntimeError at the first index out of bounds.
// The indices are into one dim, or element k of their last dim is into dim k.
void CheckIndices(const Array& indices, std::vector<IndexedDim> dims, Negative negative, Call call);

}  // namespace tessera::api
