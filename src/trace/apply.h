// Ops applied to arrays.
#pragma once
#include <absl/container/inlined_vector.h>

#include <vector>

#include "trace/array.h"

namespace tessera::trace {

// What an op is applied to, and how.
struct Application {
  const ir::OpDef& op;
  ir::ParamsPtr params;
  absl::InlinedVector<ArrayRef, 3> operands;
  const ir::ShapeAndDType* wanted = nullptr;
  const sharding::TensorSharding* out_sharding = nullptr;
  Loc loc;
  const char* shown_as = nullptr;    // the public function, in messages
  const ir::Type* result = nullptr;  // of an op without dimension map (reshard): its result type
  std::vector<ir::RegionPtr> regions = {};
};

// Returns the results: recorded in the current trace, computed at once, or only typed.
std::vector<Array> Apply(const Application& application);

// Whether an array on the mesh is of the outside of a shard_map whose mesh is `current`.
bool CanEnter(const sharding::MeshDef* mesh, const sharding::MeshDef* current);

// Returns the array as this region has it. Of the outside of shard_map it is invarying over the
// axes that became Manual; ShardingError where it is cut along them. Of the outside of a region
// that devices run differently it varies, cast in front of the region: the sum of its cotangents
// then stands there, too.
Array Enter(const ArrayRef& array, const char* op, Loc loc);

}  // namespace tessera::trace
