// The step that moves axes only as far as all tensors of a factor agree.
#include "base/at.h"
#include "propagation/steps.h"

namespace tessera::propagation::engine {

void BasicStep(const StepCall& call, OpState& projection) {
  const DimMap& map = call.rule.map;
  for (int32_t f = 0; f < static_cast<int32_t>(map.factors.size()); ++f) {
    AxisList axes = CompatibleAxes(projection, f, base::At(call.directions, f));
    int64_t size = base::At(map.factors, f).size;
    Truncate(axes, [&](AxisPart x, int64_t before) {
      std::optional<AxisPart> part = x;
      for (const TensorState& t : projection.tensors) {
        part = FitsOthers(t, f, *part);
        if (part && base::At(t.factors, f).present) part = FitsFactor(t, f, size, *part, before);
        if (!part) break;
      }
      return part;
    });
    for (TensorState& t : projection.tensors) {
      FactorState& s = base::At(t.factors, f);
      if (s.present && IsStrictPrefix(s.axes, axes)) s.axes = axes;
    }
  }
}

}  // namespace tessera::propagation::engine
