// A sharded dim as blocks, and arrays with one element per block.
#include "api/control/blocks.h"

#include "base/at.h"
#include "tessera/hints.h"
#include "trace/scopes.h"

namespace tessera::api {

const sharding::AxisList& AxesOf(const Array& x, int64_t dim) {
  return TypeOf(x)->sharding().dims[base::Size(dim)].axes;
}

int64_t BlocksOf(const Arrays& xs, const std::vector<int64_t>& dims, int64_t left) {
  const int64_t n = ShapeOf(xs[0])[base::Size(dims[0])] - left;
  int64_t blocks = sharding::SizeOf(AxesOf(xs[0], dims[0]));
  const sharding::MeshDef* mesh = MeshInScope(xs);
  if (blocks == 1 && mesh)
    for (const MeshAxis& axis : mesh->axes())
      if (axis.mode == AxisMode::Auto && n % (blocks * axis.size) == 0) blocks *= axis.size;
  return n >= 2 * blocks ? blocks : 1;
}

int64_t LeftOver(const Arrays& xs, const std::vector<int64_t>& dims) {
  const int64_t n = ShapeOf(xs[0])[base::Size(dims[0])];
  const sharding::MeshDef* mesh = MeshInScope(xs);
  if (!mesh || !AxesOf(xs[0], dims[0]).empty()) return 0;
  int64_t blocks = 1;
  for (const MeshAxis& axis : mesh->axes())
    if (axis.mode == AxisMode::Auto) blocks *= axis.size;
  return n >= 2 * blocks ? n % blocks : 0;
}

Arrays WholeByPropagation(const Arrays& xs, const std::vector<int64_t>& dims, Loc loc) {
  Arrays whole;
  for (size_t k = 0; k < xs.size(); ++k) {
    std::vector<DimSharding> spec(ShapeOf(xs[k]).size(), Open());
    spec[base::Size(dims[k])] = None;
    whole.push_back(with_sharding_constraint(xs[k], PartitionSpec(std::move(spec)), loc));
  }
  return whole;
}

}  // namespace tessera::api
