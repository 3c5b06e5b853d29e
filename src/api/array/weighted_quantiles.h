// Quantiles of elements with weights.
#pragma once
#include "api/core/operands.h"
#include "tessera/options.h"

namespace tessera::api {

// Returns the first element in sorted order at which the share of the weights reaches q, f64 [...],
// of x [others..., elements] with weights of its shape: [..., others...]. NaN for a q outside of
// [0, 1], and where the sum of the weights is not above 0.
Array InvertedCdf(const Array& x, const Array& weights, const Array& q, Call call);

// C17: refuses weights of a method that does not take them.
void CheckWeights(const QuantileOptions& options, Call call);

// Returns the weights of a call as f64 of the shape of x, all 1 if none are given. C18: they have
// the shape of x, or are [n] along its one dim.
Array WeightsFor(const Array& x, const Array& weights, const std::vector<int64_t>& dims, Call call);

}  // namespace tessera::api
