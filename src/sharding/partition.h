// How an op is computed on shards: the axes of each factor, the shardings that its operands must
// get, and the partial results that it leaves. The choice is the cheapest in bytes moved and in
// work done more than once.
#pragma once
#include <cstdint>
#include <vector>

#include "sharding/project.h"
#include "sharding/reshard.h"

namespace tessera::sharding {

struct PartitionTensor {
  const Shape* shape;
  ItemSize itemsize;
  const TensorSharding* sharding;  // of an operand: its own; of a result: the one that it must get
};

struct Partition {
  FactorAxes factors;
  std::vector<TensorSharding> operands;  // shardings with which the op computes
  // shardings that it leaves; partial over sharded reduce factors
  std::vector<TensorSharding> results;
  int64_t bytes = 0;  // sent by all reshards before and after, by the halo exchange and by scans
  double flops = 0;   // of a device, at one FLOP per point
  // The axes that shard permute factors, and the bytes that a device then receives along them.
  AxisList halo_axes;
  int64_t halo_bytes = 0;
  // Same, for scan factors and the elements that shards exchange between the two passes.
  AxisList scan_axes;
  int64_t scan_bytes = 0;
};

// FLOPs that cost as much as sending one byte, unless a MachineBalance scope says otherwise.
// Accelerators with their own links: 765 (TPU v5p: 459 TFLOP/s bf16, 600 GB/s), 1040 (A100: 312,
// 300), 2200 (H100: 990, 450).
inline constexpr double kDefaultFlopsPerByte = 1000;
// The balance of this thread.
double FlopsPerByte();
void SetFlopsPerByte(double flops_per_byte);

// Returns the cheapest partition. Replicate factors are never sharded. Permute factors are, if it
// is known which elements are read and an exchange costs less than a gather. If there is work
// (flops_per_point > 0), an axis that shards a factor alike in all operands that have it always
// splits the work, over that factor or another; beyond that, bytes and FLOPs are weighed at the
// machine balance.
Partition ChoosePartition(const DimMap& map, const std::vector<PartitionTensor>& operands,
                          const std::vector<PartitionTensor>& results, double flops_per_point = 0);

// Returns the elements of each shard while a dim of `size` elements is sorted over its shards: a
// multiple of 2 and of their number, and at least 2 (shards - 1)^2.
int64_t SortedBlock(int64_t size, int64_t shards);
// Returns the bytes of a position along such a dim: 4, or 8 if it is long.
int64_t PositionBytes(int64_t size, int64_t shards);

}  // namespace tessera::sharding
