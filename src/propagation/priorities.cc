// Shardy's five rounds of op priorities, run once for each user priority. Dims are hidden until the
// turn of their priority.
#include "propagation/priorities.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <map>

namespace tessera::propagation::engine {

std::vector<Round> DefaultRounds() {
  using sharding::Factor;
  using sharding::FactorKind;
  auto backward_if_expands = [](const Op& op) {
    return op.expands ? Direction::kBackward : Direction::kBoth;
  };
  return {
      [](const Op& op, const Factor&, bool single) { return single ? op.first : Direction::kNone; },
      [](const Op& op, const Factor&, bool) { return op.first; },
      [=](const Op& op, const Factor& f, bool) {
        bool passes = f.kind == FactorKind::kPass || f.kind == FactorKind::kAcross;
        return passes ? backward_if_expands(op) : Direction::kNone;
      },
      [=](const Op& op, const Factor&, bool) { return backward_if_expands(op); },
      [](const Op&, const Factor&, bool) { return Direction::kBoth; }};
}

std::vector<std::string> DefaultRoundNames() {
  return {"elementwise and shape-preserving ops, values used once",
          "elementwise and shape-preserving ops", "dims of operands and results", "all dims",
          "all dims, broadcasts forward too"};
}

void RunOpPriorities(State& state, absl::Span<const Round> rounds) {
  FixPoint fix_point(state, Stage::kAggressive);
  for (size_t k = 1; k <= rounds.size(); ++k) {
    state.round = static_cast<int8_t>(k - 1);
    fix_point.Run(rounds.first(k));
  }
}

namespace {

// A holder of a sharding: a value, or result number `returned` of the function.
struct Holder {
  ValueId value = kNoValue;
  int32_t returned = -1;
  TensorSharding original;
};

class PriorityLayers {
 public:
  explicit PriorityLayers(State& state) : state_(state) {
    for (ValueId v : state.graph().values.ids())
      if (state.Owner(v) == v) HideLaterDims({.value = v, .original = {}});
    for (size_t r = 0; r < state.returns().size(); ++r)
      HideLaterDims({.returned = static_cast<int32_t>(r), .original = {}});
  }

  const std::map<int32_t, std::vector<Holder>>& later() const { return later_; }

  // Gives the dims of priority `p` their axes back.
  void Restore(int32_t p) {
    for (const Holder& holder : later_.at(p)) {
      TensorSharding now = *state_.shardings()[IdOf(holder)];
      for (size_t d = 0; d < now.dims.size(); ++d) {
        const sharding::DimAxes& original = holder.original.dims[d];
        if (original.priority != p) continue;
        now.dims[d].axes = original.axes;
        now.dims[d].open = original.open;
        for (AxisPart a : original.axes)
          now.replicated.erase(std::remove(now.replicated.begin(), now.replicated.end(), a),
                               now.replicated.end());
      }
      ShardingId before = IdOf(holder), after = state_.shardings().Intern(std::move(now));
      SetId(holder, after);
      if (state_.recording && holder.value != kNoValue)
        state_.changes.push_back(
            {kNoOp, holder.value, before, after, state_.round, p, Stage::kUserPriority});
    }
  }

 private:
  ShardingId IdOf(const Holder& holder) const {
    return holder.returned >= 0 ? state_.returns()[holder.returned].sharding
                                : state_.Get(holder.value);
  }
  void SetId(const Holder& holder, ShardingId id) {
    if (holder.returned >= 0)
      state_.returns()[holder.returned].sharding = id;
    else
      state_.Set(holder.value, id);
  }

  void HideLaterDims(Holder holder) {
    const TensorSharding* given = state_.shardings()[IdOf(holder)];
    if (!given) return;
    holder.original = *given;
    TensorSharding now = *given;
    bool any = false;
    std::vector<int32_t> seen;
    for (sharding::DimAxes& d : now.dims) {
      int32_t p = std::exchange(d.priority, -1);
      any |= p >= 0;
      if (p <= 0) continue;
      now.replicated.insert(now.replicated.end(), d.axes.begin(), d.axes.end());
      d.axes.clear();
      d.open = false;
      if (!absl::c_linear_search(seen, p)) seen.push_back(p);
    }
    if (!any) return;
    absl::c_sort(now.replicated, sharding::MeshOrder);
    SetId(holder, state_.shardings().Intern(std::move(now)));
    for (int32_t p : seen) later_[p].push_back(holder);
  }

  State& state_;
  std::map<int32_t, std::vector<Holder>> later_;
};

}  // namespace

void RunUserPriorities(State& state, absl::Span<const Round> rounds) {
  PriorityLayers layers(state);
  state.priority = 0;
  RunOpPriorities(state, rounds);
  for (const auto& [p, holder] : layers.later()) {
    state.priority = p;
    layers.Restore(p);
    RunOpPriorities(state, rounds);
  }
}

}  // namespace tessera::propagation::engine
