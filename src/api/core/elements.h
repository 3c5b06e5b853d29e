// Access to the elements of arrays on devices.
#pragma once
#include <memory>

#include "api/core/operands.h"
#include "compile/host/concrete.h"

namespace tessera::api {

using compile::Concrete;

// Returns the array's elements on devices. Throws TraceError for arrays that have none: those that
// are traced, abstract or donated, or were never given a value. Messages show the array as `name`.
const Concrete& OnDevices(const Array& x, Call call, const std::string& name = "array");
// Whether each device has its own value, so that there is no single array: a value inside shard_map
// that varies or is a partial sum.
bool IsOnePerDevice(const ir::Type& type);
// Returns the array with every element in one buffer. Throws TraceError as OnDevices does, and if
// each device has its own value; RuntimeError if a part is on another process, unless reads gather.
std::shared_ptr<const Concrete> Whole(const Array& x, Call call);
// Returns the array without unreduced axes; its dims stay as they are laid out. All processes call
// it. Throws TraceError as Whole does.
std::shared_ptr<const Concrete> Summed(const Array& x, Call call);
// Returns all elements of the array on every process, on no mesh. All processes call it. Throws
// TraceError as Whole does.
std::shared_ptr<const Concrete> OnHost(const Array& x, Call call);

}  // namespace tessera::api
