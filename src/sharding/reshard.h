// Reshard plans: the cheapest sequence of collectives from one sharding to another.
#pragma once
#include <cstdint>
#include <vector>

#include "sharding/dim_map.h"

namespace tessera::sharding {

enum class StepKind : uint8_t {
  kAllSlice,               // a dim takes more axes; local
  kAllGather,              // a dim loses its minor axes
  kAllToAll,               // minor axes move from one dim to another
  kCollectivePermute,      // the same local shapes on other devices
  kAllReduce,              // unreduced axes become replicated
  kReduceScatter,          // an unreduced axis becomes the minor axis of a dim
  kReplicatedToUnreduced,  // one device keeps the value, the others hold zeros; local. Of max and
                           // min all keep it
  kShardedToUnreduced,     // each device keeps its part amid zeros; local; sums only
  // Not planned here: what lowering does around a dim that does not divide.
  kPadToShards,  // a whole dim grows until it divides; local
  kTrim,         // and shrinks again
  // Inside of shard_map: what devices have alike becomes an array of each one's own; local.
  kCopyToEach,
  // What reads along sharded dims by position becomes: each device gets what its shard reads.
  kHaloExchange,
};

// Its name: that of the op, and in reports.
constexpr const char* Name(StepKind kind) {
  using enum StepKind;
  switch (kind) {
    case kAllSlice:
      return "all_slice";
    case kAllGather:
      return "all_gather";
    case kAllToAll:
      return "all_to_all";
    case kCollectivePermute:
      return "collective_permute";
    case kAllReduce:
      return "all_reduce";
    case kReduceScatter:
      return "reduce_scatter";
    case kReplicatedToUnreduced:
      return "replicated_to_unreduced";
    case kShardedToUnreduced:
      return "sharded_to_unreduced";
    case kPadToShards:
      return "pad_to_shards";
    case kTrim:
      return "trim";
    case kCopyToEach:
      return "copy_to_each";
    case kHaloExchange:
      return "halo_exchange";
  }
  return nullptr;
}

struct ReshardStep {
  StepKind kind;
  TensorSharding after;
  AxisList axes;      // that the step acts on
  int64_t bytes = 0;  // of payload that leaves a device
};

// Returns the steps that cost the fewest bytes; empty if both shardings place every element alike.
// Both are on meshes over the same devices. What is reduced counts as replicated; what
// varies along manual axes stays as it is. A dim that does
// not divide is only sliced from whole and gathered to whole. No step replicates what a cheaper
// sequence keeps apart: the search minimises bytes, and slices are free. `itemsize` is in bytes.
std::vector<ReshardStep> PlanReshard(const Shape& shape, int64_t itemsize,
                                     const TensorSharding& from, const TensorSharding& to);

// Sum of the bytes of the steps.
int64_t ReshardBytes(const Shape& shape, int64_t itemsize, const TensorSharding& from,
                     const TensorSharding& to);

}  // namespace tessera::sharding
