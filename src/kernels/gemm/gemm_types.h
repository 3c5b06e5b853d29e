// The types in which products of arrays are computed.
#pragma once
#include <complex>
#include <cstddef>

#include "kernels/elements/scalar_elements.h"
#include "kernels/gemm/gemm.h"
#include "tessera/dtype.h"

namespace tessera::kernels {

// Returns the type of a product of these dtypes.
GemmType GemmTypeOf(DType lhs, DType rhs, DType out);
// The bytes of an element that the product reads.
int64_t ItemSize(GemmType type);
// Returns the type of the product's results, and their size in bytes.
inline GemmType ResultType(GemmType type) {
  return type == GemmType::kBF16ToF32 ? GemmType::kF32 : type;
}
inline int64_t ResultSize(GemmType type) { return ItemSize(ResultType(type)); }
// Whether elements of a dtype are read, and written, without a conversion.
bool IsReadAs(DType dtype, GemmType type);
bool IsWrittenAs(DType out, GemmType type);

// Calls f with a value of the type that the product reads.
template <class F>
void VisitRead(GemmType type, F f) {
  switch (type) {
    case GemmType::kF32:
      return f(float{});
    case GemmType::kF64:
      return f(double{});
    case GemmType::kI32:
      return f(int32_t{});
    case GemmType::kI64:
      return f(int64_t{});
    case GemmType::kC64:
      return f(std::complex<float>{});
    case GemmType::kC128:
      return f(std::complex<double>{});
    default:
      return f(BFloat16{});
  }
}

// Converts n results of a product to elements of `dtype`. Products of kBF16 need no conversion.
void ConvertProducts(GemmType type, DType dtype, const std::byte* in, std::byte* out, int64_t n);

}  // namespace tessera::kernels
