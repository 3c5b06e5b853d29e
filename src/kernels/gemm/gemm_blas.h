// OpenBLAS, loaded at run time.
#pragma once
#include <complex>

#include "kernels/gemm/gemm.h"

namespace tessera::kernels {

bool HasBlas();
void BlasGemm(const GemmDesc& d, int64_t m, int64_t n, const float* a, const float* b, float* c);
void BlasGemm(const GemmDesc& d, int64_t m, int64_t n, const double* a, const double* b, double* c);
bool HasComplexBlas();
void BlasGemm(const GemmDesc& d, int64_t m, int64_t n, const std::complex<float>* a,
              const std::complex<float>* b, std::complex<float>* c);
void BlasGemm(const GemmDesc& d, int64_t m, int64_t n, const std::complex<double>* a,
              const std::complex<double>* b, std::complex<double>* c);
// Chooses and loads OpenBLAS.
void LoadBlas();

}  // namespace tessera::kernels
