// Finds the box that each device copies, and the devices that keep a value that becomes a partial
// sum.
#include "spmd/emit/local_reshard.h"

#include <algorithm>

#include "base/at.h"
#include "base/shape.h"
#include "sharding/local.h"

namespace tessera::spmd {
namespace {

using sharding::AxisList;
using sharding::TensorSharding;

// Returns the axes that become unreduced and did not shard a dim before. Along them one device
// keeps the value, and the others get zeros.
AxisList Fresh(const TensorSharding& from, const TensorSharding& to) {
  AxisList fresh = sharding::Difference(to.unreduced, from.unreduced);
  for (const sharding::DimAxes& d : from.dims) fresh = sharding::Difference(fresh, d.axes);
  return fresh;
}

}  // namespace

KernelFactories::DeviceCopy LocalMove(const ir::Program& device, ir::ValueId in, ir::ValueId out,
                                      int32_t devices) {
  const TensorSharding &from = device.place(in)->sharding(), &to = device.place(out)->sharding();
  // A value that was made outside of all meshes may have no mesh.
  const sharding::MeshDef& mesh = to.mesh ? *to.mesh : *device.mesh;
  const base::Shape &in_shape = device.type(in)->shape(), &out_shape = device.type(out)->shape();
  KernelFactories::DeviceCopy copy{.itemsize = device.type(in)->dtype().size(),
                                   .in_strides = base::DenseStrides(in_shape),
                                   .out_strides = base::DenseStrides(out_shape),
                                   .out_size = device.type(out)->elements()};
  for (size_t d = 0; d < in_shape.size(); ++d)
    copy.box.push_back(std::min(in_shape[d], out_shape[d]));
  const bool sums = to.kind == Reduction::kSum;
  const AxisList fresh = sums ? Fresh(from, to) : AxisList{};
  copy.in_offsets.assign(base::Size(devices), 0);
  copy.out_offsets.assign(base::Size(devices), 0);
  if (!fresh.empty()) copy.skip.assign(base::Size(devices), false);
  for (int64_t i = 0; i < mesh.size(); ++i) {
    const int64_t id = mesh.Device(i);
    for (size_t d = 0; d < in_shape.size(); ++d) {
      const int64_t begin = sharding::ShardIndex(mesh, to.dims[d].axes, i) * out_shape[d] -
                            sharding::ShardIndex(mesh, from.dims[d].axes, i) * in_shape[d];
      if (begin >= 0)
        base::At(copy.in_offsets, id) += begin * copy.in_strides[d];
      else
        base::At(copy.out_offsets, id) -= begin * copy.out_strides[d];
    }
    if (!fresh.empty()) base::At(copy.skip, id) = sharding::ShardIndex(mesh, fresh, i) != 0;
  }
  copy.fill = (sums && !to.unreduced.empty() && to.unreduced != from.unreduced) ||
              device.type(out)->elements() > device.type(in)->elements();
  return copy;
}

}  // namespace tessera::spmd
