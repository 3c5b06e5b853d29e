// The fix-point: ops are visited until no sharding changes any more.
//
// It ends. Call the product of the sizes of all axes on a value's dims its shards. A step writes a
// value only where the axes of one of its factors became longer: each write is behind
// IsStrictPrefix(old, new), and no factor gives any up. Full factors take no more, so what lies
// behind a factor in its dim stays, and the dim's axes grow as the factor's do. No axis is on two
// dims (FitsOthers), so shards divide the number of devices; each write multiplies them by 2 or
// more, and a value is written at most log2(devices) times. Members of a group, and targets of an
// edge, have one sharding and are written together. An op is queued only when a value of its own is
// written, and once at the start: visits are at most ops + uses * log2(devices) in a run, and runs
// are as many as rounds times user priorities, both finite lists.
// tests/unit/propagation/random_test.cc holds this against random graphs.
#pragma once
#include "propagation/propagate.h"
#include "propagation/state.h"

namespace tessera::propagation::engine {

class FixPoint {
 public:
  FixPoint(State& state, bool basic) : state_(state), basic_(basic) {}

  // Visits all ops, then those that a change concerns, until none is left. `directions` gives how
  // far a factor of an op may carry axes; blocked factors and barriers are handled here.
  void Run(absl::Span<const Round> rounds);

 private:
  using Ids = absl::InlinedVector<ShardingId, 6>;
  struct Key {
    RuleId rule;
    uint64_t directions;
    bool elementwise;
    Ids ids;
    friend bool operator==(const Key&, const Key&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.rule, k.directions, k.elementwise, k.ids);
    }
  };

  void Visit(OpId id, absl::Span<const Round> rounds);
  void VisitReturns();
  // Returns the shardings after one step.
  Ids Step(RuleId rule, bool elementwise, absl::Span<const Direction> directions, const Ids& ids);
  const Ids& CachedStep(Key key, absl::Span<const Direction> directions);
  void Write(OpId op, ValueId value, ShardingId id, WorkList& work);

  State& state_;
  bool basic_;
  WorkList work_;
  absl::flat_hash_map<Key, Ids> steps_;
};

// The mesh that all of these shardings are on; null if there is none, or several, or one that
// nothing propagates on. Empty meshes join any.
const MeshDef* CommonMesh(absl::Span<const TensorSharding* const> shardings);

}  // namespace tessera::propagation::engine
