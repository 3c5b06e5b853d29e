// Elements between two others: the steps of quantiles.
#pragma once
#include "api/core/operands.h"
#include "tessera/options.h"

namespace tessera::api {

// Returns the element at this fraction, f64, of the way from `low` to `high`, by the method: in
// their dtype. They broadcast. Two equal elements, also infinite ones, give that element.
Array Between(const Array& low, const Array& high, const Array& fraction, QuantileMethod method,
              Call call);

}  // namespace tessera::api
