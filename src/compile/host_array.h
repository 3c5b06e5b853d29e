// What a callback sees of a value on devices, as an array.
#pragma once
#include "ir/host_call.h"
#include "trace/array.h"

namespace tessera::compile {

// Returns a copy of the value that lies as it does. Dims that do not divide evenly are whole.
trace::ArrayRef ArrayOf(const ir::HostArgument& value, Loc loc);

}  // namespace tessera::compile
