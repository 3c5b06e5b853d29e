// A part of an array along one dim.
#pragma once
#include "api/core/operands.h"
#include "base/at.h"
#include "base/shape.h"
#include "tessera/ops.h"

namespace tessera::api {

// Returns x[first:limit] along the dim.
inline Array Part(const Array& x, int64_t dim, int64_t first, int64_t limit, Loc loc) {
  base::Shape starts(ShapeOf(x).size(), 0), limits = ShapeOf(x);
  base::At(starts, dim) = first;
  base::At(limits, dim) = limit;
  return tessera::slice(x, starts, limits, {}, loc);
}

}  // namespace tessera::api
