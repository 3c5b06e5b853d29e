// The maps of ops that programs from elsewhere have and Tessera's frontend does not: functions of
// shapes and of the attributes that matter, in StableHLO's terms. Only propagation uses them. The
// rules are Shardy's; see docs/propagation.md, "Rules of other compilers' ops".
#pragma once
#include <optional>
#include <vector>

#include "sharding/dim_map.h"

namespace tessera::ops {

using base::Shape;
using sharding::DimMap;

struct ConvolutionNumbers {
  struct Dims {
    int64_t batch, feature;  // for the kernel: output and input features
    std::vector<int64_t> spatial;
  };
  Dims lhs, rhs, result;
  int64_t feature_groups = 1, batch_groups = 1;
};
DimMap ConvolutionDims(const ConvolutionNumbers& numbers, const Shape& lhs, const Shape& rhs,
                       const Shape& result);

// A window along one dim. A trivial one holds one element and does not move.
struct Window {
  int64_t size = 1, stride = 1, low = 0, high = 0;
  bool trivial() const { return size == 1 && stride == 1 && low == 0 && high == 0; }
};
// `num_inputs` arrays, then as many initial values.
DimMap ReduceWindowDims(const std::vector<Window>& windows, const Shape& operand,
                        const Shape& result, size_t num_inputs = 1);
DimMap SelectAndScatterDims(const std::vector<Window>& windows, const Shape& operand,
                            const Shape& source);

// A transform of the last `num_dims` dims.
DimMap FftDims(size_t num_dims, const Shape& operand, const Shape& result);
DimMap CholeskyDims(const Shape& operand);
// Solves op(a) x = b, or x op(a) = b.
DimMap TriangularSolveDims(bool left_side, bool transpose_a, const Shape& a, const Shape& b);
DimMap EighDims(const Shape& matrix);
DimMap QrDims(const Shape& matrix, const Shape& taus);
DimMap HouseholderProductDims(const Shape& matrix, const Shape& taus);

DimMap BatchNormInferenceDims(const Shape& operand, size_t feature_dim);
DimMap RngBitGeneratorDims(const Shape& state, const Shape& output);
// The last dim of the higher-rank tensor holds the parts of the other's elements.
DimMap BitcastConvertDims(const Shape& operand, const Shape& result);
DimMap TopKDims(const Shape& operand, const Shape& result);
// Two arrays (values and indices), then two initial values. `dim` shrinks.
DimMap ApproxTopKDims(size_t dim, const Shape& operand, const Shape& result);

// StableHLO's collectives on global shapes.
DimMap AllGatherDims(size_t dim, const Shape& operand, const Shape& result,
                     size_t num_operands = 1);
DimMap AllToAllDims(size_t split_dim, size_t concat_dim, const Shape& operand, const Shape& result,
                    size_t num_operands = 1);
DimMap ReduceScatterDims(size_t dim, const Shape& operand, const Shape& result);

}  // namespace tessera::ops
