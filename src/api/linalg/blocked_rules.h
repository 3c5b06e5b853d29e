// Factorisations and solutions of one matrix that is sharded over its own dims, with their
// derivatives.
#pragma once
#include "api/linalg/blocked.h"

namespace tessera::api {

// The functions take and return matrices [n, n] (Lu, Qr: [m, n]) in any sharding of the two dims,
// of any size: sizes that the devices do not divide are padded. Derivatives are implicit: they
// keep the factors and not the steps.
//
// Bytes that a device receives, of matrices of s bytes on p devices: s/p to lay a out by rows or
// columns, s/2 for the panels of cholesky and lu, and as much to even out the rest of the matrix.
Array BlockedCholesky(const Array& a, Call call);
// As linalg::triangular_solve with left_side. b is [n, k].
Array BlockedTriangularSolve(const Array& a, const Array& b, Triangle triangle, Call call);
linalg::Lu BlockedLu(const Array& a, Call call);
// Returns the solution of a x = b, for b [n, k].
Array BlockedSolve(const Array& a, const Array& b, Call call);
linalg::Qr BlockedQr(const Array& a, Call call);

}  // namespace tessera::api
