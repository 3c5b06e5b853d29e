// Manual axes: what public functions ask of values, of regions and of the mesh there.
#pragma once
#include <string>
#include <vector>

#include "api/core/operands.h"
#include "ops/manual.h"
#include "tessera/shard_map.h"
#include "trace/function.h"

namespace tessera::api {

// Returns the axes on the current mesh; throws ShardingError where they are not Manual there.
// Axes of size 1 are left out.
sharding::AxisList ManualAxes(const AxisSet& axes, Call call);
// Returns the name of the axis on the current mesh.
std::string AxisName(sharding::AxisPart axis);

// Returns what a value is over the axes: each state that it has, and the parts of them over which.
struct StateOver {
  Variance state;
  sharding::AxisList axes;
};
std::vector<StateOver> StatesOver(const sharding::TensorSharding& sharding,
                                  const sharding::AxisList& axes);
// Returns the Manual axes along which a value of the type varies.
inline const sharding::AxisList& VaryingOf(const ir::Type& type) { return type.sharding().varying; }
// C27: terms of sums are for psum and psum_scatter.
void RefuseTerms(const Array& x, const sharding::AxisList& axes, Call call);

// Shape and sharding of a result, while its states over axes are changed.
struct ManualResult {
  base::Shape shape;
  sharding::TensorSharding sharding;
  explicit ManualResult(const ir::Type* type) : shape(type->shape()), sharding(type->sharding()) {}
  void Leave(const sharding::AxisList& axes) {
    sharding.varying = sharding::Difference(sharding.varying, axes);
    sharding.unreduced = sharding::Difference(sharding.unreduced, axes);
    sharding.reduced = sharding::Difference(sharding.reduced, axes);
    if (sharding.unreduced.empty()) sharding.kind = Reduction::kSum;
  }
  void Enter(sharding::AxisList& set, const sharding::AxisList& axes) {
    Leave(axes);
    sharding::AddTo(set, axes);
  }
  void Become(Variance state, const sharding::AxisList& axes) {
    switch (state) {
      case Variance::kInvarying:
        return Leave(axes);
      case Variance::kVarying:
        return Enter(sharding.varying, axes);
      case Variance::kUnreduced:
        return Enter(sharding.unreduced, axes);
      case Variance::kReduced:
        return Enter(sharding.reduced, axes);
    }
  }
};

ir::ParamsPtr ManualParamsOf(const sharding::AxisList& axes, std::vector<int64_t> dims = {});
// Applies an op of manual computation, whose result has this type.
Array ApplyManual(const ir::OpDef& op, ir::ParamsPtr params, const Array& x, const ir::Type* result,
                  Call call);
// Returns x cast to a state over the axes.
Array CastStates(const Array& x, const sharding::AxisList& axes, Variance to, Call call);
// Returns x with the axes varying: what is invarying or reduced over them is cast. C27: throws
// ShardingError for terms of a sum over them.
Array AsVarying(const Array& x, const sharding::AxisList& axes, Call call);

// Returns whether a predicate is true on any device along the axes. Regions that devices run
// differently are given up where this is inside of one, so it asks nothing of them.
Array AnyDevice(const Array& predicate, const sharding::AxisList& axes, Call call);

// C38: throws ShardingError where devices along the axes may not all reach this point.
void CheckTogether(const sharding::AxisList& axes, Call call);

// C38: the same of what traced regions do over these axes without being asked, in gradients.
void CheckTogether(const std::vector<trace::TracedFunction>& regions, const trace::RegionRuns& runs,
                   Call call);

// Casts output i of a traced region so that it varies over the axes; terms of a sum over them stay
// what they are, as no cast makes anything else of them.
void CastOutput(trace::TracedFunction& region, size_t i, const sharding::AxisList& axes);

// Returns the axes, Manual here, along which values of the regions vary, and those inside of them.
sharding::AxisList VaryingIn(const std::vector<trace::TracedFunction>& regions);

// Whether devices need one another in the regions: something there moves data, or may.
bool NeedsOthers(const std::vector<trace::TracedFunction>& regions);

}  // namespace tessera::api
