// Matrices: products summed over contracted dims, and tridiagonal systems.
#include "kernels/gemm/dot.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cmath>

#include "base/dtype.h"
#include "base/shape.h"
#include "kernels/solve/tridiagonal.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_accumulator.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using reference::Coords;
using reference::HostTensor;
using reference::LongComplex;

using sharding::DimMap;
using sharding::FactorKind;

std::vector<int64_t> FreeDims(const std::vector<int64_t>& contract,
                              const std::vector<int64_t>& batch, size_t rank) {
  std::vector<int64_t> free;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    if (!Has(contract, d) && !Has(batch, d)) free.push_back(d);
  return free;
}

// C17: both sides must name the same number of dims. C18: paired dims must have equal sizes.
void CheckPairs(const TypeCall& c, const PairedDims& pairs, const char* what) {
  const Shape &a = c.operands[0]->shape(), &b = c.operands[1]->shape();
  if (pairs.lhs.size() != pairs.rhs.size())
    c.FailShape(17, fmt::format("there are {} {} dims on the left, but {} on the right",
                                pairs.lhs.size(), what, pairs.rhs.size()));
  for (size_t i = 0; i < pairs.lhs.size(); ++i) {
    int64_t m = a[pairs.lhs[i]], n = b[pairs.rhs[i]];
    if (m != n)
      c.FailShape(18, fmt::format("{} dims {} and {} have different sizes, {} and {}", what,
                                  pairs.lhs[i], pairs.rhs[i], m, n));
  }
}

std::vector<ShapeAndDType> DotType(const TypeCall& c) {
  CheckCount(c, 2);
  // Dtypes may differ if the result's dtype is given.
  if (!c.wanted || c.wanted->dtype.is_default()) CheckSameDType(c);
  const auto& p = ir::As<DotParams>(c.params);
  for (auto [contract, batch, i] :
       {std::tuple(&p.contract.lhs, &p.batch.lhs, 0), {&p.contract.rhs, &p.batch.rhs, 1}}) {
    std::vector<int64_t> named = *contract;
    named.insert(named.end(), batch->begin(), batch->end());
    CheckDims(c, named, c.operands[i]->rank());
  }
  CheckPairs(c, p.contract, "contracting");
  CheckPairs(c, p.batch, "batch");
  const DType out = ProductDType(c);
  const Shape &a = c.operands[0]->shape(), &b = c.operands[1]->shape();
  Shape shape;
  for (int64_t d : p.batch.lhs) shape.push_back(a[d]);
  for (int64_t d : FreeDims(p.contract.lhs, p.batch.lhs, a.size())) shape.push_back(a[d]);
  for (int64_t d : FreeDims(p.contract.rhs, p.batch.rhs, b.size())) shape.push_back(b[d]);
  return {{shape, out}};
}

// Numbers the factors as Shardy does: batch, free of lhs, free of rhs, contracted.
DimMap DotDims(const ir::DimsCall& c) {
  const auto& p = ir::As<DotParams>(c.params);
  const Shape &a = *c.operands[0], &b = *c.operands[1];
  DimMap map;
  sharding::DimFactors lhs(a.size()), rhs(b.size()), result;
  for (size_t i = 0; i < p.batch.lhs.size(); ++i) {
    int32_t f = map.AddFactor({.size = a[p.batch.lhs[i]]});
    lhs[p.batch.lhs[i]] = rhs[p.batch.rhs[i]] = {f};
    result.push_back({f});
  }
  auto free = [&](const Shape& shape, sharding::DimFactors& dims,
                  const std::vector<int64_t>& list) {
    for (int64_t d : list) {
      int32_t f = map.AddFactor({.size = shape[d]});
      dims[d] = {f};
      result.push_back({f});
    }
  };
  free(a, lhs, FreeDims(p.contract.lhs, p.batch.lhs, a.size()));
  free(b, rhs, FreeDims(p.contract.rhs, p.batch.rhs, b.size()));
  for (size_t i = 0; i < p.contract.lhs.size(); ++i) {
    const int64_t l = p.contract.lhs[i];
    lhs[l] = rhs[p.contract.rhs[i]] = {map.AddFactor({.size = a[l], .kind = FactorKind::kReduce})};
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

// The batch, contracting and free dims of an operand.
struct DotSide {
  Coords batch, contract, free;
  // Returns the index of the element at these coordinates along the three kinds of dims.
  int64_t Index(const base::Shape& shape, const Coords& b, const Coords& c, const Coords& f) const {
    Coords at(shape.size());
    for (size_t k = 0; k < b.size(); ++k) at[batch[k]] = b[k];
    for (size_t k = 0; k < c.size(); ++k) at[contract[k]] = c[k];
    for (size_t k = 0; k < f.size(); ++k) at[free[k]] = f[k];
    return ir::FlatIndex(shape, at);
  }
};

DotSide SideOf(size_t rank, const Coords& batch, const Coords& contract) {
  return {batch, contract, FreeDims(contract, batch, rank)};
}

// Computes element j of the product, at coordinates [batch..., lhs free..., rhs free...].
void DotElement(const HostTensor& x, const HostTensor& y, const DotSide& lhs, const DotSide& rhs,
                HostTensor& out, int64_t j) {
  const Coords at = ir::CoordsOf(out.shape, j);
  const auto lhs_begin = at.begin() + static_cast<int64_t>(lhs.batch.size());
  const auto rhs_begin = lhs_begin + static_cast<int64_t>(lhs.free.size());
  const Coords batch(at.begin(), lhs_begin);
  const Coords x_free(lhs_begin, rhs_begin), y_free(rhs_begin, at.end());
  const Coords contracted = reference::Pick(x.shape, lhs.contract);
  reference::SumOfProducts sum(out.dtype);
  for (int64_t k = 0; k < base::Elements(contracted); ++k) {
    const Coords c = ir::CoordsOf(contracted, k);
    sum.Add(x, lhs.Index(x.shape, batch, c, x_free), y, rhs.Index(y.shape, batch, c, y_free));
  }
  sum.StoreTo(out, j);
}

void DotGeneralReference(const ir::ReferenceCall& call) {
  const auto& params = ir::As<DotParams>(call.params);
  const HostTensor &x = *call.operands[0], &y = *call.operands[1];
  const DotSide lhs = SideOf(x.shape.size(), params.batch.lhs, params.contract.lhs);
  const DotSide rhs = SideOf(y.shape.size(), params.batch.rhs, params.contract.rhs);
  HostTensor& out = *call.results[0];
  for (int64_t j = 0; j < out.size(); ++j) DotElement(x, y, lhs, rhs, out, j);
}

// C14: the dtype must be f32, f64, c64 or c128. C17: the diagonals must have one shape [..., n].
// C18: b must have shape [..., n, k].
std::vector<ShapeAndDType> TridiagonalType(const TypeCall& c) {
  CheckCount(c, 4);
  CheckSameDType(c);
  DType t = c.operands[0]->dtype();
  if (base::PartOf(t) != f32 && base::PartOf(t) != f64)
    c.FailDType(14, fmt::format("it takes f32, f64, c64 and c128, not {}", t.name()));
  const Shape &d = c.operands[1]->shape(), &b = c.operands[3]->shape();
  if (d.empty()) c.FailShape(17, "a diagonal must have one dim or more, not the shape []");
  for (size_t i : {0, 2})
    if (c.operands[i]->shape() != d)
      c.FailShape(17, fmt::format("diagonals have different shapes, {} and {}",
                                  ShapeText(c.operands[i]->shape()), ShapeText(d)));
  if (b.size() != d.size() + 1 || !std::equal(d.begin(), d.end(), b.begin()))
    c.FailShape(18, fmt::format("b has shape {}; it must have the shape of the diagonals, {}, "
                                "and one dim more",
                                ShapeText(b), ShapeText(d)));
  return {{b, t}};
}

// Each row of the solution depends on all rows, so the solved dim must be whole.
DimMap TridiagonalDims(const ir::DimsCall& c) {
  DimMap map = sharding::Pointwise({c.operands[3]}, *c.results[0]);
  const size_t solved = c.operands[1]->size() - 1;
  map.factors[solved].kind = FactorKind::kReplicate;
  sharding::DimFactors diagonal = map.results[0];
  diagonal.pop_back();
  map.operands.insert(map.operands.begin(), 3, diagonal);
  map.linear = {{.operands = {3}}};
  return map;
}

void MakeTridiagonal(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::TridiagonalSolve(c.results[0].dtype, c.results[0].shape);
}

using Row = std::vector<LongComplex>;

// Returns the rows of the augmented matrix [A | b] of the system whose diagonals begin at `first`.
std::vector<Row> SystemAt(const ir::ReferenceCall& call, int64_t first) {
  const HostTensor &dl = *call.operands[0], &d = *call.operands[1], &du = *call.operands[2];
  const HostTensor& b = *call.operands[3];
  const size_t n = d.shape.back(), k = b.shape.back();
  std::vector<Row> rows(n, Row(n + k));
  for (size_t i = 0; i < n; ++i) {
    const auto at = first + static_cast<int64_t>(i);
    rows[i][i] = LongComplex(d.Complex(at));
    if (i > 0) rows[i][i - 1] = LongComplex(dl.Complex(at));
    if (i + 1 < n) rows[i][i + 1] = LongComplex(du.Complex(at));
    for (size_t j = 0; j < k; ++j)
      rows[i][n + j] = LongComplex(b.Complex(at * b.shape.back() + static_cast<int64_t>(j)));
  }
  return rows;
}

// Gauss-Jordan elimination with partial pivoting.
void Diagonalize(std::vector<Row>& rows) {
  for (size_t p = 0; p < rows.size(); ++p) {
    auto smaller = [&](const Row& a, const Row& b) { return std::abs(a[p]) < std::abs(b[p]); };
    std::swap(rows[p], *std::max_element(rows.begin() + static_cast<long>(p), rows.end(), smaller));
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i == p) continue;
      const LongComplex factor = rows[i][p] / rows[p][p];
      for (size_t j = p; j < rows[i].size(); ++j) rows[i][j] -= factor * rows[p][j];
    }
  }
}

void TridiagonalReference(const ir::ReferenceCall& call) {
  HostTensor& out = *call.results[0];
  const Shape& shape = call.operands[1]->shape;
  const size_t k = out.shape.back();
  int64_t at = 0;
  for (int64_t first = 0; first < call.operands[1]->size(); first += shape.back()) {
    std::vector<Row> rows = SystemAt(call, first);
    Diagonalize(rows);
    for (size_t i = 0; i < rows.size(); ++i)
      for (size_t j = 0; j < k; ++j, ++at) {
        const LongComplex z = rows[i][rows.size() + j] / rows[i][i];
        out.dtype.is_complex() ? out.SetComplex(at, z) : out.SetFloat(at, z.real());
      }
  }
}

// ---- Derivatives --------------------------------------------------------------------------------

std::vector<int64_t> Concatenated(std::vector<int64_t> a, const std::vector<int64_t>& b,
                                  const std::vector<int64_t>& c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

// The product of a cotangent and the other operand, which is an operand's cotangent but for the
// order of its dims.
struct TransposedDot {
  DotParams dot;
  bool exchanged;             // whether the other operand is on the left
  std::vector<int64_t> dims;  // the operand's dims, in the order of the product
};

// Contracts the dims that only the other operand has. The product's dims are batch dims, own free
// dims, and own contracted dims in the order of the other operand; or with the sides exchanged, if
// the product then has the operand's order.
TransposedDot TransposeOf(const DotSide& own, const DotSide& other, size_t other_rank, bool left) {
  TransposedDot out{.dot = {}, .exchanged = false, .dims = {}};
  // The cotangent's dims: batch, free dims of lhs, free dims of rhs.
  const size_t n = own.batch.size(), first = left ? n + own.free.size() : n;
  for (size_t i = 0; i < other.free.size(); ++i)
    out.dot.contract.lhs.push_back(static_cast<int64_t>(first + i));
  out.dot.contract.rhs = other.free;
  for (size_t i = 0; i < n; ++i) out.dot.batch.lhs.push_back(static_cast<int64_t>(i));
  out.dot.batch.rhs = other.batch;
  std::vector<int64_t> contracted;
  for (int64_t d : FreeDims(other.free, other.batch, other_rank))
    contracted.push_back(own.contract[absl::c_find(other.contract, d) - other.contract.begin()]);
  out.dims = Concatenated(own.batch, own.free, contracted);
  std::vector<int64_t> exchanged = Concatenated(own.batch, contracted, own.free);
  if (absl::c_is_sorted(out.dims) || !absl::c_is_sorted(exchanged)) return out;
  out.exchanged = true;
  out.dims = std::move(exchanged);
  std::swap(out.dot.contract.lhs, out.dot.contract.rhs);
  std::swap(out.dot.batch.lhs, out.dot.batch.rhs);
  return out;
}

// Returns the type with its dims in the given order.
const ir::Type* WithDims(const ir::Type* type, const std::vector<int64_t>& dims) {
  sharding::TensorSharding layout = type->sharding();
  Shape shape;
  for (size_t i = 0; i < dims.size(); ++i) {
    shape.push_back(type->shape()[dims[i]]);
    layout.dims[i] = type->sharding().dims[dims[i]];
  }
  return ir::Type::Get(std::move(shape), type->dtype(), std::move(layout));
}

ir::ValueId DotTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  const auto& p = ir::As<DotParams>(c.params.get());
  const size_t ranks[] = {c.operand_types[0]->shape().size(), c.operand_types[1]->shape().size()};
  const DotSide sides[] = {SideOf(ranks[0], p.batch.lhs, p.contract.lhs),
                           SideOf(ranks[1], p.batch.rhs, p.contract.rhs)};
  TransposedDot product = TransposeOf(sides[k], sides[1 - k], ranks[1 - k], k == 0);
  absl::InlinedVector<ir::ValueId, 2> operands{cotangent, c.operands[1 - k]};
  if (product.exchanged) std::swap(operands[0], operands[1]);
  const ir::Type* type =
      WithDims(CotangentTypeOf(c, k)->WithDType(c.result_types[0]->dtype()), product.dims);
  const ir::ValueId made =
      EmitSums(c.builder, kDotGeneral, ir::MakeParams(std::move(product.dot)), operands, type);
  if (absl::c_is_sorted(product.dims)) return made;
  TransposeParams order;
  order.perm.resize(product.dims.size());
  for (size_t i = 0; i < product.dims.size(); ++i)
    order.perm[product.dims[i]] = static_cast<int64_t>(i);
  return AsCotangent(c, k, kTranspose, ir::MakeParams(std::move(order)), {made});
}

// Returns a diagonal as a matrix of one column.
X Column(X diagonal) {
  ir::ShapeAndDType wanted{diagonal.type()->shape(), diagonal.type()->dtype()};
  wanted.shape.push_back(1);
  return {diagonal.builder(),
          diagonal.builder().Emit(kReshape, nullptr, {diagonal.id()}, {.wanted = &wanted})};
}

// d(A^-1 b) = -A^-1 dA A^-1 b, where dA has one diagonal: the lower (-1), main (0) or upper
// (1) one.
template <int side>
ir::ValueId TridiagonalTangent(const ir::DiffCall& c, ir::ValueId tangent) {
  X x(c.builder, c.results[0]);
  if (side != 0) x = Shifted(x, x.type()->rank() - 2, -side, 0);
  const X moved = -(Column(X(c.builder, tangent)) * x);
  return c.builder.Emit(c.op, c.params, {c.operands[0], c.operands[1], c.operands[2], moved.id()});
}

// The transposed matrix has the outer diagonals exchanged, each shifted to its new rows.
ir::ValueId TridiagonalTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const int64_t dim = c.operand_types[0]->rank() - 1;
  const X dl(c.builder, c.operands[0]), du(c.builder, c.operands[2]);
  return c.builder.Emit(
      c.op, c.params,
      {Shifted(du, dim, 1, 0).id(), c.operands[1], Shifted(dl, dim, -1, 0).id(), cotangent});
}

}  // namespace

constexpr OpDef kDotGeneral{.name = "dot_general",
                            .doc = "Products summed over the contracted dims.",
                            .type = ir::TypeFn{DotType},
                            .dims = ir::DimMapFn{DotDims},
                            .lowering = ir::AsKernel{MakeDot},
                            .reference = ir::ReferenceFn{DotGeneralReference},
                            .diff = ir::Derivative{.transpose = DotTranspose},
                            .params = ir::KindOf<DotParams>(),
                            .flops_per_point = 2,
                            .out_sharding = true,
                            .operand_names = {"lhs", "rhs", ""}};

constexpr OpDef kTridiagonalSolve{
    .name = "tridiagonal_solve",
    .doc = "The solution of systems with tridiagonal matrices.",
    .type = ir::TypeFn{TridiagonalType},
    .dims = ir::DimMapFn{TridiagonalDims},
    .lowering = ir::AsKernel{MakeTridiagonal},
    .reference = ir::ReferenceFn{TridiagonalReference},
    .diff =
        ir::Derivative{.of = {TridiagonalTangent<-1>, TridiagonalTangent<0>, TridiagonalTangent<1>},
                       .transpose = TridiagonalTranspose},
    .flops_per_point = 6,
    .operand_names = {"dl", "d", "du", "b"}};

Records DotOps() {
  static constexpr const OpDef* kOps[] = {&kDotGeneral, &kTridiagonalSolve};
  return kOps;
}

}  // namespace tessera::ops
