// Products, reflectors and Jacobi's method, on matrices of complex long doubles.
#include "ops/reference_matrices.h"

#include <absl/algorithm/container.h>

#include <cmath>

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

WideMatrix AdjointOf(const WideMatrix& a) {
  WideMatrix out = TransposeOf(a);
  for (LongComplex& z : out.elements) z = std::conj(z);
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
    out.elements[static_cast<size_t>(k)] = LongComplex(t.Complex(i * rows * cols + k));
  return out;
}

void SetMatrix(ir::HostTensor& t, int64_t i, const WideMatrix& m) {
  for (int64_t k = 0; k < m.rows * m.cols; ++k) {
    const LongComplex z = m.elements[static_cast<size_t>(k)];
    if (t.dtype.is_complex())
      t.SetComplex(i * m.rows * m.cols + k, z);
    else
      t.SetFloat(i * m.rows * m.cols + k, z.real());
  }
}

int64_t MatrixCount(const ir::HostTensor& t) {
  int64_t count = 1;
  for (size_t d = 0; d + 2 < t.shape.size(); ++d) count *= t.shape[d];
  return count;
}

Reflector::Reflector(const WideMatrix& a, int64_t of, int64_t first)
    : v(static_cast<size_t>(a.rows)) {
  long double rest = 0;
  for (int64_t r = first + 1; r < a.rows; ++r) rest += std::norm(a(r, of));
  const LongComplex head = a(first, of);
  if (rest == 0 && head.imag() == 0) return;  // tau = 0: the identity
  const long double image = -std::copysign(std::sqrt(std::norm(head) + rest), head.real());
  tau = (image - head) / image;
  v[static_cast<size_t>(first)] = 1;
  for (int64_t r = first + 1; r < a.rows; ++r)
    v[static_cast<size_t>(r)] = a(r, of) / (head - image);
}

namespace {

// Returns (I - tau v v^H) a.
void Reflect(const std::vector<LongComplex>& v, LongComplex tau, WideMatrix& a) {
  for (int64_t c = 0; c < a.cols; ++c) {
    LongComplex dot = 0;
    for (int64_t r = 0; r < a.rows; ++r) dot += std::conj(v[static_cast<size_t>(r)]) * a(r, c);
    for (int64_t r = 0; r < a.rows; ++r) a(r, c) -= tau * dot * v[static_cast<size_t>(r)];
  }
}

}  // namespace

void Reflector::ApplyLeft(WideMatrix& a) const { Reflect(v, tau, a); }
void Reflector::ApplyAdjointLeft(WideMatrix& a) const { Reflect(v, std::conj(tau), a); }
void Reflector::ApplyRight(WideMatrix& a) const {
  WideMatrix adjoint = AdjointOf(a);
  ApplyAdjointLeft(adjoint);
  a = AdjointOf(adjoint);
}

namespace {

// A rotation of dims p and q: the unitary matrix [[cosine, sine], [-conj(sine), cosine]].
struct Rotation {
  int64_t p, q;
  long double cosine;
  LongComplex sine;

  void ApplyRight(WideMatrix& a) const {
    for (int64_t r = 0; r < a.rows; ++r) {
      const LongComplex at_p = a(r, p), at_q = a(r, q);
      a(r, p) = at_p * cosine - at_q * std::conj(sine);
      a(r, q) = at_p * sine + at_q * cosine;
    }
  }
  void ApplyAdjointLeft(WideMatrix& a) const {
    for (int64_t c = 0; c < a.cols; ++c) {
      const LongComplex at_p = a(p, c), at_q = a(q, c);
      a(p, c) = at_p * cosine - at_q * sine;
      a(q, c) = at_p * std::conj(sine) + at_q * cosine;
    }
  }
};

}  // namespace

// Jacobi's method: rotates until nothing is left beside the diagonal.
ReferenceSpectrum SpectrumOf(WideMatrix a) {
  const int64_t n = a.rows;
  WideMatrix vectors = Identity(n);
  for (int sweep = 0; sweep < 40; ++sweep)
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        const long double size = std::abs(a(p, q));
        if (size == 0) continue;
        const long double ratio = (a(q, q).real() - a(p, p).real()) / (2 * size);
        const long double t =
            std::copysign(1.0L, ratio) / (std::fabs(ratio) + std::sqrt(ratio * ratio + 1));
        const long double cosine = 1 / std::sqrt(t * t + 1);
        const Rotation rotation{p, q, cosine, t * cosine * (a(p, q) / size)};
        rotation.ApplyRight(a);
        rotation.ApplyAdjointLeft(a);
        a(p, q) = a(q, p) = 0;
        rotation.ApplyRight(vectors);
      }
  std::vector<int64_t> order(static_cast<size_t>(n));
  absl::c_iota(order, 0);
  absl::c_sort(order, [&](int64_t i, int64_t j) { return a(i, i).real() < a(j, j).real(); });
  ReferenceSpectrum out{{}, WideMatrix(n, n)};
  for (int64_t k = 0; k < n; ++k) {
    const int64_t from = order[static_cast<size_t>(k)];
    out.values.push_back(a(from, from).real());
    for (int64_t r = 0; r < n; ++r) out.vectors(r, k) = vectors(r, from);
  }
  return out;
}

void SchurForm::Rotate(const WideMatrix& q) {
  form = Product(AdjointOf(q), Product(form, q));
  vectors = Product(vectors, q);
}

WideMatrix UnitaryFactor(WideMatrix a) {
  WideMatrix q = Identity(a.rows);
  for (int64_t k = 0; k < a.rows; ++k) {
    const Reflector reflector(a, k, k);
    reflector.ApplyAdjointLeft(a);
    reflector.ApplyRight(q);
  }
  return q;
}

WideMatrix Embedded(const WideMatrix& block, int64_t begin, int64_t n) {
  WideMatrix q = Identity(n);
  for (int64_t r = 0; r < block.rows; ++r)
    for (int64_t c = 0; c < block.cols; ++c) q(begin + r, begin + c) = block(r, c);
  return q;
}

namespace {

// Returns the eigenvalue of the last two rows of a block [n, n] that is nearer to the last element.
LongComplex ShiftOf(const WideMatrix& form, int64_t n) {
  const LongComplex a = form(n - 2, n - 2), b = form(n - 2, n - 1), c = form(n - 1, n - 2),
                    d = form(n - 1, n - 1);
  const LongComplex half = (a - d) / 2.0L, root = std::sqrt(half * half + b * c);
  const LongComplex near = (a + d) / 2.0L - root, far = (a + d) / 2.0L + root;
  return std::abs(near - d) < std::abs(far - d) ? near : far;
}

}  // namespace

// The QR iteration with one shift. Eigenvalues split off at the end.
SchurForm ComplexSchurOf(const WideMatrix& a) {
  SchurForm out{a, Identity(a.rows)};
  constexpr long double kSmall = 1e-18L;
  int64_t n = a.rows;
  for (int step = 0; n > 1 && step < 10000; ++step) {
    long double left = 0;
    for (int64_t c = 0; c < n - 1; ++c) left += std::abs(out.form(n - 1, c));
    if (left <= kSmall * std::abs(out.form(n - 1, n - 1)) + 1e-300L) {
      for (int64_t c = 0; c < n - 1; ++c) out.form(n - 1, c) = 0;
      n -= 1;
      continue;
    }
    LongComplex shift = ShiftOf(out.form, n);
    if (step % 10 == 9) shift += left;  // leaves a cycle
    WideMatrix block(n, n);
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = 0; c < n; ++c)
        block(r, c) = out.form(r, c) - (r == c ? shift : LongComplex(0));
    out.Rotate(Embedded(UnitaryFactor(std::move(block)), 0, a.rows));
  }
  return out;
}

}  // namespace tessera::ops::reference
