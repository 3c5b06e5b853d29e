// Visits the ops of the work list round by round, and looks up steps that were taken before.
#include "propagation/fixpoint.h"

#include "propagation/manual.h"
#include "propagation/propagate.h"

namespace tessera::propagation::engine {
namespace {

Direction DirectionOf(const Op& op, const sharding::Factor& factor, bool single_use,
                      absl::Span<const Round> rounds) {
  if (factor.blocked) return Direction::kNone;
  Direction d = Direction::kNone;
  for (const Round& round : rounds) d = d | round(op, factor, single_use);
  return d & op.barrier;
}

// Two bits per factor, for the first kMaskFactors. Steps with more factors are not cached.
constexpr size_t kMaskFactors = 32;
uint64_t MaskOf(absl::Span<const Direction> directions) {
  uint64_t mask = 0;
  for (size_t f = 0; f < directions.size() && f < kMaskFactors; ++f)
    mask |= static_cast<uint64_t>(directions[f]) << (2 * f);
  return mask;
}

}  // namespace

const MeshDef* CommonMesh(absl::Span<const TensorSharding* const> shardings) {
  const MeshDef* common = nullptr;
  for (const TensorSharding* s : shardings) {
    if (!s || !s->mesh || s->mesh == common) continue;
    bool maximal = s->mesh->rank() == 0 && !s->mesh->device_ids().empty();
    if (maximal || common) return nullptr;
    common = s->mesh;
  }
  return common;
}

void FixPoint::Run(absl::Span<const Round> rounds) {
  work_.Fill(state_.active(), state_.graph().ops.size());
  VisitReturns();
  while (!work_.empty()) Visit(work_.Pop(), rounds);
  VisitReturns();
}

FixPoint::Ids FixPoint::Step(const Key& key, absl::Span<const Direction> directions) {
  const Rule& rule = state_.graph().rules[key.rule];
  const Ids& ids = key.ids;
  absl::InlinedVector<const TensorSharding*, 6> before;
  for (ShardingId i : ids) before.push_back(state_.shardings()[i]);
  const MeshDef* mesh = CommonMesh(before);
  if (!mesh) return ids;
  OpState projection = Project(rule.map, before);
  const OpState old = projection;
  StepCall call{rule, key.elementwise, directions};
  strategy_ == Stage::kBasic ? TakeBasicStep(call, projection)
                             : TakeAggressiveStep(call, projection);
  Ids after = ids;
  for (size_t t = 0; t < ids.size(); ++t) {
    bool changed = false;
    for (size_t f = 0; f < rule.map.factors.size(); ++f)
      changed |= projection.tensors[t].factors[f].axes != old.tensors[t].factors[f].axes;
    if (!changed) continue;
    TensorSharding next =
        Unproject(rule.map, DimsOf(rule.map, t), projection.tensors[t], before[t], mesh);
    if (!before[t] && next.dims_empty()) continue;
    after[t] = state_.shardings().Intern(std::move(next));
  }
  return after;
}

const FixPoint::Ids& FixPoint::CachedStep(Key key, absl::Span<const Direction> directions) {
  auto it = steps_.find(key);
  if (it != steps_.end() && directions.size() <= kMaskFactors) return it->second;
  Ids after = Step(key, directions);
  return steps_.insert_or_assign(std::move(key), std::move(after)).first->second;
}

void FixPoint::Visit(OpId id, absl::Span<const Round> rounds) {
  const Op& op = state_.graph().ops[id];
  absl::Span<const ValueId> tensors = state_.Tensors(id);
  Key key{.rule = op.rule, .elementwise = op.elementwise};
  bool axes = false;
  for (ValueId v : tensors) {
    key.ids.push_back(state_.Get(v));
    axes |= state_.shardings().has_axes(key.ids.back());
  }
  const Edge* manual = op.kind == Op::kEdge && state_.graph().edges[op.edge].outer
                           ? &state_.graph().edges[op.edge]
                           : nullptr;
  if (!axes && !manual) return;
  absl::InlinedVector<Direction, 8> directions;
  for (const sharding::Factor& f : state_.graph().rules[op.rule].map.factors)
    directions.push_back(DirectionOf(op, f, state_.single_use(id), rounds));
  key.directions = MaskOf(directions);
  if (manual) {
    Shardings& all = state_.shardings();
    key.ids.back() = all.Intern(SeenBySources(*manual, all[key.ids.back()]));
  }
  Ids before = key.ids;
  Ids after = CachedStep(std::move(key), directions);
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (after[t] == before[t]) continue;
    bool target = manual && t + 1 == tensors.size();
    ShardingId next =
        target ? state_.shardings().Intern(SeenByTargets(*manual, *state_.shardings()[after[t]]))
               : after[t];
    Write(id, tensors[t], next, work_);
  }
}

void FixPoint::Write(OpId op, ValueId value, ShardingId id, WorkList& work) {
  auto set = [&](ValueId v) {
    if (state_.recording)
      state_.changes.push_back(
          {op, v, state_.Get(v), id, state_.round, state_.priority, strategy_});
    state_.Set(v, id);
  };
  set(value);
  state_.Notify(value, op, work);
  // In a group an edge's owner stands for its targets. A member that is another target only
  // follows: its users are notified, but not its edge, as in Shardy.
  const ValueId owner = state_.Owner(value);
  for (ValueId v : state_.Group(owner)) {
    if (state_.Owner(v) == owner) continue;
    set(v);
    state_.Owner(v) == v ? state_.Notify(v, op, work) : state_.NotifyUsers(v, op, work);
  }
}

// Lets returned values and the shardings of the function's results follow each other,
// in every round.
void FixPoint::VisitReturns() {
  for (State::Return& r : state_.returns()) {
    Ids ids = {state_.Get(r.value), r.sharding};
    if (!state_.shardings().has_axes(ids[0]) && !state_.shardings().has_axes(ids[1])) continue;
    const DimMap& map = state_.graph().rules[r.rule].map;
    absl::InlinedVector<Direction, 8> both(map.factors.size(), Direction::kBoth);
    Ids after = Step({.rule = r.rule, .ids = ids}, both);
    r.sharding = after[1];
    if (after[0] != ids[0]) Write(state_.return_op(), r.value, after[0], work_);
  }
}

}  // namespace tessera::propagation::engine
