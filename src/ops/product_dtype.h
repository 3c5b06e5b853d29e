// The dtype of products of numbers of two dtypes.
#pragma once
#include "base/dtype.h"

namespace tessera::ops {

// Returns the dtype that holds products of two dtypes. Storage dtypes do not promote with others,
// but their products are computed in a wider dtype.
inline DType ProductOf(DType a, DType b) {
  return a == b ? a : promote_types(base::ComputedIn(a), base::ComputedIn(b));
}

}  // namespace tessera::ops
