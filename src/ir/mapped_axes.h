// The mesh axes that shard the batch of an enclosing vmap, while a function of one batch element
// is traced.
#pragma once
#include <string>

#include "sharding/axes.h"

namespace tessera::ir {

// Scope: traces a function of one batch element; the batch is sharded over these axes of the mesh.
// A shard_map inside that names no axes leaves them out. A value that is reduced over them is the
// same for all batch elements.
class MappedAxesScope {
 public:
  MappedAxesScope(const sharding::MeshDef* mesh, const sharding::AxisList& axes);
  ~MappedAxesScope();
  MappedAxesScope(const MappedAxesScope&) = delete;

 private:
  const size_t old_;
};
bool IsMappedAxis(const std::string& name);
// Returns the mapped axes that are in the mesh.
sharding::AxisList MappedAxesOf(const sharding::MeshDef* mesh);

}  // namespace tessera::ir
