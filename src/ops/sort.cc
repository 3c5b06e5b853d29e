// Sorting, and the largest elements of a dim.
#include "kernels/sort/sort.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/sort/top_k.h"
#include "ops/check.h"
#include "ops/column_sort.h"
#include "ops/derivatives.h"
#include "ops/laid_out.h"
#include "ops/lookup.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/pieces.h"
#include "ops/reference_values.h"
#include "ops/tangents.h"

namespace tessera::ops {
namespace {

using reference::Coords;
using reference::HostTensor;
using reference::Lanes;
using reference::Order;
using reference::ZeroOrder;

using sharding::DimMap;
using sharding::FactorKind;

// C17: there must be one dim, and at least one key. C18: operands must have one shape.
std::vector<ShapeAndDType> SortType(const TypeCall& c) {
  const auto& p = ir::As<SortParams>(c.params);
  if (c.operands.empty()) CheckCount(c, 1);
  if (p.dim.size() != 1) c.FailShape(17, "it sorts along one dim");
  CheckDims(c, p.dim, c.operands[0]->rank());
  if (p.num_keys < 1 || p.num_keys > static_cast<int64_t>(c.operands.size()))
    c.FailShape(17, fmt::format("num_keys is {} for {} operands", p.num_keys, c.operands.size()));
  std::vector<ShapeAndDType> results;
  for (const ir::Type* t : c.operands) {
    if (t->shape() != c.operands[0]->shape())
      c.FailShape(18, fmt::format("operands have different shapes, {} and {}",
                                  ShapeText(c.operands[0]->shape()), ShapeText(t->shape())));
    results.push_back({t->shape(), t->dtype()});
  }
  return results;
}

// Axes of the sorted dim can move to another dim. If there is none, nothing propagates to it.
DimMap SortDims(const ir::DimsCall& c) {
  const Shape& shape = *c.results[0];
  DimMap map = sharding::Pointwise(c.operands, shape, static_cast<int>(c.results.size()));
  size_t dim = ir::As<SortParams>(c.params).dim[0];
  bool others = false;
  for (size_t d = 0; d < shape.size(); ++d) others = others || (d != dim && shape[d] != 1);
  map.factors[dim].kind = FactorKind::kScan;
  map.factors[dim].sorts = true;
  map.factors[dim].by_position = NeedsPositions(c.operands.size(), c.to_float);
  map.factors[dim].blocked = !others;
  map.density = std::log2(std::max(2.0, static_cast<double>(shape[dim])));  // comparisons
  return map;
}

std::vector<ir::ValueId> ExpandSort(ir::Builder& b, const ir::Params* params,
                                    absl::Span<const ir::ValueId> operands, const ir::Type*) {
  return SortOnShards(b, ir::As<SortParams>(params), operands);
}

void MakeSort(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& p = ir::As<SortParams>(c.params);
  std::vector<DType> dtypes;
  for (const ir::LocalTensor& t : c.operands) dtypes.push_back(t.dtype);
  *out = kernels::Sort(dtypes, c.operands[0].shape, p.dim[0], p.num_keys, p.descending);
}

std::vector<size_t> Positions(size_t n) {
  std::vector<size_t> positions(n);
  absl::c_iota(positions, size_t{0});
  return positions;
}

// `descending` reverses the whole order (NaN comes first), but equal elements stay in order.
void SortReference(const ir::ReferenceCall& call) {
  const auto& params = ir::As<SortParams>(call.params);
  const size_t keys = params.num_keys;
  for (const auto& lane : Lanes(call.operands[0]->shape, params.dim[0])) {
    std::vector<size_t> sorted = Positions(lane.size());
    std::ranges::stable_sort(sorted, [&](size_t a, size_t b) {
      for (size_t k = 0; k < keys; ++k) {
        const int order = Order(*call.operands[k], lane[a], lane[b], ZeroOrder::kEqual);
        if (order != 0) return params.descending ? order > 0 : order < 0;
      }
      return false;
    });
    for (size_t k = 0; k < call.operands.size(); ++k)
      for (size_t j = 0; j < lane.size(); ++j)
        call.results[k]->SetFrom(lane[j], *call.operands[k], lane[sorted[j]]);
  }
}

// C14: refuses complex numbers. C17: refuses scalars. C18: k must be from 0 to the size of the last
// dim.
std::vector<ShapeAndDType> TopKType(const TypeCall& c) {
  CheckCount(c, 1);
  int64_t k = ir::As<TopKParams>(c.params).k;
  Shape shape = c.operands[0]->shape();
  if (c.operands[0]->dtype().is_complex())
    c.FailDType(14, fmt::format("it does not take {}", c.operands[0]->dtype().name()));
  if (shape.empty()) c.FailShape(17, "a scalar has no dim to choose along");
  if (k < 0 || k > shape.back())
    c.FailShape(18, fmt::format("k is {}, but the last dim has {} elements", k, shape.back()));
  shape.back() = k;
  return {{shape, c.operands[0]->dtype()}, {shape, i32}};
}

DimMap TopKDims(const ir::DimsCall& c) {
  DimMap map = sharding::Pointwise({c.operands[0]}, *c.operands[0]);
  size_t last = c.operands[0]->size() - 1;
  map.factors[last].kind = FactorKind::kScan;
  if ((*c.results[0])[last] != (*c.operands[0])[last])
    map.results[0][last] = {
        map.AddFactor({.size = (*c.results[0])[last], .kind = FactorKind::kReplicate})};
  map.results.push_back(map.results[0]);
  sharding::SetPoints(map, static_cast<double>(base::Elements(*c.operands[0])));
  return map;
}

void MakeTopK(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::TopK(c.operands[0].dtype, c.results[1].dtype, c.operands[0].shape,
                       ir::As<TopKParams>(c.params).k);
}

// Returns the elements of x at `positions` along the dim.
ir::ValueId Along(ir::Builder& b, ir::ValueId x, ir::ValueId positions, int64_t dim) {
  const ir::Type *from = b.type(x), *index = b.type(positions);
  base::Shape shape = index->shape();
  sharding::TensorSharding sharding = index->sharding();
  shape.push_back(1), sharding.dims.emplace_back();
  const ir::Type* column = ir::Type::Get(std::move(shape), index->dtype(), std::move(sharding));
  const ir::ValueId vectors = b.EmitTyped(kReshape, nullptr, {positions}, {&column, 1})[0];
  const ir::Type* type = index->WithDType(from->dtype())->WithWeak(false);
  return b.EmitTyped(kGather, ir::MakeParams(AlongDim(from->rank(), dim, from->dtype())),
                     {x, vectors}, {&type, 1})[0];
}

// The largest of each shard, then the largest of these.
//
//   [..., n] -> [..., shards, n / shards] -> [..., shards, k] -> [..., shards * k] -> [..., k]
class ShardedTopK {
 public:
  ShardedTopK(ir::Builder& b, int64_t k, const ir::Type* from, DType index)
      : b_(b),
        from_(from),
        index_(index),
        k_(k),
        shards_(sharding::SizeOf(from->sharding().dims.back().axes)),
        block_((from->shape().back() + shards_ - 1) / shards_),
        of_block_(std::min(k, block_)) {}

  std::vector<ir::ValueId> Of(ir::ValueId x) {
    const auto [values, indices] = TopK(InBlocks(x), of_block_);
    const ir::ValueId all = Whole(values);
    const auto [largest, positions] = TopK(all, k_);
    return {largest, Along(b_, Whole(Global(indices)), positions, from_->rank() - 1)};
  }

 private:
  // Returns the type of [..., sizes...], the last dims sharded over these axes.
  const ir::Type* TypeOf(std::initializer_list<int64_t> sizes,
                         std::initializer_list<sharding::AxisList> axes, DType dtype) const {
    base::Shape shape = from_->shape();
    sharding::TensorSharding sharding = from_->sharding();
    shape.pop_back(), sharding.dims.pop_back();
    shape.insert(shape.end(), sizes);
    for (const sharding::AxisList& list : axes) sharding.dims.emplace_back().axes = list;
    return ir::Type::Get(std::move(shape), dtype, std::move(sharding));
  }
  ir::ValueId Make(const OpDef& op, ir::ParamsPtr params,
                   std::initializer_list<ir::ValueId> operands, const ir::Type* type) {
    return b_.EmitTyped(op, std::move(params), operands, {&type, 1})[0];
  }
  const sharding::AxisList& Axes() const { return from_->sharding().dims.back().axes; }

  // Pads with the least element: it is chosen only if no other one is left, or after equal ones.
  ir::ValueId InBlocks(ir::ValueId x) {
    const DType dtype = from_->dtype();
    if (const int64_t more = shards_ * block_ - from_->shape().back(); more > 0) {
      const auto rank = base::Size(from_->rank());
      const ir::ValueId least =
          Make(kConstant, IdentityOf(Reduction::kMax, dtype), {}, ir::Type::Get({}, dtype));
      x = Make(kPad, PadAlong(rank, rank - 1, 0, more), {x, least},
               TypeOf({shards_ * block_}, {Axes()}, dtype));
    }
    return Make(kReshape, nullptr, {x}, TypeOf({shards_, block_}, {Axes(), {}}, dtype));
  }
  // Returns the k largest along the last dim, and their indices.
  std::pair<ir::ValueId, ir::ValueId> TopK(ir::ValueId x, int64_t k) {
    base::Shape shape = b_.type(x)->shape();
    shape.back() = k;
    const sharding::TensorSharding& sharding = b_.type(x)->sharding();
    const ir::Type* types[] = {ir::Type::Get(shape, from_->dtype(), sharding),
                               ir::Type::Get(shape, index_, sharding)};
    const auto results = b_.EmitTyped(kTopK, ir::MakeParams(TopKParams{k}), {x}, types);
    return {results[0], results[1]};
  }
  // Returns the indices along the whole dim, given those in the blocks.
  ir::ValueId Global(ir::ValueId indices) {
    const ir::Type* type = b_.type(indices);
    const ir::ValueId block =
        Make(kIota, ir::MakeParams(IotaParams{{from_->rank() - 1}}), {}, type);
    ir::HostTensor size(index_, {1});
    size.SetInt(0, block_);
    const ir::ValueId elements = Make(kConstant, LiteralOf(size), {}, ir::Type::Get({}, index_));
    const ir::ValueId before = Make(Elementwise(ScalarOp::kMul), nullptr, {block, elements}, type);
    return Make(Elementwise(ScalarOp::kAdd), nullptr, {indices, before}, type);
  }
  // [..., shards, k] -> [..., shards * k], all of them on every device
  ir::ValueId Whole(ir::ValueId v) {
    const DType dtype = b_.type(v)->dtype();
    v = Conform(b_, v, TypeOf({shards_, of_block_}, {{}, {}}, dtype));
    return Make(kReshape, nullptr, {v}, TypeOf({shards_ * of_block_}, {{}}, dtype));
  }

  ir::Builder& b_;
  const ir::Type* const from_;
  const DType index_;
  const int64_t k_, shards_, block_, of_block_;
};

std::vector<ir::ValueId> ExpandTopK(ir::Builder& b, const ir::Params* params,
                                    absl::Span<const ir::ValueId> operands, const ir::Type*) {
  return ShardedTopK(b, ir::As<TopKParams>(params).k, b.type(operands[0]), i32).Of(operands[0]);
}

// Results: the values and their indices.
void TopKReference(const ir::ReferenceCall& call) {
  const HostTensor& x = *call.operands[0];
  HostTensor &values = *call.results[0], &indices = *call.results[1];
  const auto last = static_cast<int64_t>(x.shape.size()) - 1;
  const auto from = Lanes(x.shape, last), to = Lanes(values.shape, last);
  for (size_t lane = 0; lane < to.size(); ++lane) {
    std::vector<size_t> sorted = Positions(from[lane].size());
    std::ranges::stable_sort(sorted, [&](size_t a, size_t b) {
      return Order(x, from[lane][a], from[lane][b], ZeroOrder::kNegativeFirst) > 0;
    });
    for (size_t j = 0; j < to[lane].size(); ++j) {
      values.SetFrom(to[lane][j], x, from[lane][sorted[j]]);
      indices.SetInt(to[lane][j], static_cast<int64_t>(sorted[j]));
    }
  }
}

// ---- Derivatives --------------------------------------------------------------------------------

// Sorts once, with the positions as one more operand.
std::vector<ir::ValueId> SortJvp(const ir::DiffCall& c, absl::Span<const ir::ValueId> tangents,
                                 std::vector<ir::ValueId>& results) {
  const int64_t dim = ir::As<SortParams>(c.params.get()).dim[0];
  std::vector<ir::ValueId> operands(c.operands.begin(), c.operands.end());
  std::vector<const ir::Type*> types(c.result_types.begin(), c.result_types.end());
  types.push_back(types[0]->WithDType(i32)->WithWeak(false));
  operands.push_back(
      c.builder.EmitTyped(kIota, ir::MakeParams(IotaParams{{dim}}), {}, {&types.back(), 1})[0]);
  auto sorted = c.builder.EmitTyped(kSort, c.params, operands, types);
  results.assign(sorted.begin(), sorted.end() - 1);
  std::vector<ir::ValueId> out;
  for (ir::ValueId t : tangents)
    out.push_back(t == ir::kNoValue ? t : Along(c.builder, t, sorted.back(), dim));
  return out;
}

std::vector<ir::ValueId> TopKJvp(const ir::DiffCall& c, absl::Span<const ir::ValueId> tangents,
                                 std::vector<ir::ValueId>& results) {
  return {Along(c.builder, tangents[0], results[1], c.operand_types[0]->rank() - 1), ir::kNoValue};
}

}  // namespace

constexpr OpDef kSort{.name = "sort",
                      .doc = "Operands ordered along a dim by the first of them; stable.",
                      .type = ir::TypeFn{SortType},
                      .dims = ir::DimMapFn{SortDims},
                      .lowering = ir::AsKernel{MakeSort, ExpandSort},
                      .reference = ir::ReferenceFn{SortReference},
                      .diff = ir::Structural{SortJvp},
                      .params = ir::KindOf<SortParams>(),
                      .flops_per_point = 1,
                      .out_sharding = true,
                      .operand_names = {"", "", ""}};
constexpr OpDef kTopK{.name = "top_k",
                      .doc = "The k largest along the last dim, and their indices.",
                      .type = ir::TypeFn{TopKType},
                      .dims = ir::DimMapFn{TopKDims},
                      .lowering = ir::AsKernel{MakeTopK, ExpandTopK},
                      .reference = ir::ReferenceFn{TopKReference},
                      .diff = ir::Structural{TopKJvp},
                      .params = ir::KindOf<TopKParams>(),
                      .flops_per_point = 10};

Records SortOps() {
  static constexpr const OpDef* kOps[] = {&kSort, &kTopK};
  return kOps;
}

}  // namespace tessera::ops
