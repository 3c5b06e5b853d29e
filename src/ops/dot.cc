// Products summed over contracted dims.
#include "base/shape.h"
#include "kernels/kernels.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using reference::Coords;
using reference::HostTensor;

using sharding::DimMap;
using sharding::FactorKind;

std::vector<int64_t> FreeDims(const std::vector<int64_t>& contract,
                              const std::vector<int64_t>& batch, size_t rank) {
  std::vector<int64_t> free;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    if (!Has(contract, d) && !Has(batch, d)) free.push_back(d);
  return free;
}

// C17: as many dims on both sides, distinct. C18: their sizes agree. C14: numbers.
void CheckPairs(const TypeCall& c, const PairedDims& pairs, const char* what) {
  const Shape &a = c.operands[0]->shape(), &b = c.operands[1]->shape();
  if (pairs.lhs.size() != pairs.rhs.size())
    c.FailShape(17, fmt::format("there are {} {} dims on the left, {} on the right",
                                pairs.lhs.size(), what, pairs.rhs.size()));
  for (size_t i = 0; i < pairs.lhs.size(); ++i) {
    int64_t m = a[static_cast<size_t>(pairs.lhs[i])], n = b[static_cast<size_t>(pairs.rhs[i])];
    if (m != n)
      c.FailShape(18, fmt::format("{} dims {} and {} have different sizes, {} and {}", what,
                                  pairs.lhs[i], pairs.rhs[i], m, n));
  }
}

std::vector<ShapeAndDType> DotType(const TypeCall& c) {
  CheckCount(c, 2);
  // Operands may differ where the result's dtype is given.
  if (!c.wanted || c.wanted->dtype.is_default()) CheckSameDType(c);
  const auto& p = ir::As<DotParams>(c.params);
  for (auto [contract, batch, i] :
       {std::tuple(&p.contract.lhs, &p.batch.lhs, 0), {&p.contract.rhs, &p.batch.rhs, 1}}) {
    std::vector<int64_t> named = *contract;
    named.insert(named.end(), batch->begin(), batch->end());
    CheckDims(c, named, c.operands[static_cast<size_t>(i)]->rank());
  }
  CheckPairs(c, p.contract, "contracting");
  CheckPairs(c, p.batch, "batch");
  DType t = promote_types(c.operands[0]->dtype(), c.operands[1]->dtype());
  if (c.operands[0]->dtype().is_bool() || c.operands[1]->dtype().is_bool())
    c.FailDType(14, "it multiplies numbers, not bool");
  const Shape &a = c.operands[0]->shape(), &b = c.operands[1]->shape();
  Shape shape;
  for (int64_t d : p.batch.lhs) shape.push_back(a[static_cast<size_t>(d)]);
  for (int64_t d : FreeDims(p.contract.lhs, p.batch.lhs, a.size()))
    shape.push_back(a[static_cast<size_t>(d)]);
  for (int64_t d : FreeDims(p.contract.rhs, p.batch.rhs, b.size()))
    shape.push_back(b[static_cast<size_t>(d)]);
  DType out = c.wanted && !c.wanted->dtype.is_default() ? c.wanted->dtype : t;
  if (out.is_bool() || (t.is_floating() && !out.is_floating()))
    c.FailDType(19, fmt::format("products of {} cannot be summed in {}", t.name(), out.name()));
  return {{shape, out}};
}

// Factors in the order batch, left free, right free, contracted, as Shardy numbers them.
DimMap DotDims(const ir::DimsCall& c) {
  const auto& p = ir::As<DotParams>(c.params);
  const Shape &a = *c.operands[0], &b = *c.operands[1];
  DimMap map;
  sharding::DimFactors lhs(a.size()), rhs(b.size()), result;
  for (size_t i = 0; i < p.batch.lhs.size(); ++i) {
    auto l = static_cast<size_t>(p.batch.lhs[i]), r = static_cast<size_t>(p.batch.rhs[i]);
    int32_t f = map.AddFactor({.size = a[l]});
    lhs[l] = rhs[r] = {f};
    result.push_back({f});
  }
  auto free = [&](const Shape& shape, sharding::DimFactors& dims,
                  const std::vector<int64_t>& list) {
    for (int64_t d : list) {
      int32_t f = map.AddFactor({.size = shape[static_cast<size_t>(d)]});
      dims[static_cast<size_t>(d)] = {f};
      result.push_back({f});
    }
  };
  free(a, lhs, FreeDims(p.contract.lhs, p.batch.lhs, a.size()));
  free(b, rhs, FreeDims(p.contract.rhs, p.batch.rhs, b.size()));
  for (size_t i = 0; i < p.contract.lhs.size(); ++i) {
    auto l = static_cast<size_t>(p.contract.lhs[i]), r = static_cast<size_t>(p.contract.rhs[i]);
    lhs[l] = rhs[r] = {map.AddFactor({.size = a[l], .kind = FactorKind::kReduce})};
  }
  map.operands = {lhs, rhs};
  map.results = {result};
  map.linear = {{.operands = {0}}, {.operands = {1}}};
  map.traits.product = true;
  return map;
}

void MakeDot(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& p = ir::As<DotParams>(c.params);
  *out = kernels::DotGeneral({.lhs_dtype = c.operands[0].dtype,
                              .rhs_dtype = c.operands[1].dtype,
                              .out_dtype = c.results[0].dtype,
                              .lhs = c.operands[0].shape,
                              .rhs = c.operands[1].shape,
                              .lhs_contract = p.contract.lhs,
                              .rhs_contract = p.contract.rhs,
                              .lhs_batch = p.batch.lhs,
                              .rhs_batch = p.batch.rhs});
}

// Which dims of an operand are batch, contracting and free ones.
struct DotSide {
  Coords batch, contract, free;
  // Returns the index of the element at these coordinates of the three.
  int64_t Index(const ir::Shape& shape, const Coords& b, const Coords& c, const Coords& f) const {
    Coords at(shape.size());
    for (size_t k = 0; k < b.size(); ++k) at[batch[k]] = b[k];
    for (size_t k = 0; k < c.size(); ++k) at[contract[k]] = c[k];
    for (size_t k = 0; k < f.size(); ++k) at[free[k]] = f[k];
    return ir::FlatIndex(shape, at);
  }
};

DotSide SideOf(const HostTensor& x, const Coords& batch, const Coords& contract) {
  return {batch, contract, FreeDims(contract, batch, x.shape.size())};
}

// Element j of the product, at coordinates [batch..., lhs free..., rhs free...].
void DotElement(const HostTensor& x, const HostTensor& y, const DotSide& lhs, const DotSide& rhs,
                HostTensor& out, int64_t j) {
  const Coords at = ir::CoordsOf(out.shape, j);
  const auto lhs_begin = at.begin() + static_cast<int64_t>(lhs.batch.size());
  const auto rhs_begin = lhs_begin + static_cast<int64_t>(lhs.free.size());
  const Coords batch(at.begin(), lhs_begin);
  const Coords x_free(lhs_begin, rhs_begin), y_free(rhs_begin, at.end());
  const Coords contracted = reference::Pick(x.shape, lhs.contract);
  double float_sum = 0;
  uint64_t int_sum = 0;
  for (int64_t k = 0; k < base::Elements(contracted); ++k) {
    const Coords c = ir::CoordsOf(contracted, k);
    const int64_t a = lhs.Index(x.shape, batch, c, x_free);
    const int64_t b = rhs.Index(y.shape, batch, c, y_free);
    if (out.dtype.is_floating())
      float_sum += x.Float(a) * y.Float(b);
    else
      int_sum += static_cast<uint64_t>(x.Int(a)) * static_cast<uint64_t>(y.Int(b));
  }
  if (out.dtype.is_floating())
    out.SetFloat(j, float_sum);
  else
    out.SetInt(j, static_cast<int64_t>(int_sum));
}

void DotGeneralReference(const ir::ReferenceCall& call) {
  const auto& params = ir::As<DotParams>(call.params);
  const HostTensor &x = *call.operands[0], &y = *call.operands[1];
  const DotSide lhs = SideOf(x, params.batch.lhs, params.contract.lhs);
  const DotSide rhs = SideOf(y, params.batch.rhs, params.contract.rhs);
  HostTensor& out = *call.results[0];
  for (int64_t j = 0; j < out.size(); ++j) DotElement(x, y, lhs, rhs, out, j);
}

}  // namespace

constexpr OpDef kDotGeneral{.name = "dot_general",
                            .doc = "Products summed over the contracted dims.",
                            .type = ir::TypeFn{DotType},
                            .dims = ir::DimMapFn{DotDims},
                            .lowering = ir::Kernel{MakeDot},
                            .reference = ir::ReferenceFn{DotGeneralReference},
                            .params = ir::KindOf<DotParams>(),
                            .flops_per_point = 2,
                            .out_sharding = true,
                            .operand_names = {"lhs", "rhs", ""}};

Records DotOps() {
  static constexpr const OpDef* kOps[] = {&kDotGeneral};
  return kOps;
}

}  // namespace tessera::ops
