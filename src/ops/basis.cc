// Unit arrays, made where they are needed, so that no device holds more than its part.
#include "ops/basis.h"

#include <absl/algorithm/container.h>

#include <numeric>

#include "base/shape.h"
#include "ops/batching.h"
#include "ops/expression.h"
#include "ops/params.h"
#include "ops/tangents.h"

namespace tessera::ops {

ir::ValueId Basis(ir::Builder& builder, const ir::Type* type) {
  type = type->WithWeak(false);
  const ir::Type* whole = WithDim(type, {.size = type->elements(), .mesh = type->mesh()});
  sharding::TensorSharding plain = whole->sharding();
  plain.unreduced.clear();
  plain.reduced.clear();
  const ir::Type* index = ir::Type::Get(whole->shape(), i64, plain);
  const auto along = [&](int64_t d) {
    return X(builder,
             builder.EmitTyped(kIota, ir::MakeParams(IotaParams{{d}}), {}, {&index, 1})[0]);
  };
  const std::vector<int64_t> strides = base::DenseStrides(type->shape());
  X element = along(0) * 0;
  for (size_t d = 0; d < strides.size(); ++d)
    element = element + along(static_cast<int64_t>(d) + 1) * static_cast<double>(strides[d]);
  return Conform(builder, Equal(along(0), element).id(), whole);
}

ir::ValueId BasisFirst(ir::Builder& builder, ir::ValueId v, const base::Shape& basis) {
  const ir::Type* type = builder.type(v);
  base::Shape shape = basis;
  shape.insert(shape.end(), type->shape().begin() + 1, type->shape().end());
  sharding::TensorSharding sharding = type->sharding();
  sharding.dims.erase(sharding.dims.begin());
  for (size_t d = 0; d < basis.size(); ++d) sharding.dims.emplace(sharding.dims.begin());
  const ir::Type* to = ir::Type::Get(std::move(shape), type->dtype(), std::move(sharding));
  return builder.EmitTyped(kReshape, nullptr, {v}, {&to, 1})[0];
}

ir::ValueId BasisLast(ir::Builder& builder, ir::ValueId v, const base::Shape& basis) {
  const ir::Type* type = builder.type(v);
  TransposeParams order;
  order.perm.resize(type->shape().size());
  absl::c_iota(order.perm, 1);
  order.perm.back() = 0;
  v = builder.Emit(kTranspose, ir::MakeParams(std::move(order)), {v});
  base::Shape shape(type->shape().begin() + 1, type->shape().end());
  shape.insert(shape.end(), basis.begin(), basis.end());
  sharding::TensorSharding sharding = builder.type(v)->sharding();
  sharding.dims.resize(shape.size());
  const ir::Type* to = ir::Type::Get(std::move(shape), type->dtype(), std::move(sharding));
  return builder.EmitTyped(kReshape, nullptr, {v}, {&to, 1})[0];
}

}  // namespace tessera::ops
