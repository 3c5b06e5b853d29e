// Matrix products of integers, which wrap, and of floats in one order.
#pragma once
#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace tessera::kernels {

// With fewer columns or less work of integers, packing costs more than vectors save.
inline constexpr int64_t kLeastIntegerColumns = 8, kLeastIntegerWork = 16 * 16 * 16;

// c = a * b for `m` rows of a and `n` columns of b, with the strides of the desc. The bits of an
// element depend on its row of a and its column of b alone.
void PackedGemm(const GemmDesc& desc, int64_t m, int64_t n, const float* a, const float* b,
                float* c);
void PackedGemm(const GemmDesc& desc, int64_t m, int64_t n, const double* a, const double* b,
                double* c);
void PackedGemm(const GemmDesc& desc, int64_t m, int64_t n, const uint32_t* a, const uint32_t* b,
                uint32_t* c);
void PackedGemm(const GemmDesc& desc, int64_t m, int64_t n, const uint64_t* a, const uint64_t* b,
                uint64_t* c);

}  // namespace tessera::kernels
