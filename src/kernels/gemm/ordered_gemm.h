// Matrix products whose sums have one order, whatever the numbers of rows and columns.
#pragma once
#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace tessera::kernels {

// Computes c as Gemm::Run does. The bits of an element depend on its row of a and its column of b
// alone.
void OrderedGemm(const GemmDesc& d, int64_t m, int64_t n, const float* a, const float* b, float* c);
void OrderedGemm(const GemmDesc& d, int64_t m, int64_t n, const double* a, const double* b,
                 double* c);

}  // namespace tessera::kernels
