// Products, reflectors and Jacobi's method, on matrices of long doubles.
#include "ops/reference_matrices.h"

#include <absl/algorithm/container.h>

#include <cmath>
#include <numeric>

namespace tessera::ops::reference {

WideMatrix Identity(int64_t n) {
  WideMatrix out(n, n);
  for (int64_t i = 0; i < n; ++i) out(i, i) = 1;
  return out;
}

WideMatrix TransposeOf(const WideMatrix& a) {
  WideMatrix out(a.cols, a.rows);
  for (int64_t r = 0; r < a.rows; ++r)
    for (int64_t c = 0; c < a.cols; ++c) out(c, r) = a(r, c);
  return out;
}

WideMatrix Product(const WideMatrix& a, const WideMatrix& b) {
  WideMatrix out(a.rows, b.cols);
  for (int64_t r = 0; r < a.rows; ++r)
    for (int64_t c = 0; c < b.cols; ++c)
      for (int64_t k = 0; k < a.cols; ++k) out(r, c) += a(r, k) * b(k, c);
  return out;
}

WideMatrix MatrixAt(const ir::HostTensor& t, int64_t i, int64_t rows, int64_t cols) {
  WideMatrix out(rows, cols);
  for (int64_t k = 0; k < rows * cols; ++k)
    out.elements[static_cast<size_t>(k)] = t.Float(i * rows * cols + k);
  return out;
}

void SetMatrix(ir::HostTensor& t, int64_t i, const WideMatrix& m) {
  for (int64_t k = 0; k < m.rows * m.cols; ++k)
    t.SetFloat(i * m.rows * m.cols + k, m.elements[static_cast<size_t>(k)]);
}

int64_t MatrixCount(const ir::HostTensor& t) {
  int64_t count = 1;
  for (size_t d = 0; d + 2 < t.shape.size(); ++d) count *= t.shape[d];
  return count;
}

Reflector::Reflector(const WideMatrix& a, int64_t of, int64_t first)
    : v(static_cast<size_t>(a.rows)) {
  long double rest = 0;
  for (int64_t r = first + 1; r < a.rows; ++r) rest += a(r, of) * a(r, of);
  const long double head = a(first, of);
  if (rest == 0) return;  // tau = 0: the identity
  const long double image = -std::copysign(std::sqrt(head * head + rest), head);
  tau = (image - head) / image;
  v[static_cast<size_t>(first)] = 1;
  for (int64_t r = first + 1; r < a.rows; ++r)
    v[static_cast<size_t>(r)] = a(r, of) / (head - image);
}

void Reflector::ApplyLeft(WideMatrix& a) const {
  for (int64_t c = 0; c < a.cols; ++c) {
    long double dot = 0;
    for (int64_t r = 0; r < a.rows; ++r) dot += v[static_cast<size_t>(r)] * a(r, c);
    for (int64_t r = 0; r < a.rows; ++r) a(r, c) -= tau * dot * v[static_cast<size_t>(r)];
  }
}

void Reflector::ApplyRight(WideMatrix& a) const {
  WideMatrix transposed = TransposeOf(a);
  ApplyLeft(transposed);
  a = TransposeOf(transposed);
}

// Jacobi's method: rotates until nothing is left beside the diagonal.
Spectrum SpectrumOf(WideMatrix a) {
  const int64_t n = a.rows;
  WideMatrix vectors = Identity(n);
  for (int sweep = 0; sweep < 40; ++sweep)
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        if (a(p, q) == 0) continue;
        const long double ratio = (a(q, q) - a(p, p)) / (2 * a(p, q));
        const long double t =
            std::copysign(1.0L, ratio) / (std::fabs(ratio) + std::sqrt(ratio * ratio + 1));
        const long double cosine = 1 / std::sqrt(t * t + 1), sine = t * cosine;
        WideMatrix rotation = Identity(n);
        rotation(p, p) = rotation(q, q) = cosine;
        rotation(p, q) = sine;
        rotation(q, p) = -sine;
        a = Product(TransposeOf(rotation), Product(a, rotation));
        vectors = Product(vectors, rotation);
      }
  std::vector<int64_t> order(static_cast<size_t>(n));
  absl::c_iota(order, 0);
  absl::c_sort(order, [&](int64_t i, int64_t j) { return a(i, i) < a(j, j); });
  Spectrum out{{}, WideMatrix(n, n)};
  for (int64_t k = 0; k < n; ++k) {
    const int64_t from = order[static_cast<size_t>(k)];
    out.values.push_back(a(from, from));
    for (int64_t r = 0; r < n; ++r) out.vectors(r, k) = vectors(r, from);
  }
  return out;
}

}  // namespace tessera::ops::reference
