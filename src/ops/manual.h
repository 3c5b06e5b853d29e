// Ops of manual computation: what a device has is seen as a part of an array, as an array of its
// own, or as a term of a sum; collectives name the axes.
#pragma once
#include "ir/builder.h"
#include "ops/params.h"

namespace tessera::ops {

// Axes in params: "x", or "x:(2)4" for a part of one.
NameList NamesOf(const sharding::MeshDef* mesh, const sharding::AxisList& axes);
sharding::AxisList AxesOf(const sharding::MeshDef* mesh, const NameList& names);

// full_to_shard, shard_to_full: axis axes[i] cuts dim dims[i] of the whole array; of one dim, major
// to minor. Collectives: the axes, major to minor, and the dims that change: of gather_shards,
// psum_scatter and slice_shard one, of exchange_shards the one that is cut and the one that grows.
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
// pairs: [from, to], positions along the axes. A device to which none leads gets zeros.
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

// Returns the type of the whole array of which a value is the part that a device has: the border of
// shard_map, as seen from inside. Of a place, its place.
const ir::Type* WholeOf(const ir::Type* part, const ManualParams& params);

// Returns `type` with the states (varying, unreduced, reduced) of `states` over Manual axes.
const ir::Type* WithManualStates(const ir::Type* type, const sharding::TensorSharding& states);
// Returns `v` with the states of `to` over Manual axes: summed where it is to be invarying or
// reduced, cast where nothing moves.
ir::ValueId ToManualStates(ir::Builder& builder, ir::ValueId v, const ir::Type* to);

}  // namespace tessera::ops
