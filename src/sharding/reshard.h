// Reshard plans: the cheapest sequence of collectives from one sharding to another.
#pragma once
#include <cstdint>
#include <vector>

#include "sharding/dim_map.h"

namespace tessera::sharding {

enum class StepKind : uint8_t {
  kAllSlice,           // a dim takes more axes; local
  kAllGather,          // a dim gives up its minor axes
  kAllToAll,           // minor axes move from one dim to another
  kCollectivePermute,  // shards change devices, local shapes stay
  kAllReduce,          // unreduced axes become replicated
  kReduceScatter,      // an unreduced axis becomes the minor axis of a dim
  // one device keeps the value and the others hold zeros, except that all keep it for max
  // and min; local
  kReplicatedToUnreduced,
  kShardedToUnreduced,  // each device holds zeros around its shard; local; sums only
  // Steps that are not planned here. Lowering adds them around a dim that does not divide.
  kPadToShards,  // an unsharded dim grows until it divides; local
  kTrim,         // undoes kPadToShards; local
  // Inside shard_map: equal arrays on all devices become one array of each device; local.
  kCopyToEach,
  // Reads by position along sharded dims: each device receives the elements that its shard reads.
  kHaloExchange,
};

// Returns the name of the step's op, which reports use too.
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

// The size of an element: a whole number of bits. An integer is a number of bytes.
class ItemSize {
 public:
  constexpr ItemSize(int64_t bytes)
      : bits_(8 * bytes) {}  // implicit: most elements are whole bytes
  static constexpr ItemSize OfBits(int64_t bits) {
    ItemSize size(0);
    size.bits_ = bits;
    return size;
  }
  // Returns how many bytes that many elements need, with the last byte filled.
  constexpr int64_t BytesOf(int64_t elements) const {
    return bits_ % 8 == 0 ? elements * (bits_ / 8) : (elements * bits_ + 7) / 8;
  }
  friend bool operator==(const ItemSize&, const ItemSize&) = default;
  template <class H>
  friend H AbslHashValue(H h, const ItemSize& s) {
    return H::combine(std::move(h), s.bits_);
  }

 private:
  int64_t bits_;
};

struct ReshardStep {
  StepKind kind;
  TensorSharding after;
  AxisList axes;      // the axes on which the step acts
  int64_t bytes = 0;  // payload that leaves a device
};

// Returns the steps that send the fewest bytes; none if both shardings place every element alike.
// Both are on meshes over the same devices. Reduced axes count as replicated, and varying axes
// stay. A dim that does not divide is padded: it gets axes only while it is whole, by a slice or an
// all_to_all, and gives them all up at once.
// No step replicates data that a cheaper sequence keeps sharded, because slices are free.
std::vector<ReshardStep> PlanReshard(const Shape& shape, ItemSize itemsize,
                                     const TensorSharding& from, const TensorSharding& to);

// Returns the sum of the steps' bytes.
int64_t ReshardBytes(const Shape& shape, ItemSize itemsize, const TensorSharding& from,
                     const TensorSharding& to);

}  // namespace tessera::sharding
