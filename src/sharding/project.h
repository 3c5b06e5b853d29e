// Between the dims of a tensor and the factors of an op.
#pragma once
#include "sharding/dim_map.h"

namespace tessera::sharding {

// The axes of each factor, as one tensor has them.
using FactorAxes = absl::InlinedVector<AxisList, 8>;

struct Projection {
  FactorAxes axes;  // by factor; empty where the tensor lacks the factor or has it whole
  AxisList lost;    // axes that no factor of their dim can hold
  int32_t lost_dim = -1;
};

// Returns how `sharding`'s dims lie over the factors. In a dim of several factors axes go to the
// major factor until it is full. `split`: an axis may be cut so that a part fits each factor;
// otherwise an axis lies in one factor as a whole, or is lost with all that follow it.
Projection Project(const DimMap& map, const DimFactors& dims, const TensorSharding& sharding,
                   bool split);

// The dims that these factor axes mean for a tensor. A dim takes the axes of a factor only if its
// more major factors are full (else a shard would be strided); `dropped` says that some were not
// taken. Law: Unproject(Project(s)) == s where nothing is lost.
TensorSharding Unproject(const DimMap& map, const DimFactors& dims, const FactorAxes& axes,
                         const MeshDef* mesh, bool* dropped = nullptr);

}  // namespace tessera::sharding
