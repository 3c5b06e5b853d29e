// How an op is computed on shards: which axes shard each factor, what its operands must be
// resharded to, and what partial results it leaves. The cheapest choice in bytes moved and work
// done more than once.
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
  double flops = 0;                      // on a device, for one FLOP per point
  // Axes that shard permute factors, and the bytes that a device then gets from others.
  AxisList halo_axes;
  int64_t halo_bytes = 0;
};

// FLOPs that count as much as one byte sent, unless a MachineBalance scope says otherwise. Current
// accelerators and their own links: 765 (TPU v5p: 459 TFLOP/s bf16, 600 GB/s), 1040 (A100: 312,
// 300), 2200 (H100: 990, 450).
inline constexpr double kDefaultFlopsPerByte = 1000;
// Those of this thread.
double FlopsPerByte();
void SetFlopsPerByte(double flops_per_byte);

// Returns the choice. Factors that must be whole are never sharded; permute factors are where it is
// known which elements are read, and cheaper than having them whole. Where there is work
// (flops_per_point > 0), an axis that shards a factor alike in all operands that have it always
// splits the work, over that factor or another; beyond that bytes and FLOPs are weighed at the
// machine balance.
Partition ChoosePartition(const DimMap& map, const std::vector<PartitionTensor>& operands,
                          const std::vector<PartitionTensor>& results, double flops_per_point = 0);

}  // namespace tessera::sharding
