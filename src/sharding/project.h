// Translates between the dims of a tensor and the factors of an op.
#pragma once
#include <cstdint>

#include "sharding/dim_map.h"

namespace tessera::sharding {

// The axes of each factor in one tensor.
using FactorAxes = absl::InlinedVector<AxisList, 8>;

// Whether an axis may be cut, so that only a part of it goes to a factor.
enum class AxisCut : uint8_t { kNever, kAllowed };

struct Projection {
  FactorAxes axes;  // by factor; empty where the tensor lacks the factor or has it unsharded
  AxisList lost;    // axes that no factor of their dim can hold
  int32_t lost_dim = -1;
};

// Returns the axes of each factor. In a dim of several factors, axes go to the major factor until
// it is full. If cuts are allowed, each factor gets the part of an axis that fits; otherwise an
// axis goes to one factor as a whole, or is lost with all axes that follow it.
Projection Project(const DimMap& map, const DimFactors& dims, const TensorSharding& sharding,
                   AxisCut cut);

// Returns the sharding of a tensor with these factor axes. A dim takes the axes of a factor only if
// its more major factors are full, as shards would be strided otherwise; `dropped` tells whether
// some were not taken. Law: Unproject(Project(s)) == s where nothing is lost.
TensorSharding Unproject(const DimMap& map, const DimFactors& dims, const FactorAxes& axes,
                         const MeshDef* mesh, bool* dropped = nullptr);

}  // namespace tessera::sharding
