// The fix-point: ops are visited until no sharding changes any more.
//
// It ends: a step only ever lengthens the axes of a factor (IsStrictPrefix before every write), so
// along any run the axes of a value's dims grow, or lie otherwise only by merging parts; there are
// finitely many (parts of) axes, each at most once per value; and an op is queued again only when a
// value changed. User priorities and rounds are finite lists.
#pragma once
#include "propagation/state.h"

namespace tessera::propagation {

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
// nothing propagates on. Empty meshes join any. Spec 1.8.
const MeshDef* CommonMesh(absl::Span<const TensorSharding* const> shardings);

}  // namespace tessera::propagation
