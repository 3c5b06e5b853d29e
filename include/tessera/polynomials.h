// Polynomials as arrays of coefficients [n], the highest power first, as NumPy's `poly` functions
// have them.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "tessera/ops.h"

namespace TESSERA_PUBLIC tessera {

// Returns p(x) for coefficients p [n, ...], whose other dims broadcast with x: by Horner's scheme.
Array polyval(Operand p, Operand x, Loc loc = Loc::Current());
// Return the sum, the difference and the product.
Array polyadd(Operand a, Operand b, Loc loc = Loc::Current());
Array polysub(Operand a, Operand b, Loc loc = Loc::Current());
Array polymul(Operand a, Operand b, Loc loc = Loc::Current());
// Returns the quotient [n - m + 1] and the remainder [n] of u [n] divided by v [m]. Throws
// ShapeError if v is empty.
std::pair<Array, Array> polydiv(Operand u, Operand v, Loc loc = Loc::Current());
// Returns the m-th derivative.
Array polyder(Operand p, int64_t m = 1, Loc loc = Loc::Current());
// Returns the m-th antiderivative with these constants of integration [m], or [1] for all.
Array polyint(Operand p, int64_t m = 1, Operand k = 0, Loc loc = Loc::Current());
struct PolyfitOptions {
  Array w = {};                      // [n], multiplied with the distances; default: 1
  std::optional<double> rcond = {};  // smaller singular values count as 0; default: n * epsilon
  // Of polyfit_all: the covariance is that for distances of variance 1 / w^2, as if the w were
  // known. Otherwise it is scaled so that the distances of the points have that variance.
  bool unscaled = false;
};
// Returns the polynomial of degree `degree` that is nearest to the points (x [n], y [n] or [n, k])
// by least squares: [degree + 1] or [degree + 1, k].
Array polyfit(Operand x, Operand y, int64_t degree, PolyfitOptions options = {},
              Loc loc = Loc::Current());
struct Polyfit {
  Array coefficients;     // [degree + 1] or [degree + 1, k]
  Array residuals;        // [1] or [k]: sums of squared distances, times w^2; empty as for lstsq
  Array rank;             // []
  Array singular_values;  // [degree + 1]
  Array covariance;       // of the coefficients: [degree + 1, degree + 1], or [..., k or 1]
};
// Returns polyfit with the numbers that say how good it is: NumPy's `full` and `cov`. Throws
// ShapeError if there are not more points than coefficients, unless the covariance is unscaled.
Polyfit polyfit_all(Operand x, Operand y, int64_t degree, PolyfitOptions options = {},
                    Loc loc = Loc::Current());
// Returns the monic polynomial with these roots [n], or the characteristic polynomial of a matrix
// [n, n]: [n + 1].
Array poly(Operand roots, Loc loc = Loc::Current());
// Returns the n - 1 roots, complex, of a polynomial whose first coefficient is not 0: the
// eigenvalues of its companion matrix.
Array roots(Operand p, Loc loc = Loc::Current());
struct VanderOptions {
  std::optional<int64_t> columns = {};  // default: n
  bool increasing = false;              // powers
};
// Returns the powers of x [n] as columns, the highest first: [n, columns].
Array vander(Operand x, VanderOptions options = {}, Loc loc = Loc::Current());

}  // namespace tessera
