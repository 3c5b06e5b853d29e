// The fix-point: visits ops until no sharding changes any more.
//
// The visits end. Let the shards of a value be the product of the sizes of all axes on its dims. A
// step only writes a value if the axes of one of its factors became longer (IsStrictPrefix(old,
// new)), and no factor gives up axes. A full factor takes no more axes, so the axes after it in its
// dim stay, and the dim's axes grow with the factor's. No axis is on two dims (FitsOthers), so the
// shards divide the number of devices. Each write multiplies them by 2 or more: a value is written
// at most log2(devices) times. Members of a group, and targets of an edge, share one sharding and
// are written together. An op is queued once at the start, and when one of its values is written: a
// run visits at most ops + uses * log2(devices) ops. There is one run for each pair of a round and
// a user priority. tests/unit/propagation/random_test.cc checks this on random graphs.
#pragma once
#include "propagation/propagate.h"
#include "propagation/state.h"

namespace tessera::propagation::engine {

class FixPoint {
 public:
  // `strategy` is kBasic or kAggressive.
  FixPoint(State& state, Stage strategy) : state_(state), strategy_(strategy) {}

  // Visits all ops, then those that a change affects, until none is left. `rounds` state in
  // which directions an op may carry axes along a factor. Run itself applies blocked factors
  // and barriers.
  void Run(absl::Span<const Round> rounds);

 private:
  using Ids = absl::InlinedVector<ShardingId, 6>;
  struct Key {
    RuleId rule;
    uint64_t directions = 0;
    bool elementwise = false;
    Ids ids = {};
    friend bool operator==(const Key&, const Key&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.rule, k.directions, k.elementwise, k.ids);
    }
  };

  void Visit(OpId id, absl::Span<const Round> rounds);
  void VisitReturns();
  // Returns the shardings after one step.
  Ids Step(const Key& key, absl::Span<const Direction> directions);
  const Ids& CachedStep(Key key, absl::Span<const Direction> directions);
  void Write(OpId op, ValueId value, ShardingId id, WorkList& work);

  State& state_;
  Stage strategy_;
  WorkList work_;
  absl::flat_hash_map<Key, Ids> steps_;
};

// Returns the mesh of all these shardings. Null if there is none, if there are several, or if
// nothing propagates on it. A sharding without a mesh joins any.
const MeshDef* CommonMesh(absl::Span<const TensorSharding* const> shardings);

}  // namespace tessera::propagation::engine
