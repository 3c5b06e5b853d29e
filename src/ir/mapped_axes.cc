// The mesh axes of the vmaps around the function that this thread traces.
#include "ir/mapped_axes.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <vector>

#include "sharding/mesh.h"

namespace tessera::ir {
namespace {

thread_local std::vector<std::string> mapped_axes;

}  // namespace

MappedAxesScope::MappedAxesScope(const sharding::MeshDef* mesh, const sharding::AxisList& axes)
    : old_(mapped_axes.size()) {
  for (sharding::AxisPart a : axes) mapped_axes.push_back(mesh->axes()[a.axis].name);
}
MappedAxesScope::~MappedAxesScope() { mapped_axes.resize(old_); }

bool IsMappedAxis(const std::string& name) {
  return absl::c_find(mapped_axes, name) != mapped_axes.end();
}

sharding::AxisList MappedAxesOf(const sharding::MeshDef* mesh) {
  sharding::AxisList axes;
  for (const std::string& name : mapped_axes)
    if (const int axis = mesh ? mesh->Find(name) : -1; axis >= 0)
      sharding::AddTo(axes, {sharding::WholeAxis(*mesh, axis)});
  return axes;
}

}  // namespace tessera::ir
