// The dimension map by which the typing rule finds result types.
#pragma once
#include "ir/op.h"

namespace tessera::ir {

// Returns the shapes of an instruction, for the map of its op.
DimsCall DimsCallOf(const OpDef& op, const Params* params, Types operands, Types results);
// Returns the map of an instruction whose op has one. Propagation and devices use others
// (DimMapOf, DeviceMapOf).
sharding::DimMap TypingMapOf(const OpDef& op, const Params* params, Types operands, Types results);

}  // namespace tessera::ir
