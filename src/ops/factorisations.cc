// Cholesky and LU factorisation, and triangular systems.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "kernels/solve/matrices.h"
#include "ops/matrices.h"
#include "ops/ops.h"
#include "ops/pieces.h"
#include "ops/reference_matrices.h"

namespace tessera::ops {
namespace {

using ir::ValueId;
using reference::kNaN;
using reference::LongComplex;
using reference::WideMatrix;
using sharding::DimMap;

// ---- cholesky -----------------------------------------------------------------------------------

std::vector<ShapeAndDType> CholeskyType(const TypeCall& c) {
  CheckMatrices(c, 1);
  CheckSquare(c);
  return TypeOfOperand(c);
}
DimMap CholeskyDims(const ir::DimsCall& c) {
  return MatrixMap(c, {2}, {2}, kernels::CholeskyFlops(SizeOfMatrix(c).n));
}
void MakeCholesky(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::Cholesky(c.operands[0].dtype, c.operands[0].shape);
}

void CholeskyReference(const ir::ReferenceCall& call) {
  for (int64_t k = 0; k < reference::MatrixCount(*call.operands[0]); ++k) {
    const WideMatrix a = reference::MatrixAt(*call.operands[0], k);
    WideMatrix l(a.rows, a.cols);
    bool definite = true;
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        LongComplex rest = i == j ? LongComplex(a(i, j).real()) : a(i, j);
        for (int64_t m = 0; m < j; ++m) rest -= l(i, m) * std::conj(l(j, m));
        l(i, j) = i == j ? LongComplex(std::sqrt(rest.real())) : rest / l(j, j);
        definite = definite && (i != j || rest.real() > 0);
      }
    for (int64_t i = 0; i < a.rows && !definite; ++i)
      for (int64_t j = 0; j <= i; ++j) l(i, j) = {kNaN, kNaN};
    reference::SetMatrix(*call.results[0], k, l);
  }
}

// From l l^H = a follows l^-1 dl + (l^-1 dl)^H = l^-1 da l^-H. The first term is lower triangular
// (Murray, https://arxiv.org/abs/1602.07527).
ValueId CholeskyTangent(const ir::DiffCall& c, ValueId tangent) {
  const X l = WithoutReduced(c.builder, c.results[0]),
          da = MirroredLower(WithoutReduced(c.builder, tangent));
  const X right = SolveTriangular(l, da, {.lower = true, .transpose_a = true, .conjugate_a = true});
  const X both = SolveTriangular(l, right, {.left_side = true, .lower = true});
  return MatMul(l, Lower(both) / (IdentityFor(l) + 1)).id();
}

// ---- triangular_solve ---------------------------------------------------------------------------

// C20: a must fit to the rows or columns of b.
std::vector<ShapeAndDType> TriangularSolveType(const TypeCall& c) {
  CheckMatrices(c, 2);
  CheckSquare(c);
  CheckBatch(c, {{2, 2}});
  const bool left = ir::As<TriangularSolveParams>(c.params).left_side;
  const Shape& b = c.operands[1]->shape();
  const int64_t size = c.operands[0]->shape().back(), own = left ? b[b.size() - 2] : b.back();
  if (own != size)
    c.FailShape(20, fmt::format("a is {} x {}, but b has {} {}", size, size, own,
                                left ? "rows" : "columns"));
  return {{b, c.operands[1]->dtype()}};
}

// The columns of b are separate systems on the left side, and its rows on the right side.
DimMap TriangularSolveDims(const ir::DimsCall& c) {
  DimMap map = sharding::Pointwise({c.operands[1]}, *c.results[0]);
  const size_t rank = c.operands[1]->size();
  const bool left = ir::As<TriangularSolveParams>(c.params).left_side;
  const size_t solved = left ? rank - 2 : rank - 1;
  map.factors[solved].kind = sharding::FactorKind::kReplicate;
  sharding::DimFactors a = map.results[0];
  const sharding::FactorList of_b = {static_cast<int32_t>(solved)};
  const sharding::FactorList of_result = {map.AddFactor(
      {.size = (*c.operands[0])[rank - 1], .kind = sharding::FactorKind::kReplicate})};
  map.results[0][solved] = of_result;
  // op(a) x = b, or x op(a) = b.
  const bool rows_of_b = left != ir::As<TriangularSolveParams>(c.params).transpose_a;
  a[rank - 2] = rows_of_b ? of_b : of_result;
  a[rank - 1] = rows_of_b ? of_result : of_b;
  map.operands.insert(map.operands.begin(), a);
  map.linear = {{.operands = {1}}};
  return map;
}

void MakeTriangularSolve(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& p = ir::As<TriangularSolveParams>(c.params);
  *out = kernels::TriangularSolve(c.results[0].dtype, c.results[0].shape,
                                  {.left = p.left_side,
                                   .lower = p.lower,
                                   .transpose = p.transpose_a,
                                   .conjugate = p.conjugate_a,
                                   .unit = p.unit_diagonal});
}

// Solves a x = b, where `lower` is the triangle of a that counts.
WideMatrix Substituted(const WideMatrix& a, WideMatrix b, bool lower, bool unit) {
  for (int64_t k = 0; k < a.rows; ++k) {
    const int64_t i = lower ? k : a.rows - 1 - k;
    for (int64_t c = 0; c < b.cols; ++c) {
      for (int64_t j = lower ? 0 : i + 1; j < (lower ? i : a.rows); ++j)
        b(i, c) -= a(i, j) * b(j, c);
      if (!unit) b(i, c) /= a(i, i);
    }
  }
  return b;
}

void TriangularSolveReference(const ir::ReferenceCall& call) {
  const auto& p = ir::As<TriangularSolveParams>(call.params);
  for (int64_t k = 0; k < reference::MatrixCount(*call.operands[0]); ++k) {
    WideMatrix a = reference::MatrixAt(*call.operands[0], k);
    WideMatrix b = reference::MatrixAt(*call.operands[1], k);
    if (p.conjugate_a) a = TransposeOf(AdjointOf(a));
    // x op(a) = b is op(a)^T x^T = b^T.
    const bool transpose = p.transpose_a == p.left_side;
    if (transpose) a = TransposeOf(a);
    if (!p.left_side) b = TransposeOf(b);
    WideMatrix x = Substituted(a, std::move(b), p.lower != transpose, p.unit_diagonal);
    reference::SetMatrix(*call.results[0], k, p.left_side ? x : TransposeOf(x));
  }
}

// d(op(a)^-1 b) = -op(a)^-1 op(da) x.
ValueId TriangularSolveTangent(const ir::DiffCall& c, ValueId tangent) {
  const auto& p = ir::As<TriangularSolveParams>(c.params.get());
  // An unreduced x is only multiplied by a reduced a.
  const bool is_partial = !c.result_types[0]->sharding().unreduced.empty();
  const auto value = [&](ValueId v) {
    return is_partial ? X(c.builder, v) : WithoutReduced(c.builder, v);
  };
  const X x = value(c.results[0]), a = value(c.operands[0]);
  const int64_t k = p.unit_diagonal ? 1 : 0;
  X da = p.lower ? Lower(value(tangent), -k) : Upper(value(tangent), k);
  if (p.transpose_a) da = Transposed(da);
  if (p.conjugate_a) da = Conjugated(da);
  return SolveTriangular(a, -(p.left_side ? MatMul(da, x) : MatMul(x, da)), p).id();
}

ValueId TriangularSolveTranspose(const ir::DiffCall& c, ValueId cotangent, size_t) {
  TriangularSolveParams p = ir::As<TriangularSolveParams>(c.params.get());
  p.transpose_a = !p.transpose_a;
  return c.builder.Emit(c.op, ir::MakeParams(p), {c.operands[0], cotangent});
}

// ---- lu -----------------------------------------------------------------------------------------

std::vector<ShapeAndDType> LuType(const TypeCall& c) {
  CheckMatrices(c, 1);
  const Shape &a = c.operands[0]->shape(), batch = BatchOf(a);
  const int64_t m = a[a.size() - 2], n = a.back();
  return {{a, c.operands[0]->dtype()},
          {WithMatrix(batch, {std::min(m, n)}), i32},
          {WithMatrix(batch, {m}), i32}};
}
DimMap LuDims(const ir::DimsCall& c) {
  const auto [m, n] = SizeOfMatrix(c);
  return MatrixMap(c, {2}, {2, 1, 1}, kernels::LuFlops(m, n));
}
void MakeLu(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::Lu(c.operands[0].dtype, c.operands[0].shape);
}

// As LAPACK: the sum of the parts is the size of a complex number.
long double PivotSize(LongComplex z) { return std::fabs(z.real()) + std::fabs(z.imag()); }

// Eliminates with the largest element of the rest of each column as pivot.
void LuReference(const ir::ReferenceCall& call) {
  for (int64_t k = 0; k < reference::MatrixCount(*call.operands[0]); ++k) {
    WideMatrix a = reference::MatrixAt(*call.operands[0], k);
    const int64_t steps = std::min(a.rows, a.cols);
    std::vector<int64_t> permutation(static_cast<size_t>(a.rows));
    std::iota(permutation.begin(), permutation.end(), int64_t{0});
    for (int64_t p = 0; p < steps; ++p) {
      int64_t pivot = p;
      for (int64_t r = p; r < a.rows; ++r)
        if (PivotSize(a(r, p)) > PivotSize(a(pivot, p))) pivot = r;
      for (int64_t c = 0; c < a.cols; ++c) std::swap(a(p, c), a(pivot, c));
      std::swap(permutation[static_cast<size_t>(p)], permutation[static_cast<size_t>(pivot)]);
      call.results[1]->SetInt(k * steps + p, pivot);
      for (int64_t r = p + 1; r < a.rows && a(p, p) != LongComplex(0); ++r) {
        a(r, p) /= a(p, p);
        for (int64_t c = p + 1; c < a.cols; ++c) a(r, c) -= a(r, p) * a(p, c);
      }
    }
    reference::SetMatrix(*call.results[0], k, a);
    for (int64_t r = 0; r < a.rows; ++r)
      call.results[2]->SetInt(k * a.rows + r, permutation[static_cast<size_t>(r)]);
  }
}

// Returns x with zeros after its rows, or after its columns, so that it is square.
enum class Added { kRows, kColumns };
X Squared(X x, Added added) {
  const int64_t rows = RowsOf(x), columns = ColumnsOf(x);
  if (rows == columns) return x;
  const size_t rank = x.type()->shape().size(), dim = added == Added::kRows ? rank - 2 : rank - 1;
  return {x.builder(), x.builder().Emit(kPad, PadAlong(rank, dim, 0, std::abs(rows - columns)),
                                        {x.id(), x.Number(0).id()})};
}

// From l u = a[permutation] follows l^-1 dl + du u^-1 = l^-1 da[permutation] u^-1. The first term
// is strictly lower triangular, the second is upper triangular.
std::vector<ValueId> LuJvp(const ir::DiffCall& c, absl::Span<const ValueId> tangents,
                           std::vector<ValueId>& results) {
  const X lu = WithoutReduced(c.builder, results[0]);
  const X da =
      PermutedRows(WithoutReduced(c.builder, tangents[0]), WithoutReduced(c.builder, results[2]));
  const int64_t k = std::min(RowsOf(lu), ColumnsOf(lu));
  // Both factors are made square with rows and columns of the identity.
  X l = Squared(Lower(ColumnSlice(lu, 0, k), -1), Added::kColumns);
  X u = Squared(Upper(RowSlice(lu, 0, k)), Added::kRows);
  l = l + IdentityFor(l);
  if (k < ColumnsOf(lu)) u = u + IdentityFrom(u, k);
  const X left = SolveTriangular(l, da, {.left_side = true, .lower = true, .unit_diagonal = true});
  const X both = SolveTriangular(u, left, {});
  const X dl = MatMul(l, Lower(both, -1)), du = MatMul(Upper(both), u);
  return {(dl + du).id(), ir::kNoValue, ir::kNoValue};
}

}  // namespace

constexpr OpDef kCholesky{.name = "cholesky",
                          .doc = "The lower triangular l with l l^H = a, for definite matrices.",
                          .type = ir::TypeFn{CholeskyType},
                          .dims = ir::DimMapFn{CholeskyDims},
                          .lowering = ir::AsKernel{MakeCholesky},
                          .reference = ir::ReferenceFn{CholeskyReference},
                          .diff = ir::Derivative{.of = {CholeskyTangent}},
                          .flops_per_point = 1,
                          .operand_names = {"a", "", ""}};
constexpr OpDef kTriangularSolve{
    .name = "triangular_solve",
    .doc = "The solution of systems with triangular matrices.",
    .type = ir::TypeFn{TriangularSolveType},
    .dims = ir::DimMapFn{TriangularSolveDims},
    .lowering = ir::AsKernel{MakeTriangularSolve},
    .reference = ir::ReferenceFn{TriangularSolveReference},
    .diff = ir::Derivative{.of = {TriangularSolveTangent}, .transpose = TriangularSolveTranspose},
    .params = ir::KindOf<TriangularSolveParams>(),
    .flops_per_point = 1,
    .operand_names = {"a", "b", ""}};
constexpr OpDef kLu{.name = "lu",
                    .doc = "Triangular l and u with l u = a[permutation].",
                    .type = ir::TypeFn{LuType},
                    .dims = ir::DimMapFn{LuDims},
                    .lowering = ir::AsKernel{MakeLu},
                    .reference = ir::ReferenceFn{LuReference},
                    .diff = ir::Structural{LuJvp},
                    .flops_per_point = 1,
                    .operand_names = {"a", "", ""}};

Records FactorisationOps() {
  static constexpr const OpDef* kOps[] = {&kCholesky, &kTriangularSolve, &kLu};
  return kOps;
}

}  // namespace tessera::ops
