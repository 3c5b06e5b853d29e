// A helper of kernel makers: where each device's shard begins.
#pragma once
#include <vector>

#include "ir/op.h"
#include "sharding/local.h"

namespace tessera::ops {

// Returns, per device, the index along dim `d` at which its shard begins. Empty if the dim is
// not sharded.
inline std::vector<int64_t> ShardBegins(const ir::LocalTensor& t, size_t d) {
  const sharding::AxisList& axes = t.sharding->dims[d].axes;
  if (axes.empty()) return {};
  const sharding::MeshDef& mesh = *t.sharding->mesh;
  std::vector<int64_t> begins(static_cast<size_t>(mesh.size()), 0);
  for (int64_t i = 0; i < mesh.size(); ++i) {
    size_t device = mesh.Device(i);
    if (begins.size() <= device) begins.resize(device + 1);
    begins[device] = sharding::ShardIndex(mesh, axes, i) * t.shape[d];
  }
  return begins;
}

}  // namespace tessera::ops
