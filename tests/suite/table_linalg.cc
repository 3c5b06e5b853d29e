// Sample table: factorisations of matrices, triangular systems, eigenvalues and singular values.
#include <cmath>

#include "ops/reference_matrices.h"
#include "suite/table.h"

namespace tessera::suite {
namespace {

using namespace ops;
using base::Shape;
using ir::HostTensor;
using reference::WideMatrix;
using Tensors = std::vector<HostTensor>;

// Matrices that suit every factorisation.
constexpr Fill kRegular{.lo = -0.5, .hi = 0.5, .diagonal = 3};

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
  for (DType dtype : {f32, f64}) {
    for (const Shape& shape : kSquares) AddMatrix(table, kCholesky, {}, dtype, shape);
    for (const Shape& shape : kMatrices) AddMatrix(table, kLu, {}, dtype, shape);
    for (bool full : {false, true})
      for (const Shape& shape : kMatrices)
        AddMatrix(table, kQr, ir::MakeParams(QrParams{full}), dtype, shape);
  }
  AddMatrix(table, kCholesky, {}, f32, {4, 4, 4}).truth = true;
  AddMatrix(table, kLu, {}, f32, {4, 4, 2}).truth = true;
  AddMatrix(table, kQr, ir::MakeParams(QrParams{}), f32, {4, 4, 2}).truth = true;
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
  for (int bits = 0; bits < 16; ++bits) {
    const TriangularSolveParams p{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                                  (bits & 8) != 0};
    add(bits % 3 == 0 ? f64 : f32, {6, 6}, p.left_side ? Shape{6, 8} : Shape{8, 6}, p);
    add(bits % 3 == 0 ? f32 : f64, {4, 3, 3}, p.left_side ? Shape{4, 3, 1} : Shape{4, 1, 3}, p);
  }
  const TriangularSolveParams left{.left_side = true, .lower = true};
  for (const auto& [a, b] : {std::pair<Shape, Shape>{{0, 0}, {0, 4}}, {{3, 3}, {3, 0}}})
    add(f32, a, b, left);
  add(f32, {4, 4, 4}, {4, 4, 4}, left).truth = true;
  add(f32, {4, 4}, {8, 4}, {.transpose_a = true}).truth = true;
}

void AddProducts(Table& table) {
  for (DType dtype : {f32, f64})
    for (const auto& [a, taus] : {std::pair<Shape, Shape>{{8, 8}, {8}},
                                  {{8, 5}, {3}},
                                  {{4, 1}, {1}},
                                  {{3, 0}, {0}},
                                  {{4, 6, 3}, {4, 3}},
                                  {{4, 4, 2}, {4, 2}}}) {
      Sample& s = Add(table, kHouseholderProduct, {},
                      {{a, dtype, Range(-1, 1)}, {taus, dtype, Range(0, 1)}});
      s.forward = kClose;
      s.truth = dtype == f32 && a == Shape{4, 4, 2};
    }
}

// Negates column k of the matrices, or row k.
void NegateColumn(HostTensor& t, int64_t matrix, int64_t k) {
  const int64_t rows = t.shape[t.shape.size() - 2], columns = t.shape.back();
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = (matrix * rows + r) * columns + k;
    t.SetFloat(at, -t.Float(at));
  }
}
void NegateRow(HostTensor& t, int64_t matrix, int64_t k) {
  const int64_t rows = t.shape[t.shape.size() - 2], columns = t.shape.back();
  for (int64_t c = 0; c < columns; ++c) {
    const int64_t at = (matrix * rows + k) * columns + c;
    t.SetFloat(at, -t.Float(at));
  }
}
double ColumnsProduct(const WideMatrix& a, const WideMatrix& b, int64_t k) {
  long double sum = 0;
  for (int64_t r = 0; r < a.rows; ++r) sum += a(r, k) * b(r, k);
  return static_cast<double>(sum);
}

// An eigenvector may be negated.
void AlignEigenvectors(const Tensors&, const Tensors& want, Tensors& got) {
  if (got.size() == 1) return;
  for (int64_t i = 0; i < reference::MatrixCount(want[0]); ++i) {
    const WideMatrix w = reference::MatrixAt(want[0], i), g = reference::MatrixAt(got[0], i);
    for (int64_t k = 0; k < w.cols; ++k)
      if (ColumnsProduct(w, g, k) < 0) NegateColumn(got[0], i, k);
  }
}

bool IsIdentity(const WideMatrix& m, long double tolerance) {
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t c = 0; c < m.cols; ++c)
      if (!(std::fabs(m(r, c) - (r == c ? 1 : 0)) <= tolerance)) return false;
  return true;
}

// A pair of singular vectors may be negated, and those beyond the smaller dim only have to be
// orthonormal.
void AlignSingularVectors(const Tensors&, const Tensors& want, Tensors& got) {
  if (got.size() == 1) return;
  const int64_t k = want[1].shape.back();
  for (int64_t i = 0; i < reference::MatrixCount(want[0]); ++i) {
    WideMatrix u = reference::MatrixAt(got[0], i), vt = reference::MatrixAt(got[2], i);
    const WideMatrix want_u = reference::MatrixAt(want[0], i),
                     want_vt = reference::MatrixAt(want[2], i);
    if (IsIdentity(Product(TransposeOf(u), u), 1e-4L))
      for (int64_t c = k; c < u.cols; ++c)
        for (int64_t r = 0; r < u.rows; ++r) u(r, c) = want_u(r, c);
    if (IsIdentity(Product(vt, TransposeOf(vt)), 1e-4L))
      for (int64_t r = k; r < vt.rows; ++r)
        for (int64_t c = 0; c < vt.cols; ++c) vt(r, c) = want_vt(r, c);
    reference::SetMatrix(got[0], i, u);
    reference::SetMatrix(got[2], i, vt);
    for (int64_t c = 0; c < k; ++c)
      if (ColumnsProduct(want_u, u, c) < 0) {
        NegateColumn(got[0], i, c);
        NegateRow(got[2], i, c);
      }
  }
}

// Any orthogonal z and quasi upper triangular t with z t z^T = a are correct.
void AlignSchur(const Tensors& operands, const Tensors& want, Tensors& got) {
  if (got.size() == 1) return;
  for (int64_t i = 0; i < reference::MatrixCount(want[0]); ++i) {
    const WideMatrix a = reference::MatrixAt(operands[0], i), t = reference::MatrixAt(got[0], i),
                     z = reference::MatrixAt(got[1], i);
    bool correct = IsIdentity(Product(TransposeOf(z), z), 1e-4L);
    const WideMatrix made = Product(z, Product(t, TransposeOf(z)));
    for (int64_t r = 0; r < a.rows; ++r)
      for (int64_t c = 0; c < a.cols; ++c) {
        correct = correct && std::fabs(made(r, c) - a(r, c)) <= 1e-3L;
        correct = correct && (c >= r - 1 || t(r, c) == 0);
        correct = correct && (r < 2 || c != r - 1 || t(r, c) == 0 || t(r - 1, c - 1) == 0);
      }
    if (!correct) continue;
    reference::SetMatrix(got[0], i, reference::MatrixAt(want[0], i));
    reference::SetMatrix(got[1], i, reference::MatrixAt(want[1], i));
  }
}

void AddSpectra(Table& table) {
  for (DType dtype : {f32, f64}) {
    for (bool vectors : {true, false})
      for (const Shape& shape : kSquares) {
        AddMatrix(table, kEigh, ir::MakeParams(VectorsParams{vectors}), dtype, shape).align =
            AlignEigenvectors;
      }
    for (const Shape& shape : kSquares)
      AddMatrix(table, kSchur, ir::MakeParams(VectorsParams{true}), dtype, shape).align =
          AlignSchur;
    for (const SvdParams& p : {SvdParams{true, false}, {true, true}, {false, false}})
      for (const Shape& shape : kMatrices) {
        // The derivative of full matrices needs square ones.
        if (p.full_matrices && shape[shape.size() - 2] != shape.back()) continue;
        AddMatrix(table, kSvd, ir::MakeParams(p), dtype, shape).align = AlignSingularVectors;
      }
    for (const Shape& shape : {Shape{8, 8}, {1, 1}, {4, 6, 6}}) {
      AddMatrix(table, kHessenberg, {}, dtype, shape);
      for (bool lower : {true, false})
        AddMatrix(table, kTridiagonal, ir::MakeParams(TridiagonalParams{lower}), dtype, shape);
    }
  }
  const auto add_truth = [&](const OpDef& op, ir::ParamsPtr params, AlignFn align) {
    Sample& s = AddMatrix(table, op, std::move(params), f32, {4, 4, 4});
    s.align = align;
    s.truth = true;
  };
  add_truth(kEigh, ir::MakeParams(VectorsParams{true}), AlignEigenvectors);
  add_truth(kSvd, ir::MakeParams(SvdParams{}), AlignSingularVectors);
  add_truth(kSchur, ir::MakeParams(VectorsParams{true}), AlignSchur);
  add_truth(kHessenberg, {}, nullptr);
  add_truth(kTridiagonal, ir::MakeParams(TridiagonalParams{}), nullptr);
}

}  // namespace

void AddLinalg(Table& table) {
  AddFactorisations(table);
  AddTriangular(table);
  AddProducts(table);
  AddSpectra(table);
}

}  // namespace tessera::suite
