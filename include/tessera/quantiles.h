// Elements at fractions of the sorted order.
#pragma once
#include "tessera/ops.h"
#include "tessera/options.h"

namespace TESSERA_PUBLIC tessera {

// Returns the element at fraction q, in [0, 1], of the sorted elements along the dims: [q's
// dims..., other dims...]; floating. NaN if an element is NaN, and for a q outside of [0, 1]. With
// an out_sharding the dims may be sharded: see sort. With .weights (NumPy's) and the method
// kInvertedCdf, it is the first element at which the share of the weights reaches q. Throws
// ShapeError if there are no elements, and DTypeError for complex numbers.
Array quantile(Operand x, Operand q, Dims dims = All, QuantileOptions options = {},
               Loc loc = Loc::Current());
// Same, with q in [0, 100].
Array percentile(Operand x, Operand q, Dims dims = All, QuantileOptions options = {},
                 Loc loc = Loc::Current());
// Returns the middle element along the dims, or the mean of the two middle ones.
Array median(Operand x, Dims dims = All, MedianOptions options = {}, Loc loc = Loc::Current());

}  // namespace tessera
