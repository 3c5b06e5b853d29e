// Factorisations and solutions of one matrix that is sharded over its own dims. They run block by
// block: devices exchange panels, and no device holds the whole matrix.
#pragma once
#include "api/linalg/formulas.h"
#include "tessera/linalg.h"

namespace tessera::api {

// Whether the array is one matrix with a sharded dim.
bool IsShardedMatrix(const Array& a);

// The functions take and return matrices [n, n] (Lu, Qr: [m, n]) in any sharding of the two dims.
// C16: the axes must divide their sizes.
//
// Bytes that a device receives, of matrices of s bytes on p devices: s/p to lay a out by rows or
// columns, s/2 for the panels of cholesky and lu, and as much to even out the rest of the matrix.
Array BlockedCholesky(const Array& a, Call call);
// As linalg::triangular_solve with left_side. b is [n, k].
Array BlockedTriangularSolve(const Array& a, const Array& b, bool lower, bool transpose, bool unit,
                             Call call);
linalg::Lu BlockedLu(const Array& a, Call call);
// Solves with the factors. b is [n, k].
Array BlockedLuSolve(const linalg::Lu& lu, const Array& b, Call call);
linalg::Qr BlockedQr(const Array& a, Call call);

}  // namespace tessera::api
