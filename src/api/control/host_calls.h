// Calls of host functions, now or in the program that is traced.
#pragma once
#include <memory>
#include <vector>

#include "api/core/operands.h"
#include "ir/host_call.h"
#include "tessera/debug.h"

namespace tessera::api {

// Whether an array is abstract, so that there is nothing to call with.
bool HasTypesAlone(const std::vector<trace::ArrayRef>& arrays);

// Adds a call of f to the program that is traced. Outside a trace, calls f now.
void CallHost(const std::shared_ptr<const ir::HostFunction>& f,
              const std::vector<trace::ArrayRef>& refs, CallbackOptions options, Call call);

// Returns notes about an element of the first argument of a host function: index and device, and
// the iterations of the loops around the call.
std::vector<std::string> PlaceNotes(const ir::HostArguments& arguments, size_t mesh_position,
                                    const std::vector<int64_t>& index);

}  // namespace tessera::api
