// Adds instructions to device programs.
#pragma once
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "ir/host_tensor.h"
#include "ops/laid_out.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "spmd/definitions.h"
#include "spmd/local_type.h"

namespace tessera::spmd {

// Returns `place` with another size of the shards along one dim.
inline const ir::Type* WithSize(const ir::Type* place, int dim, int64_t size) {
  base::Shape sizes = LocalType(place)->shape();
  base::At(sizes, dim) = size;
  return WithLocalSizes(place, sizes);
}

// Appends to a program. `place` is the global type of a value, with its sharding.
class Writer {
 public:
  explicit Writer(ir::Program& p) : p_(p) {}
  ir::Program& program() { return p_; }
  const ir::Type* Place(ir::ValueId v) const { return p_.place(v); }

  ir::ValueId AddValue(const ir::Type* place, Loc loc) {
    return p_.AddValue(LocalType(place), loc, place);
  }
  ir::ValueId Emit(const ir::OpDef& op, ir::ParamsPtr params,
                   absl::Span<const ir::ValueId> operands, const ir::Type* place, Loc loc,
                   ir::Cost cost = {}) {
    const ir::ValueId result = AddValue(place, loc);
    p_.instructions.push_back({.op = &op,
                               .params = std::move(params),
                               .operands = {operands.begin(), operands.end()},
                               .results = {result},
                               .loc = loc,
                               .cost = std::make_shared<const ir::Cost>(std::move(cost))});
    return result;
  }

  ir::ValueId Reshape(ir::ValueId v, const ir::Type* place, Loc loc) {
    return Place(v) == place ? v : Emit(ops::kReshape, nullptr, {v}, place, loc);
  }
  // Moves dim `from` to position `to`.
  ir::ValueId MoveDim(ir::ValueId v, int from, int to, const ir::Type* place, Loc loc) {
    if (from == to) return v;
    std::vector<int64_t> perm(base::Size(place->rank()));
    std::iota(perm.begin(), perm.end(), 0);
    perm.erase(perm.begin() + from);
    perm.insert(perm.begin() + to, from);
    return Emit(ops::kTranspose, ir::MakeParams(ops::TransposeParams{{std::move(perm)}}), {v},
                place, loc);
  }
  ir::ValueId Convert(ir::ValueId v, DType dtype, Loc loc) {
    if (Place(v)->dtype() == dtype) return v;
    return Emit(ops::Elementwise(plan::ScalarOp::kConvert), nullptr, {v},
                Place(v)->WithDType(dtype), loc);
  }
  // Adds a scalar of the dtype of `like`. Elementwise ops broadcast it.
  ir::ValueId Number(double n, const ir::Type* like, Loc loc) {
    ir::HostTensor one(like->dtype(), {1});
    one.SetFloat(0, n);
    return Emit(ops::kConstant, ops::LiteralOf(one), {},
                ir::Type::Get({}, like->dtype(), like->mesh()), loc);
  }
  ir::ValueId Zeros(const ir::Type* place, Loc loc) {
    return BroadcastScalar(Number(0, place, loc), place, loc);
  }
  ir::ValueId BroadcastScalar(ir::ValueId scalar, const ir::Type* place, Loc loc) {
    if (Place(scalar)->rank() == place->rank()) return scalar;
    return Emit(ops::kBroadcastInDim, ir::MakeParams(ops::BroadcastParams{}), {scalar}, place, loc);
  }
  ir::ValueId Apply(plan::ScalarOp op, absl::Span<const ir::ValueId> operands,
                    const ir::Type* place, Loc loc) {
    const auto flops = static_cast<double>(LocalType(place)->elements());
    return Emit(ops::Elementwise(op), nullptr, operands, place, loc,
                {.flops = flops, .whole_flops = flops});
  }
  // Slices [begin, end) of one dim out of every shard.
  ir::ValueId Slice(ir::ValueId v, int dim, int64_t begin, int64_t end, Loc loc) {
    const base::Shape sizes = LocalType(Place(v))->shape();
    if (begin == 0 && end == base::At(sizes, dim)) return v;
    ops::SliceParams params;
    params.starts.assign(sizes.size(), 0);
    params.limits = sizes;
    params.strides.assign(sizes.size(), 1);
    base::At(params.starts, dim) = begin;
    base::At(params.limits, dim) = end;
    return Emit(ops::kSlice, ir::MakeParams(std::move(params)), {v},
                WithSize(Place(v), dim, end - begin), loc);
  }

 private:
  ir::Program& p_;
};

}  // namespace tessera::spmd
