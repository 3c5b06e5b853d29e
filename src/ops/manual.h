// Ops of manual computation. A device's value is seen as a part of an array, as an array of its
// own, or as a term of a sum. Collectives name the axes.
#pragma once
#include "ir/builder.h"
#include "ops/params.h"

namespace tessera::ops {

// Returns axes as params hold them, "x" or "x:(2)4" for a part of one, and the inverse.
NameList NamesOf(const sharding::MeshDef* mesh, const sharding::AxisList& axes);
sharding::AxisList AxesOf(const sharding::MeshDef* mesh, const NameList& names);

// full_to_shard, shard_to_full: axis axes[i] shards dim dims[i] of the whole array; axes of one
// dim are listed major to minor. Collectives: the axes, major to minor, and the dims that change:
// one dim for gather_shards, psum_scatter and slice_shard, and for exchange_shards the dim that
// is cut and the dim that grows.
struct ManualParams {
  NameList axes;
  OperandDims<0> dims;
  friend bool operator==(const ManualParams&, const ManualParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("axes", s.axes);
    f("dims", s.dims);
  }
};
// pairs: [from, to], positions along the axes. A device that receives nothing gets zeros.
struct PermuteParams {
  NameList axes;
  std::vector<std::vector<int64_t>> pairs;
  friend bool operator==(const PermuteParams&, const PermuteParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("axes", s.axes);
    f("pairs", s.pairs);
  }
};

// Returns the type of a whole array, given the type of a device's part: the border of shard_map,
// seen from inside. Given a place, returns a place.
const ir::Type* WholeOf(const ir::Type* part, const ManualParams& params);

// Returns `type` with the states (varying, unreduced, reduced) that `states` has over Manual axes.
const ir::Type* WithManualStates(const ir::Type* type, const sharding::TensorSharding& states);
// Returns `v` with the states that `to` has over Manual axes. Sums `v` over the axes along which it
// becomes invarying or reduced. Casts it if nothing moves.
ir::ValueId ToManualStates(ir::Builder& builder, ir::ValueId v, const ir::Type* to);

}  // namespace tessera::ops
