// Applies ops to arrays.
#pragma once
#include <absl/container/inlined_vector.h>

#include <vector>

#include "trace/array.h"

namespace tessera::trace {

// An op with its operands and options.
struct Application {
  const ir::OpDef& op;
  ir::ParamsPtr params;
  absl::InlinedVector<ArrayRef, 3> operands;
  const ir::ShapeAndDType* wanted = nullptr;
  const sharding::TensorSharding* out_sharding = nullptr;
  Loc loc;
  const char* shown_as = nullptr;    // the public function, in messages
  const ir::Type* result = nullptr;  // the result type of an op without dimension map (reshard)
  std::vector<ir::RegionPtr> regions = {};
};

// Returns the results: recorded in the current trace, computed at once, or only typed.
std::vector<Array> Apply(const Application& application);

// Whether arrays on `mesh` are outside of functions with `current`, whose mesh has more Manual axes
// (shard_map) or more Auto ones (auto_axes).
bool CanEnter(const sharding::MeshDef* mesh, const sharding::MeshDef* current);

// Returns a sharding on a mesh with the same axes, in which types name only Explicit axes.
sharding::TensorSharding Under(sharding::TensorSharding s, const sharding::MeshDef* mesh);

// Returns the array as the current region sees it. An array from outside shard_map becomes
// invarying over the axes that became Manual; throws ShardingError if it is sharded over them. An
// array from outside auto_axes loses its Auto axes in its type, as an argument does. An
// array from outside a region that devices run differently becomes varying. It is cast before that
// region, so the sum of its cotangents is taken there too.
Array Enter(const ArrayRef& array, const char* op, Loc loc);

}  // namespace tessera::trace
