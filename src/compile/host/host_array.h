// Converts values on devices to arrays of callbacks, and back.
#pragma once
#include <vector>

#include "ir/host_call.h"
#include "tessera/array.h"
#include "trace/array.h"

namespace tessera::compile {

// Returns a copy of the value in the same place. Dims that do not divide are unsharded.
trace::ArrayRef ArrayOf(const ir::HostArgument& value, Loc loc);
// Returns the argument with which a callback sees an array on devices. It shares the buffers.
ir::HostArgument ArgumentOf(const trace::ConcreteArray& array);

// Returns the elements of a value that the device at a mesh position holds. `placed`: its place.
std::vector<IndexRange> RangesOf(const ir::Type& placed, int64_t position);

}  // namespace tessera::compile
