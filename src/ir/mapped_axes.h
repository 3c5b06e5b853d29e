// The axes over which the lanes of a vmap lie, while a function of one lane is traced.
#pragma once
#include <string>

#include "sharding/axes.h"

namespace tessera::ir {

// Scope: a function of one lane is traced, of lanes that lie over these axes of the mesh. A
// shard_map inside of it that names no axes leaves them out. What is reduced over them is the same
// in all lanes.
class MappedAxesScope {
 public:
  MappedAxesScope(const sharding::MeshDef* mesh, const sharding::AxisList& axes);
  ~MappedAxesScope();
  MappedAxesScope(const MappedAxesScope&) = delete;

 private:
  const size_t old_;
};
bool IsMappedAxis(const std::string& name);
// Returns those of the axes of a mesh.
sharding::AxisList MappedAxesOf(const sharding::MeshDef* mesh);

}  // namespace tessera::ir
