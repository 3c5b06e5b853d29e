// Manual axes: what public functions ask of values and of the mesh.
#pragma once
#include "api/operands.h"
#include "ops/manual.h"

namespace tessera::api {

// Returns the axes on the current mesh; throws ShardingError where they are not Manual there.
// Axes of size 1 are left out.
sharding::AxisList ManualAxes(const AxisSet& axes, Call call);

// Returns x with the axes varying: what is invarying or reduced over them is cast.
Array AsVarying(const Array& x, const sharding::AxisList& axes, Call call);

// Applies an op of manual computation, whose result has this type.
Array ApplyManual(const ir::OpDef& op, ir::ParamsPtr params, const Array& x, const ir::Type* result,
                  Call call);

}  // namespace tessera::api
