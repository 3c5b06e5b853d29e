// Types of shards, remembered per thread.
#include "spmd/local_type.h"

#include <absl/container/flat_hash_map.h>

#include "base/at.h"
#include "sharding/local.h"

namespace tessera::spmd {

const ir::Type* LocalType(const ir::Type* place) {
  static thread_local absl::flat_hash_map<const ir::Type*, const ir::Type*> locals;
  const ir::Type*& local = locals[place];
  if (!local)
    local = ir::Type::Get(sharding::LocalShape(place->shape(), place->sharding()), place->dtype());
  return local;
}

const ir::Type* PlaceIn(const ir::Program& program, ir::ValueId v) {
  static thread_local absl::flat_hash_map<const ir::Type*, const ir::Type*> without_modes;
  if (const ir::Type* place = program.place(v)) return place;
  const ir::Type* type = program.type(v);
  if (!type->mesh() || !type->mesh()->has_mode(AxisMode::Manual)) return type;
  const ir::Type*& place = without_modes[type];
  if (!place) {
    sharding::TensorSharding s = type->sharding();
    s.mesh = s.mesh->WithoutModes();
    place = type->WithSharding(std::move(s));
  }
  return place;
}

const ir::Type* WithLocalSizes(const ir::Type* place, const base::Shape& sizes) {
  base::Shape shape = sizes;
  for (size_t d = 0; d < shape.size(); ++d)
    shape[d] *= sharding::SizeOf(place->sharding().dims[d].axes);
  return ir::Type::Get(shape, place->dtype(), place->sharding());
}

const ir::Type* Padded(const ir::Type* type, const sharding::TensorSharding& cut) {
  base::Shape shape = type->shape();
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t shards = sharding::SizeOf(cut.dims[d].axes);
    if (type->sharding().dims[d].axes.empty()) shape[d] = (shape[d] + shards - 1) / shards * shards;
  }
  return shape == type->shape() ? type : ir::Type::Get(shape, type->dtype(), type->sharding());
}

const ir::Type* Whole(const ir::Type* type) {
  sharding::TensorSharding s = type->sharding();
  for (sharding::DimAxes& d : s.dims) d.axes.clear();
  return type->WithSharding(std::move(s));
}

const ir::Type* Even(const ir::Type* type) {
  sharding::TensorSharding s = type->sharding();
  for (int d = sharding::FirstUnevenDim(s, type->shape()); d >= 0;
       d = sharding::FirstUnevenDim(s, type->shape()))
    base::At(s.dims, d).axes.clear();
  return type->WithSharding(std::move(s));
}

}  // namespace tessera::spmd
