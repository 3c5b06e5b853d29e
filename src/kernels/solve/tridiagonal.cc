// Tridiagonal systems, each solved from the first row to the last and back.
#include "kernels/solve/tridiagonal.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "kernels/parts.h"
#include "kernels/solve/lapack.h"

namespace tessera::kernels {
namespace {

struct Config {
  DType dtype;
  int64_t systems, n, k;
};

// A system's diagonals during elimination. `second` is the one above `upper`; swapping rows
// fills it.
template <class T>
struct Diagonals {
  T *lower, *main, *upper, *second;
};

// LAPACK's size of a number, by which pivots are chosen.
template <class T>
auto PivotSize(T z) {
  return std::fabs(std::real(z)) + std::fabs(std::imag(z));
}

// Eliminates the lower diagonal with partial pivoting (LAPACK's gtsv), and applies the same steps
// to `x` [n, k]. Returns false if the matrix is singular.
template <class T>
bool Eliminate(const Diagonals<T>& a, T* x, int64_t n, int64_t k) {
  for (int64_t i = 0; i + 1 < n; ++i) {
    T *row = x + i * k, *next = row + k;
    a.second[i] = 0;
    if (PivotSize(a.main[i]) < PivotSize(a.lower[i + 1])) {
      std::swap(a.main[i], a.lower[i + 1]);
      std::swap(a.upper[i], a.main[i + 1]);
      std::swap(a.second[i], a.upper[i + 1]);
      std::swap_ranges(row, row + k, next);
    }
    if (a.main[i] == T{0}) return false;
    const T factor = a.lower[i + 1] / a.main[i];
    a.main[i + 1] -= factor * a.upper[i];
    a.upper[i + 1] -= factor * a.second[i];
    for (int64_t j = 0; j < k; ++j) next[j] -= factor * row[j];
  }
  return n == 0 || a.main[n - 1] != T{0};
}

template <class T>
void Substitute(const Diagonals<T>& a, T* x, int64_t n, int64_t k) {
  for (int64_t i = n - 1; i >= 0; --i) {
    T *row = x + i * k, *next = row + k, *second = next + k;
    for (int64_t j = 0; j < k; ++j) {
      T rest = row[j];
      if (i + 1 < n) rest -= a.upper[i] * next[j];
      if (i + 2 < n) rest -= a.second[i] * second[j];
      row[j] = rest / a.main[i];
    }
  }
}

template <class T>
void Solve(const Config& c, const plan::KernelArgs& call) {
  const auto of = [&](size_t i) { return reinterpret_cast<const T*>(call.in[i]); };
  T* out = reinterpret_cast<T*>(call.out[0]);
  T* memory = reinterpret_cast<T*>(call.scratch);
  const Diagonals<T> a{memory, memory + c.n, memory + 2 * c.n, memory + 3 * c.n};
  const Range systems = Share(c.systems, 1, call.part, call.parts);
  for (int64_t s = systems.begin; s < systems.end; ++s) {
    const int64_t first = s * c.n;
    std::copy_n(of(0) + first, c.n, a.lower);
    std::copy_n(of(1) + first, c.n, a.main);
    std::copy_n(of(2) + first, c.n, a.upper);
    if (c.n > 0) a.upper[c.n - 1] = 0;  // outside the matrix
    T* x = out + first * c.k;
    if (x != of(3) + first * c.k) std::copy_n(of(3) + first * c.k, c.n * c.k, x);
    if (Eliminate(a, x, c.n, c.k))
      Substitute(a, x, c.n, c.k);
    else
      FillNan(x, c.n * c.k);
  }
}

void RunTridiagonalSolve(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const Config*>(call.config);
  WithElement(c.dtype, [&]<class T>(T) { Solve<T>(c, call); });
}

}  // namespace

plan::Kernel TridiagonalSolve(DType dtype, const Shape& b) {
  const size_t rank = b.size();
  int64_t systems = 1;
  for (size_t d = 0; d + 2 < rank; ++d) systems *= b[d];
  const int64_t n = b[rank - 2], k = b[rank - 1];
  const double elements = static_cast<double>(systems * n * k);
  plan::Kernel kernel;
  kernel.fn = &RunTridiagonalSolve;
  kernel.flops = (dtype.is_complex() ? 24 : 6) * elements;
  kernel.bytes = (2 * elements + 3 * static_cast<double>(systems * n)) * dtype.size();
  kernel.max_parts = MaxParts(4 * kernel.bytes, systems);
  kernel.scratch_bytes = 4 * n * dtype.size();
  kernel.in_place = 1 << 3;
  kernel.config = std::make_shared<Config>(Config{dtype, systems, n, k});
  return kernel;
}

}  // namespace tessera::kernels
