// Finds the instance of a device, and wraps arrays on the host.
#include "compile/host/concrete.h"

#include "runtime/buffers.h"
#include "sharding/local.h"

namespace tessera::compile {
namespace {

bool shares_replicas = true;

}  // namespace

bool SharesReplicas() { return shares_replicas; }
void SetSharesReplicas(bool on) { shares_replicas = on; }

int32_t InstanceAt(const Concrete& array, int64_t position) {
  const sharding::TensorSharding& s = array.placed()->sharding();
  if (!s.mesh) return 0;
  if (!array.shares_replicas()) {
    sharding::AxisList all;
    for (int a = 0; a < s.mesh->rank(); ++a)
      if (s.mesh->axis_size(a) > 1) all.push_back(sharding::WholeAxis(*s.mesh, a));
    return static_cast<int32_t>(sharding::ShardIndex(*s.mesh, all, position));
  }
  return static_cast<int32_t>(sharding::ShardIndex(*s.mesh, sharding::VaryingAxes(s), position));
}

std::shared_ptr<Concrete> NewWhole(const ir::Type* type, Loc loc) {
  int64_t bytes = type->elements() * type->dtype().size();
  return std::make_shared<Concrete>(type, WithoutModes(type), loc,
                                    CallAtLine(loc, [&] { return runtime::Allocate(bytes, 1); }),
                                    true);
}

const ir::Type* WithoutModes(const ir::Type* type) {
  if (!type->mesh() || type->mesh()->all_mode(AxisMode::Explicit)) return type;
  sharding::TensorSharding s = type->sharding();
  s.mesh = s.mesh->WithoutModes();
  return type->WithSharding(std::move(s));
}

std::shared_ptr<const Concrete> AsPlaced(std::shared_ptr<const Concrete> array) {
  if (array->placed() == array->type()) return array;
  return std::make_shared<const Concrete>(array->placed(), array->placed(), array->loc(),
                                          array->buffers, array->shares_replicas());
}

}  // namespace tessera::compile
