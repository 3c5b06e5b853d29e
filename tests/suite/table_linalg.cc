// Sample table: factorisations of matrices, triangular systems, eigenvalues and singular values.
#include <cmath>

#include "ops/reference_matrices.h"
#include "suite/table.h"
#include "tessera/linalg.h"
#include "tessera/ops.h"

namespace tessera::suite {
namespace {

using namespace ops;
using base::Shape;
using ir::HostTensor;
using reference::LongComplex;
using reference::WideMatrix;
using Tensors = std::vector<HostTensor>;

// Matrices that suit every factorisation.
constexpr Fill kRegular{.lo = -0.5, .hi = 0.5, .diagonal = 3};

constexpr DType kDTypes[] = {f32, f64, c64, c128};
const Shape kSquares[] = {{8, 8}, {1, 1}, {0, 0}, {24, 24}, {4, 6, 6}, {0, 3, 3}, {7, 24, 2, 2}};
const Shape kMatrices[] = {{8, 8}, {12, 5},   {5, 12},   {1, 4},      {4, 1},
                           {0, 3}, {4, 6, 3}, {4, 3, 6}, {3, 2, 5, 4}};

constexpr Tolerance kClose{.eps = 200, .magnitude = 4};

Sample& AddMatrix(Table& table, const OpDef& op, ir::ParamsPtr params, DType dtype,
                  const Shape& shape) {
  Sample& s = Add(table, op, std::move(params), {{shape, dtype, kRegular}});
  s.forward = kClose;
  return s;
}

void AddFactorisations(Table& table) {
  for (DType dtype : kDTypes) {
    for (const Shape& shape : kSquares) AddMatrix(table, kCholesky, {}, dtype, shape);
    for (const Shape& shape : kMatrices) AddMatrix(table, kLu, {}, dtype, shape);
    for (int bits = 0; bits < 4; ++bits)
      for (const Shape& shape : kMatrices) {
        Sample& s = AddMatrix(
            table, kQr, ir::MakeParams(QrParams{(bits & 1) != 0, (bits & 2) != 0}), dtype, shape);
        // LAPACK reflects a complex number, but not a real one.
        if (shape[shape.size() - 2] == 1) s.operands[0].fill = Range(1, 3);
      }
  }
  for (DType dtype : kDTypes)
    for (bool pivoting : {false, true})
      for (const Shape& shape : kMatrices) {
        Sample& s =
            AddMatrix(table, kPackedQr, ir::MakeParams(PackedQrParams{pivoting}), dtype, shape);
        if (shape[shape.size() - 2] == 1) s.operands[0].fill = Range(1, 3);  // as for qr
      }
  for (DType dtype : {f32, c64}) {
    AddMatrix(table, kCholesky, {}, dtype, {4, 4, 4}).truth = true;
    AddMatrix(table, kLu, {}, dtype, {4, 4, 2}).truth = true;
    AddMatrix(table, kQr, ir::MakeParams(QrParams{}), dtype, {4, 4, 2}).truth = true;
  }
  AddMatrix(table, kQr, ir::MakeParams(QrParams{.pivoting = true}), f32, {4, 4, 2}).truth = true;
  AddMatrix(table, kPackedQr, ir::MakeParams(PackedQrParams{}), f32, {4, 4, 2}).truth = true;
}

void AddTriangular(Table& table) {
  const auto add = [&](DType dtype, const Shape& a, const Shape& b,
                       TriangularSolveParams p) -> Sample& {
    Sample& s = Add(table, kTriangularSolve, ir::MakeParams(p),
                    {{a, dtype, kRegular}, {b, dtype, Range(-4, 4)}});
    s.forward = kClose;
    s.sharded = kClose;  // columns are solved in groups
    return s;
  };
  for (int bits = 0; bits < 32; ++bits) {
    const TriangularSolveParams p{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                                  (bits & 16) != 0, (bits & 8) != 0};
    const bool first = bits % 3 == 0;
    const auto add_both = [&](DType one, DType other) {
      add(first ? one : other, {6, 6}, p.left_side ? Shape{6, 8} : Shape{8, 6}, p);
      add(first ? other : one, {4, 3, 3}, p.left_side ? Shape{4, 3, 1} : Shape{4, 1, 3}, p);
    };
    if (bits < 20) add_both(f64, f32);  // conjugates of real numbers too
    add_both(c128, c64);
  }
  const TriangularSolveParams left{.left_side = true, .lower = true};
  for (const auto& [a, b] : {std::pair<Shape, Shape>{{0, 0}, {0, 4}}, {{3, 3}, {3, 0}}})
    add(f32, a, b, left);
  add(f32, {4, 4, 4}, {4, 4, 4}, left).truth = true;
  add(c64, {4, 4, 4}, {4, 4, 4}, {.left_side = true, .transpose_a = true, .conjugate_a = true})
      .truth = true;
  add(f32, {4, 4}, {8, 4}, {.transpose_a = true}).truth = true;
}

void AddProducts(Table& table) {
  for (DType dtype : kDTypes)
    for (const auto& [a, taus] : {std::pair<Shape, Shape>{{8, 8}, {8}},
                                  {{8, 5}, {3}},
                                  {{4, 1}, {1}},
                                  {{3, 0}, {0}},
                                  {{4, 6, 3}, {4, 3}},
                                  {{4, 4, 2}, {4, 2}}}) {
      Sample& s = Add(table, kHouseholderProduct, {},
                      {{a, dtype, Range(-1, 1)}, {taus, dtype, Range(0, 1)}});
      s.forward = kClose;
      s.truth = (dtype == f32 || dtype == c64) && a == Shape{4, 4, 2};
    }
}

// Multiplies column k of a matrix by a number, or row k.
void ScaleColumn(WideMatrix& m, int64_t k, LongComplex by) {
  for (int64_t r = 0; r < m.rows; ++r) m(r, k) *= by;
}
void ScaleRow(WideMatrix& m, int64_t k, LongComplex by) {
  for (int64_t c = 0; c < m.cols; ++c) m(k, c) *= by;
}
// Returns the factor of size 1 between the columns k of `got` and `want`.
LongComplex PhaseOf(const WideMatrix& want, const WideMatrix& got, int64_t k) {
  LongComplex sum = 0;
  for (int64_t r = 0; r < want.rows; ++r) sum += std::conj(got(r, k)) * want(r, k);
  return sum == LongComplex(0) ? 1 : sum / std::abs(sum);
}

// An eigenvector may be multiplied by a number of size 1.
void AlignEigenvectors(const Tensors&, const Tensors& want, Tensors& got) {
  if (got.size() == 1) return;
  for (int64_t i = 0; i < reference::MatrixCount(want[0]); ++i) {
    const WideMatrix w = reference::MatrixAt(want[0], i);
    WideMatrix g = reference::MatrixAt(got[0], i);
    for (int64_t k = 0; k < w.cols; ++k) ScaleColumn(g, k, PhaseOf(w, g, k));
    reference::SetMatrix(got[0], i, g);
  }
}

bool IsIdentity(const WideMatrix& m, long double tolerance) {
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t c = 0; c < m.cols; ++c)
      if (!(std::abs(m(r, c) - LongComplex(r == c ? 1 : 0)) <= tolerance)) return false;
  return true;
}

// A pair of singular vectors may be multiplied by a number of size 1, and those beyond the smaller
// dim only have to be orthonormal.
void AlignSingularVectors(const Tensors&, const Tensors& want, Tensors& got) {
  if (got.size() == 1) return;
  const int64_t k = want[1].shape.back();
  for (int64_t i = 0; i < reference::MatrixCount(want[0]); ++i) {
    WideMatrix u = reference::MatrixAt(got[0], i), vt = reference::MatrixAt(got[2], i);
    const WideMatrix want_u = reference::MatrixAt(want[0], i),
                     want_vt = reference::MatrixAt(want[2], i);
    if (IsIdentity(Product(AdjointOf(u), u), 1e-4L))
      for (int64_t c = k; c < u.cols; ++c)
        for (int64_t r = 0; r < u.rows; ++r) u(r, c) = want_u(r, c);
    if (IsIdentity(Product(vt, AdjointOf(vt)), 1e-4L))
      for (int64_t r = k; r < vt.rows; ++r)
        for (int64_t c = 0; c < vt.cols; ++c) vt(r, c) = want_vt(r, c);
    for (int64_t c = 0; c < k; ++c) {
      const LongComplex phase = PhaseOf(want_u, u, c);
      ScaleColumn(u, c, phase);
      ScaleRow(vt, c, std::conj(phase));
    }
    reference::SetMatrix(got[0], i, u);
    reference::SetMatrix(got[2], i, vt);
  }
}

// Any unitary z and upper triangular t with z t z^H = a are correct. Of real matrices t has blocks.
void AlignSchur(const Tensors& operands, const Tensors& want, Tensors& got) {
  if (got.size() == 1) return;
  for (int64_t i = 0; i < reference::MatrixCount(want[0]); ++i) {
    const WideMatrix a = reference::MatrixAt(operands[0], i), t = reference::MatrixAt(got[0], i),
                     z = reference::MatrixAt(got[1], i);
    bool correct = IsIdentity(Product(AdjointOf(z), z), 1e-4L);
    const bool blocks = !want[0].dtype.is_complex();
    const LongComplex zero = 0;
    const WideMatrix made = Product(z, Product(t, AdjointOf(z)));
    for (int64_t r = 0; r < a.rows; ++r)
      for (int64_t c = 0; c < a.cols; ++c) {
        correct = correct && std::abs(made(r, c) - a(r, c)) <= 1e-3L;
        correct = correct && (c >= r - (blocks ? 1 : 0) || t(r, c) == zero);
        correct = correct && (r < 2 || c != r - 1 || t(r, c) == zero || t(r - 1, c - 1) == zero);
      }
    if (!correct) continue;
    reference::SetMatrix(got[0], i, reference::MatrixAt(want[0], i));
    reference::SetMatrix(got[1], i, reference::MatrixAt(want[1], i));
  }
}

// Eigenvalues may come in any order, with their vectors.
void AlignEig(const Tensors& operands, const Tensors& want, Tensors& got) {
  const int64_t n = want.back().shape.back();
  for (int64_t i = 0; i < reference::MatrixCount(operands[0]); ++i) {
    const WideMatrix a = reference::MatrixAt(operands[0], i),
                     values = reference::MatrixAt(got.back(), i, 1, n),
                     wanted = reference::MatrixAt(want.back(), i, 1, n);
    const WideMatrix vectors = got.size() == 1 ? WideMatrix(n, 0) : reference::MatrixAt(got[0], i);
    const WideMatrix moved = Product(a, vectors);
    std::vector<bool> used(static_cast<size_t>(n));
    bool correct = true;
    for (int64_t k = 0; k < n && correct; ++k) {
      int64_t from = 0;
      while (from < n && (used[static_cast<size_t>(from)] ||
                          !(std::abs(values(0, k) - wanted(0, from)) <= 1e-3L)))
        ++from;
      if (from < n) used[static_cast<size_t>(from)] = true;
      correct = from < n;
      if (vectors.cols == 0) continue;
      long double norm = 0;
      LongComplex largest = 0;
      for (int64_t r = 0; r < n; ++r) {
        const LongComplex z = vectors(r, k);
        norm += std::norm(z);
        if (std::abs(z) > std::abs(largest)) largest = z;
        correct = correct && std::abs(moved(r, k) - z * values(0, k)) <= 1e-3L;
      }
      correct = correct && std::fabs(norm - 1) <= 1e-4L && std::fabs(largest.imag()) <= 1e-4L;
    }
    if (!correct) continue;
    reference::SetMatrix(got.back(), i, wanted);
    if (vectors.cols > 0) reference::SetMatrix(got[0], i, reference::MatrixAt(want[0], i));
  }
}

// ---- results that do not depend on the choice of vectors ----

// Returns x diag(1, 2, ..) y^H.
Array Weighted(const Array& x, const Array& y) {
  const Array weights = arange(x.shape(-1), {.dtype = f64}) + 1.0;
  return matmul(x * weights, swapaxes(conj(y), -1, -2));
}
std::vector<Array> UniqueOfVectors(const std::vector<Array>& made) {
  if (made.size() == 1) return made;
  return {Weighted(made[0], made[0]), made[1]};
}
// The largest element of an eigenvector, which is real, may be as large as another one.
std::vector<Array> UniqueOfEig(const std::vector<Array>& made) {
  if (made.size() == 1) return made;
  const Array weighted = made[0] * (arange(made[1].shape(-1), {.dtype = f64}) + 1.0);
  return {matmul(weighted, linalg::inv(made[0])), made[1]};
}
std::vector<Array> UniqueOfSingularVectors(const std::vector<Array>& made) {
  if (made.size() == 1) return made;
  const Array v = swapaxes(conj(made[2]), -1, -2);
  return {Weighted(made[0], made[0]), Weighted(v, v), Weighted(made[0], v), made[1]};
}

void AddSpectra(Table& table) {
  for (DType dtype : kDTypes) {
    for (bool vectors : {true, false})
      for (const Shape& shape : kSquares) {
        Sample& s = AddMatrix(table, kEigh, ir::MakeParams(VectorsParams{vectors}), dtype, shape);
        s.align = AlignEigenvectors;
        s.unique = UniqueOfVectors;
        AddMatrix(table, kEig, ir::MakeParams(VectorsParams{vectors}), dtype, shape).align =
            AlignEig;
      }
    for (const Shape& shape : kSquares)
      AddMatrix(table, kSchur, ir::MakeParams(VectorsParams{true}), dtype, shape).align =
          AlignSchur;
    for (const SvdParams& p : {SvdParams{true, false}, {true, true}, {false, false}})
      for (const Shape& shape : kMatrices) {
        // The derivative of full matrices needs square ones.
        if (p.full_matrices && shape[shape.size() - 2] != shape.back()) continue;
        Sample& s = AddMatrix(table, kSvd, ir::MakeParams(p), dtype, shape);
        s.align = AlignSingularVectors;
        s.unique = UniqueOfSingularVectors;
      }
    for (const Shape& shape : {Shape{8, 8}, {1, 1}, {4, 6, 6}}) {
      AddMatrix(table, kHessenberg, {}, dtype, shape);
      for (bool lower : {true, false})
        AddMatrix(table, kTridiagonal, ir::MakeParams(TridiagonalParams{lower}), dtype, shape);
    }
  }
  // Eigenvalues of real matrices in conjugate pairs.
  for (bool vectors : {true, false}) {
    Sample& s =
        Add(table, kEig, ir::MakeParams(VectorsParams{vectors}), {{{3, 5, 5}, f64, Range(-1, 1)}});
    s.align = AlignEig;
    s.unique = UniqueOfEig;
  }
  for (DType dtype : {f32, c64}) {
    const auto add_truth = [&](const OpDef& op, ir::ParamsPtr params, AlignFn align,
                               UniqueFn unique = nullptr) {
      Sample& s = AddMatrix(table, op, std::move(params), dtype, {4, 4, 4});
      s.align = align;
      s.unique = unique;
      s.truth = true;
    };
    add_truth(kEigh, ir::MakeParams(VectorsParams{true}), AlignEigenvectors, UniqueOfVectors);
    add_truth(kEig, ir::MakeParams(VectorsParams{true}), AlignEig);
    add_truth(kSvd, ir::MakeParams(SvdParams{}), AlignSingularVectors, UniqueOfSingularVectors);
    add_truth(kSchur, ir::MakeParams(VectorsParams{true}), AlignSchur);
    add_truth(kHessenberg, {}, nullptr);
    add_truth(kTridiagonal, ir::MakeParams(TridiagonalParams{}), nullptr);
  }
}

}  // namespace

void AddLinalg(Table& table) {
  AddFactorisations(table);
  AddTriangular(table);
  AddProducts(table);
  AddSpectra(table);
}

}  // namespace tessera::suite
