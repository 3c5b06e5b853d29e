// The elements of arrays on devices.
#pragma once
#include <memory>

#include "api/core/operands.h"
#include "compile/host/concrete.h"

namespace tessera::api {

using compile::Concrete;

// Returns the array's elements on devices. Throws TraceError for arrays that have none: traced,
// abstract, donated, never given a value.
const Concrete& OnDevices(const Array& x, Call call);
// Returns whether devices have values of their own, from which no whole array follows: what varies
// inside of shard_map, and terms of a sum there.
bool IsOnePerDevice(const ir::Type& type);
// Returns the array with every element in one buffer. Throws TraceError as OnDevices does, and
// where devices have values of their own.
std::shared_ptr<const Concrete> Whole(const Array& x, Call call);

}  // namespace tessera::api
