// QR factorisation, and products of Householder reflectors.
#include <algorithm>
#include <numeric>

#include "kernels/solve/matrices.h"
#include "ops/matrices.h"
#include "ops/ops.h"
#include "ops/reference_matrices.h"

namespace tessera::ops {
namespace {

using ir::ValueId;
using reference::Reflector;
using reference::WideMatrix;
using sharding::DimMap;

// ---- qr -----------------------------------------------------------------------------------------

std::vector<ShapeAndDType> QrType(const TypeCall& c) {
  CheckMatrices(c, 1);
  const Shape &a = c.operands[0]->shape(), batch = BatchOf(a);
  const DType t = c.operands[0]->dtype();
  const int64_t m = a[a.size() - 2], n = a.back();
  const auto& p = ir::As<QrParams>(c.params);
  const int64_t k = p.full_matrices ? m : std::min(m, n);
  std::vector<ShapeAndDType> types = {{WithMatrix(batch, {m, k}), t},
                                      {WithMatrix(batch, {k, n}), t}};
  if (p.pivoting) types.push_back({WithMatrix(batch, {n}), i32});
  return types;
}
DimMap QrDims(const ir::DimsCall& c) {
  const auto [m, n] = SizeOfMatrix(c);
  const double flops = kernels::QrFlops(m, n, static_cast<double>(c.results[0]->back()));
  return c.results.size() == 3 ? MatrixMap(c, {2}, {2, 2, 1}, flops)
                               : MatrixMap(c, {2}, {2, 2}, flops);
}
void MakeQr(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& p = ir::As<QrParams>(c.params);
  *out = kernels::Qr(c.operands[0].dtype, c.operands[0].shape,
                     {.full = p.full_matrices, .pivoting = p.pivoting});
}

// Exchanges column k with the one of the largest norm from row k on.
void PivotColumns(WideMatrix& a, int64_t k, std::vector<int64_t>& permutation) {
  const auto rest = [&](int64_t c) {
    long double sum = 0;
    for (int64_t r = k; r < a.rows; ++r) sum += std::norm(a(r, c));
    return sum;
  };
  int64_t pivot = k;
  for (int64_t c = k + 1; c < a.cols; ++c)
    if (rest(c) > rest(pivot)) pivot = c;
  for (int64_t r = 0; r < a.rows; ++r) std::swap(a(r, k), a(r, pivot));
  std::swap(permutation[static_cast<size_t>(k)], permutation[static_cast<size_t>(pivot)]);
}

void QrReference(const ir::ReferenceCall& call) {
  for (int64_t i = 0; i < reference::MatrixCount(*call.operands[0]); ++i) {
    WideMatrix a = reference::MatrixAt(*call.operands[0], i), q = reference::Identity(a.rows);
    std::vector<int64_t> permutation(static_cast<size_t>(a.cols));
    std::iota(permutation.begin(), permutation.end(), int64_t{0});
    const bool pivoting = ir::As<QrParams>(call.params).pivoting;
    for (int64_t k = 0; k < std::min(a.rows, a.cols); ++k) {
      if (pivoting) PivotColumns(a, k, permutation);
      const Reflector reflector(a, k, k);
      reflector.ApplyAdjointLeft(a);
      reflector.ApplyRight(q);
    }
    const int64_t columns = call.results[0]->shape.back();
    WideMatrix first(a.rows, columns), r(columns, a.cols);
    for (int64_t row = 0; row < a.rows; ++row)
      for (int64_t k = 0; k < columns; ++k) first(row, k) = q(row, k);
    for (int64_t k = 0; k < columns; ++k)
      for (int64_t col = k; col < a.cols; ++col) r(k, col) = a(k, col);
    reference::SetMatrix(*call.results[0], i, first);
    reference::SetMatrix(*call.results[1], i, r);
    for (int64_t k = 0; k < a.cols && pivoting; ++k)
      call.results[2]->SetInt(i * a.cols + k, permutation[static_cast<size_t>(k)]);
  }
}

struct QrTangents {
  X q, r;
};
// For a with at least as many rows as columns, and reduced q. With w = da r^-1 and the
// skew-Hermitian s with the strictly lower triangle of q^H w and its imaginary diagonal:
// dr = (q^H w - s) r and dq = q (s - q^H w) + w
// (https://j-towns.github.io/papers/qr-derivative.pdf).
QrTangents ReducedQrTangents(X q, X r, X da) {
  const X w = SolveTriangular(r, da, {});
  const X projected = MatMul(Adjoint(q), w), lower = Lower(projected, -1);
  X rest = projected - (lower - Adjoint(lower));
  if (IsComplex(q))
    rest = rest - IdentityFor(rest) * (projected - InDTypeOf(RealOf(projected), projected));
  return {w - MatMul(q, rest), MatMul(rest, r)};
}

// The columns of q after those of the reduced form are continuous for LAPACK's reflectors
// (https://arxiv.org/abs/2409.13374, equations 32 and 33). `q` [m, m]; `dq`: of its first columns.
X RestOfQ(X q, X dq) {
  const int64_t m = RowsOf(q), n = ColumnsOf(dq);
  const X first = ColumnSlice(q, 0, n), top = RowSlice(first, 0, n), bottom = RowSlice(first, n, m);
  // z^H = (top - 1)^-H bottom^H.
  const X adjoint = SolveByLu(Adjoint(top - IdentityFor(top)), Adjoint(bottom));
  const X z = Adjoint(adjoint), mixed = first + MatMul(ColumnSlice(q, n, m), z);
  return MatMul(dq, adjoint) -
         MatMul(mixed, Adjoint(RowSlice(dq, n, m) - MatMul(z, RowSlice(dq, 0, n))));
}

std::vector<ValueId> QrJvp(const ir::DiffCall& c, absl::Span<const ValueId> tangents,
                           std::vector<ValueId>& results) {
  X a = WithoutReduced(c.builder, c.operands[0]), da = WithoutReduced(c.builder, tangents[0]);
  const X q = WithoutReduced(c.builder, results[0]), r = WithoutReduced(c.builder, results[1]);
  const auto both = [&](X dq, X dr) {
    std::vector<ValueId> made = {dq.id(), dr.id()};
    made.resize(results.size(), ir::kNoValue);
    return made;
  };
  if (results.size() == 3) {
    const X permutation = WithoutReduced(c.builder, results[2]);
    a = PermutedColumns(a, permutation);
    da = PermutedColumns(da, permutation);
  }
  const int64_t m = RowsOf(a), n = ColumnsOf(a);
  if (m < n) {
    // The first m columns are a square problem, and r = q^H a in the others.
    const QrTangents d = ReducedQrTangents(q, ColumnSlice(r, 0, m), ColumnSlice(da, 0, m));
    const X rest =
        MatMul(Adjoint(d.q), ColumnSlice(a, m, n)) + MatMul(Adjoint(q), ColumnSlice(da, m, n));
    return both(d.q, Beside(d.r, rest));
  }
  const QrTangents d = ReducedQrTangents(ColumnSlice(q, 0, n), RowSlice(r, 0, n), da);
  if (ColumnsOf(q) == n) return both(d.q, d.r);
  const X zeros = RowSlice(r, n, m) * 0;
  return both(Beside(d.q, RestOfQ(q, d.q)), Below(d.r, zeros));
}

// ---- packed_qr ----------------------------------------------------------------------------------

std::vector<ShapeAndDType> PackedQrType(const TypeCall& c) {
  CheckMatrices(c, 1);
  const Shape &a = c.operands[0]->shape(), batch = BatchOf(a);
  const DType t = c.operands[0]->dtype();
  const int64_t m = a[a.size() - 2], n = a.back();
  std::vector<ShapeAndDType> types = {{a, t}, {WithMatrix(batch, {std::min(m, n)}), t}};
  if (ir::As<PackedQrParams>(c.params).pivoting) types.push_back({WithMatrix(batch, {n}), i32});
  return types;
}
DimMap PackedQrDims(const ir::DimsCall& c) {
  const auto [m, n] = SizeOfMatrix(c);
  const double flops = kernels::PackedQrFlops(m, n);
  return c.results.size() == 3 ? MatrixMap(c, {2}, {2, 1, 1}, flops)
                               : MatrixMap(c, {2}, {2, 1}, flops);
}
void MakePackedQr(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::PackedQr(c.operands[0].dtype, c.operands[0].shape,
                           ir::As<PackedQrParams>(c.params).pivoting);
}

void PackedQrReference(const ir::ReferenceCall& call) {
  const bool pivoting = ir::As<PackedQrParams>(call.params).pivoting;
  for (int64_t i = 0; i < reference::MatrixCount(*call.operands[0]); ++i) {
    WideMatrix a = reference::MatrixAt(*call.operands[0], i), reflectors(a.rows, a.cols);
    const int64_t steps = std::min(a.rows, a.cols);
    WideMatrix taus(1, steps);
    std::vector<int64_t> permutation(static_cast<size_t>(a.cols));
    std::iota(permutation.begin(), permutation.end(), int64_t{0});
    for (int64_t k = 0; k < steps; ++k) {
      if (pivoting) PivotColumns(a, k, permutation);
      const Reflector reflector(a, k, k);
      reflector.ApplyAdjointLeft(a);
      taus(0, k) = reflector.tau;
      for (int64_t r = k + 1; r < a.rows; ++r) {
        a(r, k) = 0;
        reflectors(r, k) = reflector.v[static_cast<size_t>(r)];
      }
    }
    for (int64_t c = 0; c < a.cols; ++c)
      for (int64_t r = c + 1; r < a.rows; ++r) a(r, c) = reflectors(r, c);
    reference::SetMatrix(*call.results[0], i, a);
    reference::SetMatrix(*call.results[1], i, taus);
    for (int64_t k = 0; k < a.cols && pivoting; ++k)
      call.results[2]->SetInt(i * a.cols + k, permutation[static_cast<size_t>(k)]);
  }
}

// ---- householder_product ------------------------------------------------------------------------

// C20: there must be at least as many rows as columns. C21: at most one reflector per column.
std::vector<ShapeAndDType> ProductType(const TypeCall& c) {
  CheckMatrices(c, 2, 1);
  CheckBatch(c, {{2, 1}});
  const Shape& a = c.operands[0]->shape();
  const int64_t m = a[a.size() - 2], n = a.back(), k = c.operands[1]->shape().back();
  if (m < n)
    c.FailShape(20,
                fmt::format("a is {} x {}; it must have at least as many rows as columns", m, n));
  if (k > n) c.FailShape(21, fmt::format("there are {} taus, but a has only {} columns", k, n));
  return {{a, c.operands[0]->dtype()}};
}
DimMap ProductDims(const ir::DimsCall& c) {
  const auto [m, n] = SizeOfMatrix(c);
  const auto reflectors = static_cast<double>(c.operands[1]->back());
  return MatrixMap(c, {2, 1}, {2}, kernels::HouseholderFlops(m, n, reflectors));
}
void MakeProduct(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::HouseholderProduct(c.operands[0].dtype, c.operands[0].shape,
                                     c.operands[1].shape.back());
}

void ProductReference(const ir::ReferenceCall& call) {
  for (int64_t i = 0; i < reference::MatrixCount(*call.operands[0]); ++i) {
    const WideMatrix a = reference::MatrixAt(*call.operands[0], i);
    const int64_t k = call.operands[1]->shape.back();
    const WideMatrix taus = reference::MatrixAt(*call.operands[1], i, 1, k);
    WideMatrix product = reference::Identity(a.rows);
    for (int64_t j = k - 1; j >= 0; --j) {
      Reflector reflector;
      reflector.tau = taus(0, j);
      reflector.v.assign(static_cast<size_t>(a.rows), 0);
      for (int64_t r = j; r < a.rows; ++r)
        reflector.v[static_cast<size_t>(r)] = r == j ? 1 : a(r, j);
      reflector.ApplyLeft(product);
    }
    WideMatrix first(a.rows, a.cols);
    for (int64_t r = 0; r < a.rows; ++r)
      for (int64_t col = 0; col < a.cols; ++col) first(r, col) = product(r, col);
    reference::SetMatrix(*call.results[0], i, first);
  }
}

}  // namespace

constexpr OpDef kQr{
    .name = "qr",
    .doc = "Unitary q and upper triangular r with q r = a, or a with exchanged columns.",
    .type = ir::TypeFn{QrType},
    .dims = ir::DimMapFn{QrDims},
    .lowering = ir::AsKernel{MakeQr},
    .reference = ir::ReferenceFn{QrReference},
    .diff = ir::Structural{QrJvp},
    .params = ir::KindOf<QrParams>(),
    .flops_per_point = 1,
    .operand_names = {"a", "", ""}};
constexpr OpDef kPackedQr{
    .name = "packed_qr",
    .doc = "The r of q r = a, the reflectors whose product is q below it, and their factors.",
    .type = ir::TypeFn{PackedQrType},
    .dims = ir::DimMapFn{PackedQrDims},
    .lowering = ir::AsKernel{MakePackedQr},
    .reference = ir::ReferenceFn{PackedQrReference},
    .diff = ir::NotDifferentiable{"it is a step of other functions; differentiate qr"},
    .params = ir::KindOf<PackedQrParams>(),
    .flops_per_point = 1,
    .operand_names = {"a", "", ""}};
constexpr OpDef kHouseholderProduct{
    .name = "householder_product",
    .doc = "The first columns of a product of Householder reflectors.",
    .type = ir::TypeFn{ProductType},
    .dims = ir::DimMapFn{ProductDims},
    .lowering = ir::AsKernel{MakeProduct},
    .reference = ir::ReferenceFn{ProductReference},
    .diff = ir::NotDifferentiable{"it is a step of other functions; differentiate qr"},
    .flops_per_point = 1,
    .operand_names = {"a", "taus", ""}};

Records OrthogonalOps() {
  static constexpr const OpDef* kOps[] = {&kQr, &kPackedQr, &kHouseholderProduct};
  return kOps;
}

}  // namespace tessera::ops
