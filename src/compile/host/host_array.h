// What a callback sees of a value on devices, as an array, and the other way round.
#pragma once
#include <vector>

#include "ir/host_call.h"
#include "tessera/array.h"
#include "trace/array.h"

namespace tessera::compile {

// Returns a copy of the value that lies as it does. Dims that do not divide evenly are whole.
trace::ArrayRef ArrayOf(const ir::HostArgument& value, Loc loc);
// Returns what a callback of a program would see of an array on devices, whose buffers it shows.
ir::HostArgument ArgumentOf(const trace::ConcreteArray& array);

// Returns which elements of a value the device at a mesh position holds. `placed`: its type with
// the complete sharding.
std::vector<IndexRange> RangesOf(const ir::Type& placed, int64_t position);

}  // namespace tessera::compile
