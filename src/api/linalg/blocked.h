// The steps of factorisations and solutions of one matrix that is sharded over its own dims. They
// run block by block: devices exchange panels, and no device holds the whole matrix.
#pragma once
#include "api/linalg/formulas.h"
#include "tessera/linalg.h"

namespace tessera::api {

// Whether the array is one matrix with a sharded dim.
bool IsShardedMatrix(const Array& a);

// A triangular system: the triangle of a that is read, and whether a^T is solved with.
struct Triangle {
  bool lower = false, transposed = false, unit_diagonal = false;
};

// Derivatives are those of the steps, and the devices must divide all sizes but k.
// (Qr: a tall matrix may have any n, another any m if the devices divide n and min(m, n).)
Array CholeskyByBlocks(const Array& a, Call call);
Array TriangularByBlocks(const Array& a, const Array& b, Triangle triangle, Call call);
linalg::Lu LuByBlocks(const Array& a, Call call);
// Solves with the factors of a, or with those of a^T.
Array LuSolveByBlocks(const linalg::Lu& lu, const Array& b, bool transposed, Call call);
linalg::Qr QrByBlocks(const Array& a, Call call);
// Whether QrByBlocks factors the rows of each device first.
bool IsTall(int64_t rows, int64_t columns, int64_t devices);

}  // namespace tessera::api
