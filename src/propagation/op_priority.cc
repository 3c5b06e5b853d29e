// The five rounds of Shardy's op priorities, and running them one after the other.
#include "propagation/priorities.h"

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
  return {"elementwise and the like, values used once", "elementwise and the like",
          "dims of operands and results", "all dims", "all dims, broadcasts forward too"};
}

void OpPriorities(State& state, absl::Span<const Round> rounds) {
  FixPoint fix_point(state, /*basic=*/false);
  for (size_t k = 1; k <= rounds.size(); ++k) {
    state.round = static_cast<int8_t>(k - 1);
    fix_point.Run(rounds.first(k));
  }
}

}  // namespace tessera::propagation::engine
