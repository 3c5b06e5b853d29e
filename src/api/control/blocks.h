// A dim as blocks: the shards along which it is worked on in two passes.
#pragma once
#include "api/core/regions.h"

namespace tessera::api {

// Returns the axes of a dim.
const sharding::AxisList& AxesOf(const Array& x, int64_t dim);

// Returns the number of blocks of all but `left` elements: the shards of the dim, or, if
// propagation decides, as many as it may choose.
int64_t BlocksOf(const Arrays& xs, const std::vector<int64_t>& dims, int64_t left = 0);

// If propagation decides, returns the elements that are left over by equal blocks over all axes
// that it may choose; 0 if there are few elements.
int64_t LeftOver(const Arrays& xs, const std::vector<int64_t>& dims);

// Returns the arrays, one element per block, whole on each device if propagation decides how they
// are laid out: a scan of few elements is not worth an exchange per step.
Arrays WholeByPropagation(const Arrays& xs, const std::vector<int64_t>& dims, Loc loc);

}  // namespace tessera::api
