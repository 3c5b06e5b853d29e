// The two steps: all tensors of a factor must agree, or each takes the axes that it can.
#include "propagation/steps.h"

#include <absl/algorithm/container.h>

namespace tessera::propagation::engine {

void TakeBasicStep(const StepCall& call, OpState& projection) {
  const DimMap& map = call.rule.map;
  for (int32_t f = 0; f < static_cast<int32_t>(map.factors.size()); ++f) {
    AxisList axes = CompatibleAxes(projection, f, call.directions[f]);
    int64_t size = map.factors[f].size;
    Truncate(axes, [&](AxisPart x, int64_t before) {
      std::optional<AxisPart> part = x;
      for (const TensorState& t : projection.tensors) {
        part = FitsOthers(t, f, *part);
        if (part && t.factors[f].present) part = FitsFactor(t, f, size, *part, before);
        if (!part) break;
      }
      return part;
    });
    for (TensorState& t : projection.tensors) {
      FactorState& s = t.factors[f];
      if (s.present && IsStrictPrefix(s.axes, axes)) s.axes = axes;
    }
  }
}

namespace {

// The axes that one factor wants, and their source: the largest tensor that has them.
struct Wish {
  int32_t factor;
  AxisList axes;
  double source_size = -1;
  size_t source = 0;
};

std::vector<Wish> Wishes(const StepCall& call, const OpState& projection) {
  std::vector<Wish> wishes;
  for (int32_t f = 0; f < static_cast<int32_t>(call.directions.size()); ++f) {
    Wish wish{f, CompatibleAxes(projection, f, call.directions[f])};
    if (wish.axes.empty()) continue;
    for (size_t t = 0; t < projection.tensors.size(); ++t) {
      const FactorState& s = projection.tensors[t].factors[f];
      bool has = s.present && (wish.axes == s.axes || IsStrictPrefix(wish.axes, s.axes));
      if (!has || call.rule.sizes[t] <= wish.source_size) continue;
      wish.source_size = call.rule.sizes[t];
      wish.source = t;
    }
    wishes.push_back(std::move(wish));
  }
  // The tensors of an elementwise op are equally large, so the factor with more shards goes first.
  auto shards = [&](const Wish& w) { return call.elementwise ? SizeOf(w.axes) : 0; };
  absl::c_stable_sort(wishes, [&](const Wish& a, const Wish& b) {
    if (a.source_size != b.source_size) return a.source_size > b.source_size;
    if (shards(a) != shards(b)) return shards(a) > shards(b);
    return a.source < b.source;
  });
  return wishes;
}

}  // namespace

void TakeAggressiveStep(const StepCall& call, OpState& projection) {
  std::vector<Wish> wishes = Wishes(call, projection);
  if (wishes.empty()) return;
  auto serve = [&](size_t t) {
    const bool operand = t < projection.operands;
    TensorState& tensor = projection.tensors[t];
    for (const Wish& wish : wishes) {
      FactorState& s = tensor.factors[wish.factor];
      if (!s.present) continue;
      AxisList axes = wish.axes;
      int64_t size = call.rule.map.factors[wish.factor].size;
      Truncate(axes, [&](AxisPart x, int64_t before) {
        return FitsFactor(tensor, wish.factor, size, x, before);
      });
      if (!IsStrictPrefix(s.axes, axes)) continue;
      Truncate(axes, [&](AxisPart x, int64_t) { return FitsOthers(tensor, wish.factor, x); });
      // Axes pass between operands of an elementwise op only if the result takes them too.
      if (operand && call.elementwise)
        for (size_t r = projection.operands; r < projection.tensors.size(); ++r) {
          const FactorState& result = projection.tensors[r].factors[wish.factor];
          if (IsStrictPrefix(result.axes, axes)) axes = result.axes;
        }
      if (IsStrictPrefix(s.axes, axes)) s.axes = std::move(axes);
    }
  };
  for (size_t t = projection.operands; t < projection.tensors.size(); ++t) serve(t);
  for (size_t t = 0; t < projection.operands; ++t) serve(t);
}

}  // namespace tessera::propagation::engine
