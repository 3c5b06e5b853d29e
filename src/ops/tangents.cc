// Zeros, sums and conversions of tangents and cotangents.
#include "ops/tangents.h"

#include <absl/algorithm/container.h>

#include <numeric>

#include "base/at.h"
#include "ir/typing_map.h"
#include "ops/expression.h"
#include "ops/laid_out.h"
#include "ops/manual.h"
#include "ops/params.h"

namespace tessera::ops {
namespace {

// Returns the params that broadcast an operand of an elementwise op: dim d of the operand is dim d
// of the result. A scalar has no dims.
ir::ParamsPtr AlignedDims(const ir::Type* from) {
  BroadcastParams params;
  params.dims.resize(from->rank());
  absl::c_iota(params.dims, 0);
  return ir::MakeParams(std::move(params));
}

ir::ValueId BroadcastTo(ir::Builder& b, ir::ValueId v, const ir::Type* to) {
  // The value stays unreduced, reduced and varying as it is.
  sharding::TensorSharding sharding = to->sharding();
  sharding.TakeSets(b.type(v)->sharding());
  const ir::Type* type = to->WithSharding(std::move(sharding));
  return b.EmitTyped(kBroadcastInDim, AlignedDims(b.type(v)), {v}, {&type, 1})[0];
}

// Sums over the dims that `to` lacks or has with size 1.
ir::ValueId SummedTo(ir::Builder& b, ir::ValueId v, const ir::Type* to) {
  const base::Shape& from = b.type(v)->shape();
  DimsParams dims;
  for (size_t d = 0; d < from.size(); ++d)
    if (to->rank() == 0 || from[d] != to->shape()[d]) dims.dims.push_back(static_cast<int64_t>(d));
  return SumTo(b, v, std::move(dims), to);
}

}  // namespace

bool IsBroadcastOf(const base::Shape& small, const base::Shape& large) {
  if (small.empty()) return true;
  bool fits = small.size() == large.size();
  for (size_t d = 0; fits && d < small.size(); ++d) fits = small[d] == large[d] || small[d] == 1;
  return fits;
}

const ir::Type* CotangentType(const ir::Type* primal) {
  const sharding::TensorSharding& s = primal->sharding();
  if (s.unreduced.empty() && s.reduced.empty()) return primal->WithWeak(false);
  sharding::TensorSharding dual = s;
  std::swap(dual.unreduced, dual.reduced);
  dual.kind = Reduction::kSum;
  return primal->WithSharding(std::move(dual))->WithWeak(false);
}

ir::ValueId Filled(ir::Builder& builder, double value, const ir::Type* type) {
  type = type->WithWeak(false);
  ir::HostTensor one(type->dtype(), {1});
  if (type->dtype().is_inexact())
    one.SetFloat(0, value);
  else
    one.SetInt(0, static_cast<int64_t>(value));
  const ir::Type* scalar = ir::Type::Get({}, type->dtype(), type->mesh());
  ir::ValueId number = builder.EmitTyped(kConstant, LiteralOf(one), {}, {&scalar, 1})[0];
  number = ToManualStates(builder, number, WithManualStates(scalar, type->sharding()));
  return Conform(builder, number, type);
}

namespace {

using sharding::AxisList;
using sharding::AxisPart;
using sharding::DimMap;
using sharding::FactorKind;
using sharding::TensorSharding;
using OperandTypes = absl::InlinedVector<const ir::Type*, 2>;

// A dim of an operand.
struct OperandDim {
  size_t operand, dim;
};

// Returns the dims that are this factor, and no other one that can be sharded.
std::vector<OperandDim> DimsOf(const DimMap& map, int32_t factor) {
  const auto is_alone = [&](const sharding::FactorList& dim) {
    return absl::c_linear_search(dim, factor) && absl::c_all_of(dim, [&](int32_t f) {
             return f == factor || base::At(map.factors, f).size == 1;
           });
  };
  std::vector<OperandDim> dims;
  for (size_t k = 0; k < map.operands.size(); ++k)
    for (size_t d = 0; d < map.operands[k].size(); ++d)
      if (is_alone(map.operands[k][d])) dims.push_back({k, d});
  return dims;
}

// The operands of a contraction that leaves sums partial: typing wants each contracted dim sharded
// alike on both sides. The transpose of an accepted product may have it sharded on one side only,
// or over different axes:
//   lhs   [8@data,64,32@model]    contracted: 8 and 64
//   rhs   [8@data,64@model,16]
class Contraction {
 public:
  // `left`: the axes over which the sums should stay partial.
  Contraction(const DimMap& map, const OperandTypes& types, const AxisList& left) : left_(left) {
    for (const ir::Type* t : types) {
      shardings_.push_back(t->sharding());
      sharding::AddTo(partial_, t->sharding().unreduced);
    }
    for (int32_t f = 0; f < std::ssize(map.factors); ++f)
      if (map.factors[f].kind == FactorKind::kReduce) Agree(DimsOf(map, f));
  }

  const TensorSharding& sharding(size_t operand) const { return shardings_[operand]; }
  bool contracts() const { return contracts_; }
  // The axes over which the sums are partial: all of the contracted dims and of unreduced operands.
  const AxisList& partial() const { return partial_; }

 private:
  // Shards the dims of one factor alike.
  void Agree(const std::vector<OperandDim>& dims) {
    if (dims.empty()) return;
    contracts_ |= dims.size() > 1;
    AxisList axes = AxesOf(dims[0]);
    for (const OperandDim& d : dims)
      if (axes.empty() || (!StaysPartial(axes) && StaysPartial(AxesOf(d)))) axes = AxesOf(d);
    // An operand that uses an axis elsewhere cannot be sliced along it: the other one is gathered.
    for (const OperandDim& d : dims) axes = Without(axes, UsedElsewhere(d));
    for (const OperandDim& d : dims) shardings_[d.operand].dims[d.dim].axes = axes;
    sharding::AddTo(partial_, axes);
  }

  const AxisList& AxesOf(const OperandDim& d) const {
    return shardings_[d.operand].dims[d.dim].axes;
  }
  AxisList UsedElsewhere(const OperandDim& at) const {
    const TensorSharding& s = shardings_[at.operand];
    AxisList used = s.unreduced;
    used.insert(used.end(), s.reduced.begin(), s.reduced.end());
    for (size_t d = 0; d < s.dims.size(); ++d)
      if (d != at.dim) used.insert(used.end(), s.dims[d].axes.begin(), s.dims[d].axes.end());
    return used;
  }
  bool StaysPartial(const AxisList& axes) const {
    return absl::c_any_of(axes, [&](AxisPart a) { return OverlapsAny(left_, a); });
  }
  static AxisList Without(const AxisList& axes, const AxisList& used) {
    AxisList free;
    for (AxisPart a : axes)
      if (!CollidesWithAny(used, a)) free.push_back(a);
    return free;
  }

  const AxisList& left_;
  absl::InlinedVector<TensorSharding, 2> shardings_;
  AxisList partial_;
  bool contracts_ = false;
};

// The sets of an op's result, if its operands stay as they are.
struct Sums {
  bool any;          // whether it sums at all
  AxisList partial;  // can be left partial
  AxisList reduced;  // passed on
};

Sums SumsOf(const DimMap& map, const OperandTypes& types) {
  const auto is_summed = [&](const sharding::FactorList& factors) {
    return !factors.empty() && map.factors[factors[0]].kind == FactorKind::kReduce;
  };
  Sums sums{.any = map.traits.product, .partial = {}, .reduced = {}};
  for (size_t k = 0; k < types.size(); ++k) {
    const TensorSharding& s = types[k]->sharding();
    sums.partial.insert(sums.partial.end(), s.unreduced.begin(), s.unreduced.end());
    const bool selects = absl::c_linear_search(map.traits.selectors, static_cast<int32_t>(k));
    if (sums.reduced.empty() && !selects) sums.reduced = s.reduced;
    for (size_t d = 0; d < s.dims.size(); ++d) {
      if (!is_summed(map.operands[k][d])) continue;
      sums.any = true;
      sums.partial.insert(sums.partial.end(), s.dims[d].axes.begin(), s.dims[d].axes.end());
    }
  }
  if (sums.any) sums.reduced.clear();
  sums.reduced = sharding::Difference(sums.reduced, sums.partial);
  return sums;
}

// Keeps a dim sharded over axes that the result should be unreduced over, if the op keeps the dim:
// each device's part is then a term.
void KeepTerms(const DimMap& map, const OperandTypes& operands, const base::Shape& shape,
               AxisList axes, TensorSharding& out) {
  for (size_t d = 0; d < out.dims.size(); ++d) {
    const sharding::FactorList& kept = map.results[0][d];
    if (kept.empty() || !out.dims[d].axes.empty()) continue;
    for (size_t k = 0; k < operands.size(); ++k)
      for (size_t e = 0; e < map.operands[k].size(); ++e) {
        const AxisList& own = operands[k]->sharding().dims[e].axes;
        if (map.operands[k][e] != kept || own.empty() || !sharding::Difference(own, axes).empty() ||
            shape[d] % sharding::SizeOf(own) != 0)
          continue;
        out.dims[d].axes = own;
        axes = sharding::Difference(axes, own);
      }
    out.reduced = sharding::Difference(out.reduced, out.dims[d].axes);
  }
}

// Lays out the operands of a contraction whose result should be unreduced. The result is then
// unreduced over all axes of the contracted dims; over none if the operands cannot agree on any.
void LayOutContraction(ir::Builder& builder, const DimMap& map, std::vector<ir::ValueId>& operands,
                       OperandTypes& types, TensorSharding& out) {
  const Contraction contraction(map, types, out.unreduced);
  if (!contraction.contracts()) return;
  out.unreduced = contraction.partial();
  if (out.unreduced.empty()) return;
  for (size_t k = 0; k < operands.size(); ++k) {
    operands[k] = Conform(builder, operands[k], types[k]->WithSharding(contraction.sharding(k)));
    types[k] = builder.type(operands[k]);
  }
  for (sharding::DimAxes& d : out.dims) d.axes = sharding::Difference(d.axes, out.unreduced);
}

}  // namespace

ir::ValueId EmitSums(ir::Builder& builder, const OpDef& op, ir::ParamsPtr params,
                     absl::Span<const ir::ValueId> given, const ir::Type* to) {
  std::vector<ir::ValueId> operands(given.begin(), given.end());
  OperandTypes types;
  for (ir::ValueId v : operands) types.push_back(builder.type(v));
  const DimMap map = ir::TypingMapOf(op, params.get(), types, {&to, 1});
  const Sums sums = SumsOf(map, types);
  const AxisList& left = to->sharding().unreduced;
  TensorSharding out = to->sharding();
  out.reduced = sums.reduced;
  out.unreduced.clear();
  for (AxisPart a : sums.any ? left : sums.partial)
    if (absl::c_count(sums.partial, a)) out.unreduced.push_back(a);
  if (!out.unreduced.empty()) LayOutContraction(builder, map, operands, types, out);
  KeepTerms(map, types, to->shape(), sharding::Difference(left, out.unreduced), out);
  const ir::ShapeAndDType wanted{to->shape(), to->dtype()};
  return Conform(
      builder,
      builder.Emit(op, std::move(params), operands, {.wanted = &wanted, .out_sharding = &out}), to);
}

ir::ValueId SumTo(ir::Builder& builder, ir::ValueId v, DimsParams dims, const ir::Type* to) {
  if (!dims.dims.empty()) {
    const ir::Type* from = builder.type(v);
    sharding::TensorSharding left = from->sharding();
    base::Shape shape = from->shape();
    for (size_t k = dims.dims.size(); k-- > 0;) {
      left.dims.erase(left.dims.begin() + dims.dims[k]);
      shape.erase(shape.begin() + dims.dims[k]);
    }
    left.unreduced = to->sharding().unreduced;
    left.reduced = to->sharding().reduced;
    left.kind = to->sharding().kind;
    for (const sharding::DimAxes& d : left.dims) {
      left.unreduced = sharding::Difference(left.unreduced, d.axes);
      left.reduced = sharding::Difference(left.reduced, d.axes);
    }
    const ir::Type* sum = ir::Type::Get(std::move(shape), from->dtype(), std::move(left));
    v = EmitSums(builder, kReduceSum, ir::MakeParams(std::move(dims)), {v}, sum);
  }
  if (builder.type(v)->shape() == to->shape()) return v;
  const sharding::TensorSharding &has = builder.type(v)->sharding(), &wants = to->sharding();
  if (has.unreduced == wants.unreduced && has.reduced == wants.reduced)
    return builder.EmitTyped(kReshape, nullptr, {v}, {&to, 1})[0];
  // Dims sharded over axes that `to` is unreduced over stay sharded until they are reshaped.
  const ir::ShapeAndDType wanted{to->shape(), to->dtype()};
  return Conform(builder, builder.Emit(kReshape, nullptr, {v}, {.wanted = &wanted}), to);
}

ir::ValueId ZerosBeside(ir::Builder& builder, ir::ValueId other, const ir::Type* type) {
  sharding::TensorSharding sharding = type->sharding();
  sharding.TakeSets(builder.type(other)->sharding());
  return Zeros(builder, type->WithSharding(std::move(sharding)));
}

ir::ValueId Barrier(ir::Builder& builder, ir::ValueId v) {
  const ir::Type* type = builder.type(v);
  return builder.EmitTyped(kOptimizationBarrier, nullptr, {v}, {&type, 1})[0];
}

ir::ValueId Sum(ir::Builder& builder, ir::ValueId a, ir::ValueId b) {
  if (a == ir::kNoValue) return b;
  if (b == ir::kNoValue) return a;
  return (X(builder, a) + X(builder, b)).id();
}

ir::ValueId Conform(ir::Builder& builder, ir::ValueId v, const ir::Type* to) {
  to = to->WithWeak(false);
  const ir::Type* from = builder.type(v)->WithWeak(false);
  if (from->dtype() != to->dtype()) {
    const ir::ShapeAndDType wanted{from->shape(), to->dtype()};
    v = builder.Emit(Elementwise(plan::ScalarOp::kConvert), nullptr, {v}, {.wanted = &wanted});
  }
  if (from->shape() != to->shape()) {
    const ir::Type* like = WithManualStates(to, from->sharding());
    v = IsBroadcastOf(to->shape(), from->shape()) ? SummedTo(builder, v, like)
                                                  : BroadcastTo(builder, v, like);
  }
  v = ToManualStates(builder, v, to);
  // A value from inside shard_map leaves it here.
  if (const sharding::MeshDef* mesh = builder.type(v)->mesh();
      mesh && mesh != to->mesh() && mesh->has_mode(AxisMode::Manual))
    return builder.EmitTyped(kShardToFull, ir::MakeParams(ManualParams{}), {v}, {&to, 1})[0];
  if (ir::SameType(builder.type(v), to)) return v;
  return builder.EmitTyped(kImpliedReshard, nullptr, {v}, {&to, 1})[0];
}

}  // namespace tessera::ops
