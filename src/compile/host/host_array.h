// Converts values on devices to arrays of callbacks, and back.
#pragma once
#include <absl/functional/function_ref.h>

#include <memory>
#include <string>
#include <vector>

#include "compile/host/concrete.h"
#include "ir/host_call.h"
#include "ir/host_tensor.h"
#include "tessera/array.h"
#include "trace/array.h"

namespace tessera::compile {

// Returns a copy of the value in the same place. Dims that do not divide are unsharded.
trace::ArrayRef ArrayOf(const ir::HostArgument& value, Loc loc);
// Returns the argument with which a callback sees an array on devices. It shares the buffers.
ir::HostArgument ArgumentOf(const trace::ConcreteArray& array);

// Returns the elements of a value that the device at a mesh position holds. `placed`: its place.
std::vector<IndexRange> RangesOf(const ir::Type& placed, int64_t position);

// Calls f for each contiguous piece of the elements that the device at a mesh position holds: with
// its first byte in the whole array, its first byte in the shard, and its size. Padding is left
// out.
void ForEachPiece(const ir::Type& placed, int64_t position,
                  absl::FunctionRef<void(int64_t in_whole, int64_t in_shard, int64_t bytes)> f);

// Returns the text of an element with nine digits: "0.25", "1-2i", "7".
std::string TextAt(const ir::HostTensor& x, int64_t element);

// Returns "[0:4, 2:6]".
std::string IndexText(const std::vector<IndexRange>& index);

// Returns the number of the shard of a value that the device at a mesh position holds.
int64_t ShardAt(const ir::Type& placed, int64_t position);
// Returns the number, among the arrays of all devices, of the one that the device at a mesh
// position has: they differ along axes over which a value varies or is unreduced. 0 if there is one
// array.
int64_t ArrayAt(const ir::Type& placed, int64_t position);
// Returns one mesh position for each distinct shard of a value, in the order of the shards: the
// first of those that `counts` accepts. A value without a mesh has position 0, which counts.
std::vector<int64_t> DistinctPositions(const ir::Type& placed,
                                       absl::FunctionRef<bool(int64_t position)> counts);
// Return these positions for the shards that a process has, and for those that this process has and
// no process before it has.
std::vector<int64_t> PositionsOn(int32_t process, const ir::Type& placed);
std::vector<int64_t> PositionsFirstHere(const ir::Type& placed);
// Whether a process has every element of a value that is not unreduced.
bool IsWholeOn(int32_t process, const ir::Type& placed);
// Whether several processes have a shard of a value that is not unreduced.
bool IsSharedByProcesses(const ir::Type& placed);

// Returns a new array. Calls fill(position, out) once for each instance that this process has, with
// the position of a device that holds it. Shards that several processes have are compared when a
// program uses the array.
std::shared_ptr<Concrete> NewFilled(const ir::Type* type, const ir::Type* placed, Loc loc,
                                    absl::FunctionRef<void(int64_t position, std::byte* out)> fill);

}  // namespace tessera::compile
