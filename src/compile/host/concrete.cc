// Finds the instance of a device, and wraps arrays on the host.
#include "compile/host/concrete.h"

#include <algorithm>

#include "base/at.h"
#include "compile/host/processes.h"
#include "runtime/arena.h"
#include "runtime/buffers.h"
#include "sharding/local.h"

namespace tessera::compile {
namespace {

bool shares_replicas = true;

// Returns the instance of each position, counted over all processes.
std::vector<int32_t> WholeInstances(const sharding::TensorSharding& s, bool shares) {
  sharding::AxisList axes;
  if (shares) {
    axes = sharding::VaryingAxes(s);
  } else {
    for (int a = 0; a < s.mesh->rank(); ++a)
      if (s.mesh->axis_size(a) > 1) axes.push_back(sharding::WholeAxis(*s.mesh, a));
  }
  std::vector<int32_t> instances;
  for (int64_t p = 0; p < s.mesh->size(); ++p)
    instances.push_back(static_cast<int32_t>(sharding::ShardIndex(*s.mesh, axes, p)));
  return instances;
}

// See InstancesByPosition. plan::Localise numbers the instances of a process in the same way.
std::vector<int32_t> InstancesOf(const ir::Type& place, bool shares) {
  const sharding::TensorSharding& s = place.sharding();
  if (!s.mesh) return {0};
  std::vector<int32_t> instances = WholeInstances(s, shares);
  if (Processes() == 1) return instances;
  std::vector<int32_t> here;  // the instances of this process, ascending
  for (int64_t p = 0; p < s.mesh->size(); ++p) {
    if (ProcessOf(s.mesh->Device(p)) == Process())
      here.push_back(base::At(instances, p));
    else
      base::At(instances, p) = kElsewhere;
  }
  std::sort(here.begin(), here.end());
  here.erase(std::unique(here.begin(), here.end()), here.end());
  for (int32_t& i : instances) {
    if (i == kElsewhere) continue;
    i = static_cast<int32_t>(std::lower_bound(here.begin(), here.end(), i) - here.begin());
  }
  return instances;
}

}  // namespace

void LoseParts() {
  trace::ForEachShardedArray([](trace::ConcreteArray& array) {
    const std::vector<int32_t> whole =
        WholeInstances(array.placed()->sharding(), array.shares_replicas());
    const int32_t instances = 1 + *std::max_element(whole.begin(), whole.end());
    if (InstancesHere(*array.placed(), array.shares_replicas()) < instances)
      array.lost_parts = true;
  });
}

bool SharesReplicas() { return shares_replicas; }
void SetSharesReplicas(bool on) { shares_replicas = on; }

std::vector<int32_t> InstancesByPosition(const Concrete& array) {
  return InstancesOf(*array.placed(), array.shares_replicas());
}

int32_t InstancesHere(const ir::Type& place, bool shares) {
  const std::vector<int32_t> instances = InstancesOf(place, shares);
  return 1 + *std::max_element(instances.begin(), instances.end());
}

std::shared_ptr<Concrete> NewWhole(const ir::Type* type, Loc loc) {
  const int64_t bytes = type->elements() * type->dtype().size();
  auto whole = std::make_shared<Concrete>(
      type, WithoutModes(type), loc, CallAtLine(loc, [&] { return runtime::Allocate(bytes, 1); }),
      true);
  if (Processes() > 1) whole->SetMayDiffer();
  return whole;
}

std::shared_ptr<Concrete> NewShared(const ir::Type* type, const ir::Type* placed, Loc loc,
                                    std::shared_ptr<const std::byte> data) {
  const int64_t bytes = type->elements() * type->dtype().size();
  auto* base = const_cast<std::byte*>(data.get());
  auto shared = std::make_shared<Concrete>(
      type, placed, loc,
      runtime::Buffers{.storage = std::make_shared<runtime::Storage>(std::move(data)),
                       .base = base,
                       .bytes = bytes,
                       .stride = runtime::RoundUp(bytes, runtime::kLine),
                       .slots = nullptr},
      true);
  if (Processes() > 1) shared->SetMayDiffer();
  return shared;
}

const ir::Type* WithoutModes(const ir::Type* type) {
  if (!type->mesh() || type->mesh()->all_mode(AxisMode::Explicit)) return type;
  sharding::TensorSharding s = type->sharding();
  s.mesh = s.mesh->WithoutModes();
  return type->WithSharding(std::move(s));
}

std::shared_ptr<const Concrete> AsPlaced(std::shared_ptr<const Concrete> array) {
  if (array->placed() == array->type()) return array;
  return std::make_shared<const Concrete>(array->placed(), array->placed(), *array);
}

}  // namespace tessera::compile
