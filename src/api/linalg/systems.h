// Solutions of systems with factored matrices, for formulas.
#pragma once
#include "api/linalg/formulas.h"
#include "tessera/linalg.h"

namespace tessera::api {

struct System {
  bool transposed = false, conjugated = false;
};
// Returns the solution of op(a) x = b for b [..., n, k], given the factors of a. Both have the same
// batch dims.
Array SolveFactored(const linalg::Lu& lu, Array b, System system, const MatrixFormulas& f);
// Returns the solution of a x = b for square a and b [..., n, k] with the same batch dims.
Array SolveSystem(const Array& a, const Array& b, const MatrixFormulas& f);
// Calls `solve` with matrices a and b of the same batch dims. b is [n] or [..., n, k]. C13: it must
// fit to a, which has `rows` rows.
Array WithRightSide(const Array& a, const Operand& b, int64_t rows, Call call,
                    absl::FunctionRef<Array(const Array& a, const Array& b)> solve);

}  // namespace tessera::api
