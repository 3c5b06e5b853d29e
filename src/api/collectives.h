// Manual axes: what public functions ask of values and of the mesh.
#pragma once
#include "api/operands.h"
#include "ops/manual.h"
#include "trace/function.h"

namespace tessera::api {

// Returns the axes on the current mesh; throws ShardingError where they are not Manual there.
// Axes of size 1 are left out.
sharding::AxisList ManualAxes(const AxisSet& axes, Call call);

// Returns x with the axes varying: what is invarying or reduced over them is cast. C27: throws
// ShardingError for terms of a sum over them.
Array AsVarying(const Array& x, const sharding::AxisList& axes, Call call);

// Returns the Manual axes along which a value of the type varies.
inline const sharding::AxisList& VaryingOf(const ir::Type& type) { return type.sharding().varying; }

// Returns whether a predicate is true on any device along the axes. Regions that devices run
// differently are given up where this is inside of one, so it asks nothing of them.
Array AnyDevice(const Array& predicate, const sharding::AxisList& axes, Call call);

// C38: throws ShardingError where devices along the axes may not all get here.
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

// Applies an op of manual computation, whose result has this type.
Array ApplyManual(const ir::OpDef& op, ir::ParamsPtr params, const Array& x, const ir::Type* result,
                  Call call);

}  // namespace tessera::api
