// How an op is computed on shards: which axes shard each factor, what its operands must be
// resharded to, and what partial results it leaves. The cheapest choice in bytes moved.
#pragma once
#include <cstdint>
#include <vector>

#include "sharding/project.h"

namespace tessera::sharding {

struct PartitionTensor {
  const Shape* shape;
  int64_t itemsize;                // bytes per element
  const TensorSharding* sharding;  // what it has (operands), what it must get (results)
};

struct Partition {
  FactorAxes factors;
  std::vector<TensorSharding> operands;  // what the op wants
  std::vector<TensorSharding> results;   // what it then leaves; partial over sharded reduce factors
  int64_t bytes = 0;                     // of all reshards before and after, and of the halo
  // Axes that shard permute factors, and the bytes that a device then gets from others.
  AxisList halo_axes;
  int64_t halo_bytes = 0;
};

// Returns the choice. Factors that must be whole are never sharded; permute factors are where it is
// known which elements are read, and cheaper than having them whole.
Partition ChoosePartition(const DimMap& map, const std::vector<PartitionTensor>& operands,
                          const std::vector<PartitionTensor>& results);

}  // namespace tessera::sharding
