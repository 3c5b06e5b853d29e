// Shardy's five rounds of op priorities, run once for each user priority. Dims are hidden until the
// turn of their priority.
#include "propagation/priorities.h"

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

void OpPriorities(State& state, absl::Span<const Round> rounds) {
  FixPoint fix_point(state, /*basic=*/false);
  for (size_t k = 1; k <= rounds.size(); ++k) {
    state.round = static_cast<int8_t>(k - 1);
    fix_point.Run(rounds.first(k));
  }
}

namespace {

// A holder of a sharding: a value, or result number `returned` of the function.
struct Held {
  ValueId value = kNoValue;
  int32_t returned = -1;
  TensorSharding original;
};

class Layers {
 public:
  explicit Layers(State& state) : state_(state) {
    for (ValueId v : state.graph().values.ids())
      if (state.Owner(v) == v) Hold({.value = v, .original = {}});
    for (size_t r = 0; r < state.returns().size(); ++r)
      Hold({.returned = static_cast<int32_t>(r), .original = {}});
  }

  const std::map<int32_t, std::vector<Held>>& later() const { return later_; }

  // Gives the dims of priority `p` their axes back.
  void Restore(int32_t p) {
    for (const Held& held : later_.at(p)) {
      TensorSharding now = *state_.shardings()[Id(held)];
      for (size_t d = 0; d < now.dims.size(); ++d) {
        const sharding::DimAxes& original = held.original.dims[d];
        if (original.priority != p) continue;
        now.dims[d].axes = original.axes;
        now.dims[d].open = original.open;
        for (AxisPart a : original.axes)
          now.replicated.erase(std::remove(now.replicated.begin(), now.replicated.end(), a),
                               now.replicated.end());
      }
      ShardingId before = Id(held), after = state_.shardings().Intern(std::move(now));
      Id(held, after);
      if (state_.recording && held.value != kNoValue)
        state_.changes.push_back(
            {kNoOp, held.value, before, after, state_.round, p, Stage::kUserPriority});
    }
  }

 private:
  ShardingId Id(const Held& held) const {
    return held.returned >= 0 ? state_.returns()[held.returned].sharding : state_.Get(held.value);
  }
  void Id(const Held& held, ShardingId id) {
    if (held.returned >= 0)
      state_.returns()[held.returned].sharding = id;
    else
      state_.Set(held.value, id);
  }

  void Hold(Held held) {
    const TensorSharding* given = state_.shardings()[Id(held)];
    if (!given) return;
    held.original = *given;
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
      if (!std::count(seen.begin(), seen.end(), p)) seen.push_back(p);
    }
    if (!any) return;
    std::sort(now.replicated.begin(), now.replicated.end(), sharding::MeshOrder);
    Id(held, state_.shardings().Intern(std::move(now)));
    for (int32_t p : seen) later_[p].push_back(held);
  }

  State& state_;
  std::map<int32_t, std::vector<Held>> later_;
};

}  // namespace

void UserPriorities(State& state, absl::Span<const Round> rounds) {
  Layers layers(state);
  state.priority = 0;
  OpPriorities(state, rounds);
  for (const auto& [p, held] : layers.later()) {
    state.priority = p;
    layers.Restore(p);
    OpPriorities(state, rounds);
  }
}

}  // namespace tessera::propagation::engine
