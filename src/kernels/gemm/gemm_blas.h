// OpenBLAS, loaded at run time.
#pragma once
#include "kernels/gemm/gemm.h"

namespace tessera::kernels {

bool HasBlas();
void BlasGemm(const GemmDesc& d, int64_t m, int64_t n, const float* a, const float* b, float* c);
void BlasGemm(const GemmDesc& d, int64_t m, int64_t n, const double* a, const double* b, double* c);
// Chooses and loads OpenBLAS.
void LoadBlas();

}  // namespace tessera::kernels
