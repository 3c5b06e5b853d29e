// The step that moves axes only as far as all tensors of a factor agree.
#include "propagation/steps.h"

namespace tessera::propagation::engine {

void BasicStep(const StepCall& call, Projection& projection) {
  const DimMap& map = call.rule.map;
  for (int32_t f = 0; f < static_cast<int32_t>(map.factors.size()); ++f) {
    AxisList axes = CompatibleAxes(projection, f, call.directions[static_cast<size_t>(f)]);
    int64_t size = map.factors[static_cast<size_t>(f)].size;
    Truncate(axes, [&](AxisRef x, int64_t before) {
      std::optional<AxisRef> part = x;
      for (const TensorState& t : projection.tensors) {
        part = FitsOthers(t, f, *part);
        if (part && t.factors[static_cast<size_t>(f)].present)
          part = FitsFactor(t, f, size, *part, before);
        if (!part) break;
      }
      return part;
    });
    for (TensorState& t : projection.tensors) {
      FactorState& s = t.factors[static_cast<size_t>(f)];
      if (s.present && IsStrictPrefix(s.axes, axes)) s.axes = axes;
    }
  }
}

}  // namespace tessera::propagation::engine
