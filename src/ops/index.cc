// Ordering.
#include "kernels/kernels.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference.h"

namespace tessera::ops {
namespace {

using sharding::DimMap;
using sharding::FactorKind;

// C17: one dim, at least one key. C18: operands have one shape.
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

// Axes of the sorted dim could move to another; where there is none, they are kept from it.
DimMap SortDims(const ir::DimsCall& c) {
  const Shape& shape = *c.results[0];
  DimMap map = sharding::Pointwise(c.operands, shape, static_cast<int>(c.results.size()));
  auto dim = static_cast<size_t>(ir::As<SortParams>(c.params).dim[0]);
  bool others = false;
  for (size_t d = 0; d < shape.size(); ++d) others = others || (d != dim && shape[d] != 1);
  map.factors[dim].kind = FactorKind::kReplicate;
  map.factors[dim].blocked = !others;
  return map;
}

void MakeSort(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& p = ir::As<SortParams>(c.params);
  std::vector<DType> dtypes;
  for (const ir::LocalTensor& t : c.operands) dtypes.push_back(t.dtype);
  *out = kernels::Sort(dtypes, c.operands[0].shape, p.dim[0], p.num_keys, p.descending);
}

// C17: there is a last dim. C18: 0 <= k <= its size.
std::vector<ShapeAndDType> TopKType(const TypeCall& c) {
  CheckCount(c, 1);
  int64_t k = ir::As<TopKParams>(c.params).k;
  Shape shape = c.operands[0]->shape();
  if (shape.empty()) c.FailShape(17, "a scalar has no dim to choose along");
  if (k < 0 || k > shape.back())
    c.FailShape(18, fmt::format("the {} largest of {} elements do not exist", k, shape.back()));
  shape.back() = k;
  return {{shape, c.operands[0]->dtype()}, {shape, i32}};
}

DimMap TopKDims(const ir::DimsCall& c) {
  DimMap map = sharding::Pointwise({c.operands[0]}, *c.operands[0]);
  size_t last = c.operands[0]->size() - 1;
  map.factors[last].kind = FactorKind::kReplicate;
  if ((*c.results[0])[last] != (*c.operands[0])[last])
    map.results[0][last] = {
        map.AddFactor({.size = (*c.results[0])[last], .kind = FactorKind::kReplicate})};
  map.results.push_back(map.results[0]);
  return map;
}

void MakeTopK(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::TopK(c.operands[0].dtype, c.results[1].dtype, c.operands[0].shape,
                       ir::As<TopKParams>(c.params).k);
}

}  // namespace

constexpr OpDef kSort{.name = "sort",
                      .doc = "Operands ordered along a dim by the first of them; stable.",
                      .type = ir::TypeFn{SortType},
                      .dims = ir::DimMapFn{SortDims},
                      .lowering = ir::Kernel{MakeSort},
                      .reference = ir::ReferenceFn{reference::Sort},
                      .params = ir::KindOf<SortParams>(),
                      .flops_per_point = 20,
                      .operand_names = {"", "", ""}};
constexpr OpDef kTopK{.name = "top_k",
                      .doc = "The k largest along the last dim, and their indices.",
                      .type = ir::TypeFn{TopKType},
                      .dims = ir::DimMapFn{TopKDims},
                      .lowering = ir::Kernel{MakeTopK},
                      .reference = ir::ReferenceFn{reference::TopK},
                      .params = ir::KindOf<TopKParams>(),
                      .flops_per_point = 10};

}  // namespace tessera::ops
