// Unitary similarity: Schur form, and reductions to Hessenberg and tridiagonal form.
#include <algorithm>
#include <cmath>

#include "base/dtype.h"
#include "kernels/solve/matrices.h"
#include "ops/matrices.h"
#include "ops/ops.h"
#include "ops/reference_matrices.h"

namespace tessera::ops {
namespace {

using reference::Embedded;
using reference::LongComplex;
using reference::Reflector;
using reference::SchurForm;
using reference::UnitaryFactor;
using reference::WideMatrix;
using sharding::DimMap;

// ---- schur --------------------------------------------------------------------------------------

std::vector<ShapeAndDType> SchurType(const TypeCall& c) {
  CheckMatrices(c, 1);
  CheckSquare(c);
  const ShapeAndDType form{c.operands[0]->shape(), c.operands[0]->dtype()};
  if (!ir::As<VectorsParams>(c.params).vectors) return {form};
  return {form, form};
}
DimMap SchurDims(const ir::DimsCall& c) {
  return MatrixMap(c, {2}, std::vector<size_t>(c.results.size(), 2),
                   kernels::SchurFlops(SizeOfMatrix(c).n, ir::As<VectorsParams>(c.params).vectors));
}
void MakeSchur(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::Schur(c.operands[0].dtype, c.operands[0].shape,
                        ir::As<VectorsParams>(c.params).vectors);
}

// A step of the double-shift QR iteration on the leading block [n, n].
void ShiftedStep(SchurForm& out, int64_t n, int step) {
  WideMatrix block(n, n);
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c < n; ++c) block(r, c) = out.form(r, c);
  LongComplex trace = block(n - 1, n - 1) + block(n - 2, n - 2);
  LongComplex det =
      block(n - 1, n - 1) * block(n - 2, n - 2) - block(n - 1, n - 2) * block(n - 2, n - 1);
  if (step % 10 == 9) trace *= 1.5L, det += block(n - 1, n - 2);  // leaves a cycle
  WideMatrix shifted = Product(block, block);
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t c = 0; c < n; ++c) shifted(r, c) -= trace * block(r, c);
    shifted(r, r) += det;
  }
  out.Rotate(Embedded(UnitaryFactor(std::move(shifted)), 0, out.form.rows));
}

// Makes a block of two real eigenvalues at `begin` upper triangular.
void SplitBlock(SchurForm& out, int64_t begin) {
  const auto at = [&](int64_t r, int64_t c) { return out.form(begin + r, begin + c).real(); };
  const long double a = at(0, 0), b = at(0, 1), c = at(1, 0), d = at(1, 1);
  const long double half = (a - d) / 2, discriminant = half * half + b * c;
  if (discriminant < 0 || c == 0) return;
  const long double value = (a + d) / 2 + std::copysign(std::sqrt(discriminant), half);
  WideMatrix vector(2, 2);  // its first column is an eigenvector
  vector(0, 0) = value - d;
  vector(1, 0) = c;
  vector(1, 1) = 1;
  out.Rotate(Embedded(UnitaryFactor(std::move(vector)), begin, out.form.rows));
  out.form(begin + 1, begin) = 0;
}

SchurForm RealSchurOf(const WideMatrix& a) {
  SchurForm out{a, reference::Identity(a.rows)};
  constexpr long double kSmall = 1e-18L;
  // The rows before `n` are not reduced yet. Eigenvalues split off at the end, one or two at a
  // time.
  int64_t n = a.rows;
  for (int step = 0; n > 2 && step < 1000; ++step) {
    const auto row_is_small = [&](int64_t r) {
      for (int64_t c = 0; c < r; ++c)
        if (std::abs(out.form(r, c)) > kSmall * std::abs(out.form(r, r)) + 1e-300L) return false;
      return true;
    };
    const auto clear = [&](int64_t first) {
      for (int64_t r = first; r < n; ++r)
        for (int64_t c = 0; c < first; ++c) out.form(r, c) = 0;
    };
    bool pair = true;
    for (int64_t r = n - 2; r < n; ++r)
      for (int64_t c = 0; c < n - 2; ++c)
        pair = pair && std::abs(out.form(r, c)) <= kSmall * (std::abs(out.form(r, r)) + 1);
    if (row_is_small(n - 1)) {
      clear(n - 1);
      n -= 1;
    } else if (pair) {
      clear(n - 2);
      SplitBlock(out, n - 2);
      n -= 2;
    } else {
      ShiftedStep(out, n, step);
    }
  }
  if (n == 2) SplitBlock(out, 0);
  return out;
}

void SchurReference(const ir::ReferenceCall& call) {
  for (int64_t i = 0; i < reference::MatrixCount(*call.operands[0]); ++i) {
    const WideMatrix a = reference::MatrixAt(*call.operands[0], i);
    const SchurForm made =
        call.operands[0]->dtype.is_complex() ? reference::ComplexSchurOf(a) : RealSchurOf(a);
    reference::SetMatrix(*call.results[0], i, made.form);
    if (call.results.size() > 1) reference::SetMatrix(*call.results[1], i, made.vectors);
  }
}

// ---- hessenberg ---------------------------------------------------------------------------------

// C20: refuses empty matrices, which have no n - 1 reflectors.
void CheckNotEmpty(const TypeCall& c) {
  if (c.operands[0]->shape().back() == 0) c.FailShape(20, "a is 0 x 0; it must not be empty");
}

std::vector<ShapeAndDType> HessenbergType(const TypeCall& c) {
  CheckMatrices(c, 1);
  CheckSquare(c);
  CheckNotEmpty(c);
  const Shape& a = c.operands[0]->shape();
  const DType t = c.operands[0]->dtype();
  return {{a, t}, {WithMatrix(BatchOf(a), {a.back() - 1}), t}};
}
DimMap HessenbergDims(const ir::DimsCall& c) {
  return MatrixMap(c, {2}, {2, 1}, kernels::HessenbergFlops(SizeOfMatrix(c).n));
}
void MakeHessenberg(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::Hessenberg(c.operands[0].dtype, c.operands[0].shape);
}

void HessenbergReference(const ir::ReferenceCall& call) {
  for (int64_t i = 0; i < reference::MatrixCount(*call.operands[0]); ++i) {
    WideMatrix a = reference::MatrixAt(*call.operands[0], i), reflectors(a.rows, a.cols);
    WideMatrix taus(1, a.rows - 1);
    for (int64_t k = 0; k + 1 < a.rows; ++k) {
      const Reflector reflector(a, k, k + 1);
      reflector.ApplyAdjointLeft(a);
      reflector.ApplyRight(a);
      taus(0, k) = reflector.tau;
      for (int64_t r = k + 2; r < a.rows; ++r)
        reflectors(r, k) = reflector.v[static_cast<size_t>(r)];
    }
    for (int64_t c = 0; c < a.cols; ++c)
      for (int64_t r = c + 2; r < a.rows; ++r) a(r, c) = reflectors(r, c);
    reference::SetMatrix(*call.results[0], i, a);
    reference::SetMatrix(*call.results[1], i, taus);
  }
}

// ---- tridiagonal --------------------------------------------------------------------------------

std::vector<ShapeAndDType> TridiagonalType(const TypeCall& c) {
  CheckMatrices(c, 1);
  CheckSquare(c);
  CheckNotEmpty(c);
  const Shape &a = c.operands[0]->shape(), batch = BatchOf(a);
  const DType t = c.operands[0]->dtype(), part = base::PartOf(t);
  const Shape beside = WithMatrix(batch, {a.back() - 1});
  return {{a, t}, {WithMatrix(batch, {a.back()}), part}, {beside, part}, {beside, t}};
}
DimMap TridiagonalDims(const ir::DimsCall& c) {
  return MatrixMap(c, {2}, {2, 1, 1, 1}, kernels::TridiagonalFlops(SizeOfMatrix(c).n));
}
void MakeTridiagonal(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::Tridiagonal(c.operands[0].dtype, c.operands[0].shape,
                              ir::As<TridiagonalParams>(c.params).lower);
}

// Reverses the order of rows and columns.
WideMatrix Turned(const WideMatrix& a) {
  WideMatrix out(a.rows, a.cols);
  for (int64_t r = 0; r < a.rows; ++r)
    for (int64_t c = 0; c < a.cols; ++c) out(a.rows - 1 - r, a.cols - 1 - c) = a(r, c);
  return out;
}

struct TridiagonalForm {
  WideMatrix packed, diagonal, beside, taus;
};
// Reduces from the first column on, by the lower triangle.
TridiagonalForm TridiagonalOf(const WideMatrix& a) {
  const int64_t n = a.rows;
  WideMatrix full = a;
  for (int64_t r = 0; r < n; ++r) full(r, r) = full(r, r).real();
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = r + 1; c < n; ++c) full(r, c) = std::conj(full(c, r));
  TridiagonalForm out{a, WideMatrix(1, n), WideMatrix(1, n - 1), WideMatrix(1, n - 1)};
  for (int64_t k = 0; k + 1 < n; ++k) {
    const Reflector reflector(full, k, k + 1);
    reflector.ApplyAdjointLeft(full);
    reflector.ApplyRight(full);
    out.taus(0, k) = reflector.tau;
    for (int64_t r = k + 2; r < n; ++r) out.packed(r, k) = reflector.v[static_cast<size_t>(r)];
    out.packed(k + 1, k) = out.beside(0, k) = full(k + 1, k);
  }
  for (int64_t k = 0; k < n; ++k) out.packed(k, k) = out.diagonal(0, k) = full(k, k);
  return out;
}

void TridiagonalReference(const ir::ReferenceCall& call) {
  const bool lower = ir::As<TridiagonalParams>(call.params).lower;
  for (int64_t i = 0; i < reference::MatrixCount(*call.operands[0]); ++i) {
    const WideMatrix a = reference::MatrixAt(*call.operands[0], i);
    // By the upper triangle LAPACK reduces from the last column on.
    TridiagonalForm form = TridiagonalOf(lower ? a : Turned(a));
    if (!lower)
      for (WideMatrix* m : {&form.packed, &form.diagonal, &form.beside, &form.taus})
        *m = Turned(*m);
    reference::SetMatrix(*call.results[0], i, form.packed);
    reference::SetMatrix(*call.results[1], i, form.diagonal);
    reference::SetMatrix(*call.results[2], i, form.beside);
    reference::SetMatrix(*call.results[3], i, form.taus);
  }
}

}  // namespace

constexpr OpDef kSchur{
    .name = "schur",
    .doc =
        "Upper triangular t and unitary z with z t z^H = a; t of real matrices has 2 x 2 blocks.",
    .type = ir::TypeFn{SchurType},
    .dims = ir::DimMapFn{SchurDims},
    .lowering = ir::AsKernel{MakeSchur},
    .reference = ir::ReferenceFn{SchurReference},
    .diff = ir::NotDifferentiable{"its factors are not unique"},
    .params = ir::KindOf<VectorsParams>(),
    .flops_per_point = 1,
    .operand_names = {"a", "", ""}};
constexpr OpDef kHessenberg{
    .name = "hessenberg",
    .doc = "The reduction of matrices to Hessenberg form, with its reflectors.",
    .type = ir::TypeFn{HessenbergType},
    .dims = ir::DimMapFn{HessenbergDims},
    .lowering = ir::AsKernel{MakeHessenberg},
    .reference = ir::ReferenceFn{HessenbergReference},
    .diff = ir::NotDifferentiable{"it is a step of other functions"},
    .flops_per_point = 1,
    .operand_names = {"a", "", ""}};
constexpr OpDef kTridiagonal{
    .name = "tridiagonal",
    .doc = "The reduction of Hermitian matrices to tridiagonal form, with its reflectors.",
    .type = ir::TypeFn{TridiagonalType},
    .dims = ir::DimMapFn{TridiagonalDims},
    .lowering = ir::AsKernel{MakeTridiagonal},
    .reference = ir::ReferenceFn{TridiagonalReference},
    .diff = ir::NotDifferentiable{"it is a step of other functions; differentiate eigh"},
    .params = ir::KindOf<TridiagonalParams>(),
    .flops_per_point = 1,
    .operand_names = {"a", "", ""}};

Records SimilarityOps() {
  static constexpr const OpDef* kOps[] = {&kSchur, &kHessenberg, &kTridiagonal};
  return kOps;
}

}  // namespace tessera::ops
