// Manual axes: states of values over them, and communication in regions.
#pragma once
#include <string>
#include <vector>

#include "api/core/operands.h"
#include "ops/manual.h"
#include "tessera/shard_map.h"
#include "trace/function.h"

namespace tessera::api {

// Returns the axes on the current mesh, without those of size 1. Throws ShardingError for an axis
// that is not Manual.
sharding::AxisList ManualAxes(const AxisSet& axes, Call call);
// Returns the name of the axis on the current mesh.
std::string AxisName(sharding::AxisPart axis);

// Returns the states of a value over the axes, each with its part of the axes.
struct StateOver {
  Variance state;
  sharding::AxisList axes;
};
std::vector<StateOver> StatesOver(const sharding::TensorSharding& sharding,
                                  const sharding::AxisList& axes);
// Returns the Manual axes along which a value of the type varies.
inline const sharding::AxisList& VaryingOf(const ir::Type& type) { return type.sharding().varying; }
// C27: refuses x if it is unreduced over one of the axes.
void RefuseTerms(const Array& x, const sharding::AxisList& axes, Call call);

// Shape and sharding of a result, to change its states over axes.
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
// Applies an op over Manual axes whose result has this type.
Array ApplyManual(const ir::OpDef& op, ir::ParamsPtr params, const Array& x, const ir::Type* result,
                  Call call);
// Returns x cast to a state over the axes.
Array CastStates(const Array& x, const sharding::AxisList& axes, Variance to, Call call);
// Returns x cast from invarying or reduced to varying over the axes. C27: throws ShardingError if x
// is unreduced over one of them.
Array AsVarying(const Array& x, const sharding::AxisList& axes, Call call);

// Returns whether a predicate is true on any device along the axes. CheckTogether does not count
// this communication: loops and branches that use it are run by all devices.
Array AnyDevice(const Array& predicate, const sharding::AxisList& axes, Call call);

// C38: throws ShardingError if some devices along the axes may not reach this point.
void CheckTogether(const sharding::AxisList& axes, Call call);

// C38: refuses traced regions that communicate over axes along which devices run them differently.
// A gradient may add such communication.
void CheckTogether(const std::vector<trace::TracedFunction>& regions, const trace::RegionRuns& runs,
                   Call call);

// Casts output i of a traced region so that it varies over the axes. An output that is unreduced
// over one of them stays as it is, because no cast applies.
void CastOutput(trace::TracedFunction& region, size_t i, const sharding::AxisList& axes);

// Returns the axes along which values of the regions vary, nested regions included, as far as they
// are Manual here.
sharding::AxisList VaryingIn(const std::vector<trace::TracedFunction>& regions);

// Whether the regions communicate, or may do so after propagation.
bool NeedsOthers(const std::vector<trace::TracedFunction>& regions);

}  // namespace tessera::api
