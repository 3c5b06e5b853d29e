// Operations of the factorisations of one matrix, of real numbers: the leading terms of LAPACK's
// counts (Golub and Van Loan, Matrix Computations; LAPACK Working Note 41, appendix C).
#pragma once
#include <algorithm>
#include <cstdint>

namespace tessera::kernels {

constexpr double Cubic(double a, double b, double c) { return a * b * c; }

constexpr double CholeskyFlops(double n) { return Cubic(n, n, n) / 3; }
// m x n.
constexpr double LuFlops(double m, double n) {
  const double k = std::min(m, n);
  return Cubic(m, n, k) - Cubic(k, k, k) / 3;
}
// The r of an m x n matrix, with reflectors.
constexpr double PackedQrFlops(double m, double n) { return 2 * LuFlops(m, n); }
// The first `columns` columns of the product of k reflectors of m elements.
constexpr double HouseholderFlops(double m, double columns, double k) {
  return 4 * Cubic(m, columns, k) - 2 * (m + columns) * k * k + 4 * Cubic(k, k, k) / 3;
}
// q has `columns` columns.
constexpr double QrFlops(double m, double n, double columns) {
  return PackedQrFlops(m, n) + HouseholderFlops(m, columns, std::min(m, n));
}

// n x n. The factors are those of LAPACK's algorithms on most matrices.
constexpr double EighFlops(double n, bool vectors) {
  return (vectors ? 9 : 4.0 / 3) * Cubic(n, n, n);
}
constexpr double EigFlops(double n, bool vectors) { return (vectors ? 25 : 10) * Cubic(n, n, n); }
constexpr double SchurFlops(double n, bool vectors) { return EigFlops(n, vectors); }
constexpr double HessenbergFlops(double n) { return 10 * Cubic(n, n, n) / 3; }
constexpr double TridiagonalFlops(double n) { return 4 * Cubic(n, n, n) / 3; }

enum class SingularVectors : uint8_t { kNone, kReduced, kFull };
// m x n.
constexpr double SvdFlops(double m, double n, SingularVectors vectors) {
  const double most = std::max(m, n), k = std::min(m, n);
  if (vectors == SingularVectors::kNone) return 4 * Cubic(most, k, k) - 4 * Cubic(k, k, k) / 3;
  if (vectors == SingularVectors::kReduced) return 14 * Cubic(most, k, k) + 8 * Cubic(k, k, k);
  return 4 * Cubic(most, most, k) + 8 * Cubic(most, k, k) + 9 * Cubic(k, k, k);
}

}  // namespace tessera::kernels
