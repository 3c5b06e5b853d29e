// Eigenvalues and singular values.
#include <algorithm>
#include <cmath>

#include "base/dtype.h"
#include "base/error.h"
#include "kernels/solve/matrices.h"
#include "ops/matrices.h"
#include "ops/ops.h"
#include "ops/reference_matrices.h"

namespace tessera::ops {
namespace {

using ir::ValueId;
using reference::LongComplex;
using reference::WideMatrix;
using sharding::DimMap;

// ---- eigh ---------------------------------------------------------------------------------------

std::vector<ShapeAndDType> EighType(const TypeCall& c) {
  CheckMatrices(c, 1);
  CheckSquare(c);
  const Shape& a = c.operands[0]->shape();
  const DType t = c.operands[0]->dtype();
  const ShapeAndDType values{WithMatrix(BatchOf(a), {a.back()}), base::PartOf(t)};
  if (!ir::As<VectorsParams>(c.params).vectors) return {values};
  return {{a, t}, values};
}
DimMap SpectrumDims(const ir::DimsCall& c, double (*flops)(double n, bool vectors)) {
  const bool vectors = ir::As<VectorsParams>(c.params).vectors;
  const double of_one = flops(SizeOfMatrix(c).n, vectors);
  return vectors ? MatrixMap(c, {2}, {2, 1}, of_one) : MatrixMap(c, {2}, {1}, of_one);
}
DimMap EighDims(const ir::DimsCall& c) { return SpectrumDims(c, kernels::EighFlops); }
DimMap EigDims(const ir::DimsCall& c) { return SpectrumDims(c, kernels::EigFlops); }
void MakeEigh(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::Eigh(c.operands[0].dtype, c.operands[0].shape,
                       ir::As<VectorsParams>(c.params).vectors);
}

WideMatrix Hermitian(WideMatrix a) {
  for (int64_t r = 0; r < a.rows; ++r) {
    a(r, r) = a(r, r).real();
    for (int64_t c = r + 1; c < a.cols; ++c) a(r, c) = std::conj(a(c, r));
  }
  return a;
}

void EighReference(const ir::ReferenceCall& call) {
  for (int64_t i = 0; i < reference::MatrixCount(*call.operands[0]); ++i) {
    const auto spectrum =
        reference::SpectrumOf(Hermitian(reference::MatrixAt(*call.operands[0], i)));
    const auto n = static_cast<int64_t>(spectrum.values.size());
    for (int64_t k = 0; k < n; ++k)
      call.results.back()->SetFloat(i * n + k, spectrum.values[static_cast<size_t>(k)]);
    if (call.results.size() > 1) reference::SetMatrix(*call.results[0], i, spectrum.vectors);
  }
}

// Returns 1 / (w_j - w_i) in row i and column j, with zeros on the diagonal.
X Reciprocals(X differences) {
  const X identity = IdentityFor(differences);
  return 1 / (differences + identity) - identity;
}

// For distinct eigenvalues: dw is the diagonal of v^H da v, and dv = v (f * (v^H da v)), where
// f_ij = 1 / (w_j - w_i) (Giles, https://people.maths.ox.ac.uk/gilesm/files/NA-08-01.pdf).
std::vector<ValueId> EighJvp(const ir::DiffCall& c, absl::Span<const ValueId> tangents,
                             std::vector<ValueId>& results) {
  const bool vectors = results.size() > 1;
  if (!vectors) {
    const ir::Type* values = c.result_types[0];
    const int64_t n = values->shape().back();
    const ir::Type* vectors_type =
        TypeBeside(values, 1, {n, n})->WithDType(c.operand_types[0]->dtype());
    const ir::Type* types[] = {vectors_type, values};
    const auto both =
        c.builder.EmitTyped(kEigh, ir::MakeParams(VectorsParams{true}), {c.operands[0]}, types);
    results = {both[1]};
    const X v = WithoutReduced(c.builder, both[0]),
            da = MirroredLower(WithoutReduced(c.builder, tangents[0]));
    // The diagonal of v^H da v, without the rest of the product.
    return {RealOf(ColumnSums(Conjugated(v) * MatMul(da, v))).id()};
  }
  const X v = WithoutReduced(c.builder, results[0]), w = WithoutReduced(c.builder, results[1]);
  const X da = MirroredLower(WithoutReduced(c.builder, tangents[0]));
  const X rotated = MatMul(MatMul(Adjoint(v), da), v);
  const X dv = MatMul(v, InDTypeOf(Reciprocals(AsRow(w) - AsColumn(w)), v) * rotated);
  return {dv.id(), RealOf(DiagonalOf(rotated)).id()};
}

// ---- eig ----------------------------------------------------------------------------------------

std::vector<ShapeAndDType> EigType(const TypeCall& c) {
  CheckMatrices(c, 1);
  CheckSquare(c);
  const Shape& a = c.operands[0]->shape();
  const DType t = base::ComplexOf(base::PartOf(c.operands[0]->dtype()));
  const ShapeAndDType values{WithMatrix(BatchOf(a), {a.back()}), t};
  if (!ir::As<VectorsParams>(c.params).vectors) return {values};
  return {{a, t}, values};
}
void MakeEig(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::Eig(c.operands[0].dtype, c.operands[0].shape,
                      ir::As<VectorsParams>(c.params).vectors);
}

// Returns the eigenvectors of an upper triangular matrix, by substitution.
WideMatrix VectorsOfTriangular(const WideMatrix& t) {
  WideMatrix x(t.rows, t.rows);
  for (int64_t k = 0; k < t.rows; ++k) {
    x(k, k) = 1;
    for (int64_t i = k - 1; i >= 0; --i) {
      for (int64_t j = i + 1; j <= k; ++j) x(i, k) -= t(i, j) * x(j, k);
      x(i, k) /= t(i, i) - t(k, k);
    }
  }
  return x;
}

// Gives each column the norm 1, and makes its largest element real.
void Normalise(WideMatrix& v) {
  for (int64_t k = 0; k < v.cols; ++k) {
    long double sum = 0;
    LongComplex largest = 0;
    for (int64_t r = 0; r < v.rows; ++r) {
      sum += std::norm(v(r, k));
      if (std::abs(v(r, k)) > std::abs(largest)) largest = v(r, k);
    }
    const LongComplex by = std::conj(largest) / std::abs(largest) / std::sqrt(sum);
    for (int64_t r = 0; r < v.rows; ++r) v(r, k) *= by;
  }
}

void EigReference(const ir::ReferenceCall& call) {
  for (int64_t i = 0; i < reference::MatrixCount(*call.operands[0]); ++i) {
    const WideMatrix a = reference::MatrixAt(*call.operands[0], i);
    const reference::SchurForm schur = reference::ComplexSchurOf(a);
    for (int64_t k = 0; k < a.rows; ++k)
      call.results.back()->SetComplex(i * a.rows + k, schur.form(k, k));
    if (call.results.size() == 1) continue;
    WideMatrix vectors = Product(schur.vectors, VectorsOfTriangular(schur.form));
    Normalise(vectors);
    reference::SetMatrix(*call.results[0], i, vectors);
  }
}

// Returns the first index of the largest element of each column.
X LargestRows(X x) {
  const ShapeAndDType wanted{{}, i32};
  const int64_t rows = x.type()->rank() - 2;
  return {x.builder(), x.builder().Emit(kArgmax, ir::MakeParams(DimParams{{rows}}), {x.id()},
                                        {.wanted = &wanted})};
}

// For distinct eigenvalues, with p = v^-1 da v: dw is the diagonal of p, and dv = u + c v, where u
// = v (f * p) as for eigh. The factor c of each column keeps its norm, and its largest element
// real.
std::vector<ValueId> EigJvp(const ir::DiffCall& c, absl::Span<const ValueId> tangents,
                            std::vector<ValueId>& results) {
  const bool vectors = results.size() > 1;
  std::vector<ValueId> all = results;
  if (!vectors) {
    const ir::Type* values = c.result_types[0];
    const int64_t n = values->shape().back();
    const ir::Type* types[] = {TypeBeside(values, 1, {n, n}), values};
    const auto made =
        c.builder.EmitTyped(kEig, ir::MakeParams(VectorsParams{true}), {c.operands[0]}, types);
    all = {made.begin(), made.end()};
    results = {all[1]};
  }
  const X v = WithoutReduced(c.builder, all[0]), w = WithoutReduced(c.builder, all[1]);
  const X inner = SolveByLu(v, InDTypeOf(WithoutReduced(c.builder, tangents[0]), v));
  if (!vectors) return {ColumnSums(Transposed(inner) * v).id()};
  if (RowsOf(v) == 0) return {ZerosLike(v).id(), ZerosLike(w).id()};
  const X p = MatMul(inner, v);
  const X u = MatMul(v, Reciprocals(AsRow(w) - AsColumn(w)) * p);
  const X size = Abs(v), row = IndexAlong(v, v.type()->rank() - 2);
  const X largest = Where(Equal(row, AsRow(LargestRows(size))), size.Number(1), size.Number(0));
  const X factor = ComplexOf(-ColumnSums(Real(v) * Real(u) + Imag(v) * Imag(u)),
                             -(ColumnSums(largest * Imag(u)) / ColumnSums(largest * Real(v))));
  return {(u + v * AsRow(factor)).id(), DiagonalOf(p).id()};
}

// ---- svd ----------------------------------------------------------------------------------------

std::vector<ShapeAndDType> SvdType(const TypeCall& c) {
  CheckMatrices(c, 1);
  const auto& p = ir::As<SvdParams>(c.params);
  const Shape &a = c.operands[0]->shape(), batch = BatchOf(a);
  const DType t = c.operands[0]->dtype();
  const int64_t m = a[a.size() - 2], n = a.back(), k = std::min(m, n);
  const ShapeAndDType values{WithMatrix(batch, {k}), base::PartOf(t)};
  if (!p.compute_uv) return {values};
  return {{WithMatrix(batch, {m, p.full_matrices ? m : k}), t},
          values,
          {WithMatrix(batch, {p.full_matrices ? n : k, n}), t}};
}
kernels::SingularVectors SingularVectorsOf(const ir::Params* params) {
  const auto& p = ir::As<SvdParams>(params);
  return !p.compute_uv     ? kernels::SingularVectors::kNone
         : p.full_matrices ? kernels::SingularVectors::kFull
                           : kernels::SingularVectors::kReduced;
}
DimMap SvdDims(const ir::DimsCall& c) {
  const auto [m, n] = SizeOfMatrix(c);
  const double flops = kernels::SvdFlops(m, n, SingularVectorsOf(c.params));
  return c.results.size() == 1 ? MatrixMap(c, {2}, {1}, flops)
                               : MatrixMap(c, {2}, {2, 1, 2}, flops);
}
void MakeSvd(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::Svd(c.operands[0].dtype, c.operands[0].shape, SingularVectorsOf(c.params));
}

// Appends columns to the orthonormal ones of m [rows, k], up to `columns`.
WideMatrix Completed(const WideMatrix& m, int64_t k, int64_t columns) {
  WideMatrix out(m.rows, columns);
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t c = 0; c < k; ++c) out(r, c) = m(r, c);
  for (int64_t c = k, axis = 0; c < columns; ++axis) {
    std::vector<LongComplex> rest(static_cast<size_t>(m.rows));
    rest[static_cast<size_t>(axis)] = 1;
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t j = 0; j < c; ++j) {
        LongComplex dot = 0;
        for (int64_t r = 0; r < m.rows; ++r)
          dot += std::conj(out(r, j)) * rest[static_cast<size_t>(r)];
        for (int64_t r = 0; r < m.rows; ++r) rest[static_cast<size_t>(r)] -= dot * out(r, j);
      }
    long double norm = 0;
    for (const LongComplex& x : rest) norm += std::norm(x);
    if (norm < 1e-6L) continue;  // the axis is in the span of the columns
    for (int64_t r = 0; r < m.rows; ++r) out(r, c) = rest[static_cast<size_t>(r)] / std::sqrt(norm);
    ++c;
  }
  return out;
}

// The eigenvectors of a^H a are the right singular vectors v, and u = a v / s.
void SvdReference(const ir::ReferenceCall& call) {
  for (int64_t i = 0; i < reference::MatrixCount(*call.operands[0]); ++i) {
    const WideMatrix a = reference::MatrixAt(*call.operands[0], i);
    const bool wide = a.rows < a.cols;
    const WideMatrix tall = wide ? AdjointOf(a) : a;
    const auto spectrum = reference::SpectrumOf(Product(AdjointOf(tall), tall));
    const int64_t n = tall.cols;
    WideMatrix u(tall.rows, n), v(n, n);
    for (int64_t k = 0; k < n; ++k) {
      const int64_t from = n - 1 - k;
      const long double s = std::sqrt(std::max(0.0L, spectrum.values[static_cast<size_t>(from)]));
      (call.results.size() > 1 ? call.results[1] : call.results[0])->SetFloat(i * n + k, s);
      for (int64_t r = 0; r < n; ++r) v(r, k) = spectrum.vectors(r, from);
      for (int64_t r = 0; r < tall.rows; ++r)
        for (int64_t m = 0; m < n; ++m) u(r, k) += tall(r, m) * v(m, k) / s;
    }
    if (call.results.size() == 1) continue;
    const bool full = ir::As<SvdParams>(call.params).full_matrices;
    const WideMatrix all = Completed(u, n, full ? tall.rows : n);
    reference::SetMatrix(*call.results[0], i, wide ? v : all);
    reference::SetMatrix(*call.results[2], i, AdjointOf(wide ? all : v));
  }
}

// C22: full matrices have no derivative unless a is square.
[[noreturn]] void FailFull(const ir::DiffCall& c) {
  base::ThrowTrace(base::Refusal(
      "svd", 22, base::Where(c.builder.loc()),
      "singular vectors of full_matrices have no derivative: those beyond the smaller dim of a are "
      "not unique",
      {"set .full_matrices = false"}));
}

// For distinct singular values, with ds = u^H da v and f_ij = 1 / (s_j^2 - s_i^2) (Giles, as for
// eigh): du = u (f * (ds s + s ds^H)), and dv likewise. In the larger dim, du has a part outside
// the span of u. The imaginary diagonal of ds turns the columns of u.
std::vector<ValueId> SvdJvp(const ir::DiffCall& c, absl::Span<const ValueId> tangents,
                            std::vector<ValueId>& results) {
  const Shape& a = c.operand_types[0]->shape();
  const int64_t m = a[a.size() - 2], n = a.back(), k = std::min(m, n);
  const bool vectors = results.size() > 1;
  if (vectors && m != n && ir::As<SvdParams>(c.params.get()).full_matrices) FailFull(c);
  const X da = WithoutReduced(c.builder, tangents[0]);
  std::vector<ValueId> all = results;
  if (!vectors) {
    const ir::Type* s = c.result_types[0];
    const DType t = c.operand_types[0]->dtype();
    const ir::Type* types[] = {TypeBeside(s, 1, {m, k})->WithDType(t), s,
                               TypeBeside(s, 1, {k, n})->WithDType(t)};
    const auto made =
        c.builder.EmitTyped(kSvd, ir::MakeParams(SvdParams{}), {c.operands[0]}, types);
    all = {made.begin(), made.end()};
    results = {all[1]};
  }
  const X u = WithoutReduced(c.builder, all[0]), s = WithoutReduced(c.builder, all[1]),
          vt = WithoutReduced(c.builder, all[2]);
  const X v = Adjoint(vt);
  if (!vectors) return {RealOf(ColumnSums(Conjugated(u) * MatMul(da, v))).id()};
  const X rotated = MatMul(MatMul(Adjoint(u), da), v), row = AsRow(s), column = AsColumn(s);
  const X f = InDTypeOf(Reciprocals((row + column) * (row - column)), u);
  const X right = InDTypeOf(row, u) * rotated, left = InDTypeOf(column, u) * rotated;
  // s is at least 0. Where it is 0, the reciprocal counts as 0.
  const X zero = Apply(ScalarOp::kEq, {row, row.Number(0)});
  const X inverse = InDTypeOf(Where(zero, row.Number(0), 1 / Where(zero, row.Number(1), row)), u);
  X turned = f * (right + Adjoint(right));
  if (IsComplex(u))
    turned = turned + IdentityFor(turned) * ((rotated - Adjoint(rotated)) * inverse * 0.5);
  X du = MatMul(u, turned);
  X dv = MatMul(v, f * (left + Adjoint(left)));
  if (m > n) {
    const X moved = MatMul(da, v);
    du = du + (moved - MatMul(u, MatMul(Adjoint(u), moved))) * inverse;
  }
  if (n > m) {
    const X moved = MatMul(Adjoint(da), u);
    dv = dv + (moved - MatMul(v, MatMul(vt, moved))) * inverse;
  }
  return {du.id(), RealOf(DiagonalOf(rotated)).id(), Adjoint(dv).id()};
}

}  // namespace

constexpr OpDef kEigh{.name = "eigh",
                      .doc = "Eigenvectors and eigenvalues of Hermitian matrices, ascending.",
                      .type = ir::TypeFn{EighType},
                      .dims = ir::DimMapFn{EighDims},
                      .lowering = ir::AsKernel{MakeEigh},
                      .reference = ir::ReferenceFn{EighReference},
                      .diff = ir::Structural{EighJvp},
                      .params = ir::KindOf<VectorsParams>(),
                      .flops_per_point = 1,
                      .operand_names = {"a", "", ""}};
constexpr OpDef kEig{.name = "eig",
                     .doc = "Eigenvectors and eigenvalues of square matrices, complex.",
                     .type = ir::TypeFn{EigType},
                     .dims = ir::DimMapFn{EigDims},
                     .lowering = ir::AsKernel{MakeEig},
                     .reference = ir::ReferenceFn{EigReference},
                     .diff = ir::Structural{EigJvp},
                     .params = ir::KindOf<VectorsParams>(),
                     .flops_per_point = 1,
                     .operand_names = {"a", "", ""}};
constexpr OpDef kSvd{.name = "svd",
                     .doc = "Singular vectors and singular values, descending: a = u s vt.",
                     .type = ir::TypeFn{SvdType},
                     .dims = ir::DimMapFn{SvdDims},
                     .lowering = ir::AsKernel{MakeSvd},
                     .reference = ir::ReferenceFn{SvdReference},
                     .diff = ir::Structural{SvdJvp},
                     .params = ir::KindOf<SvdParams>(),
                     .flops_per_point = 1,
                     .operand_names = {"a", "", ""}};

Records SpectrumOps() {
  static constexpr const OpDef* kOps[] = {&kEigh, &kEig, &kSvd};
  return kOps;
}

}  // namespace tessera::ops
