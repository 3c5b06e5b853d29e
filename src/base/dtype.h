// Queries of this thread's dtype scopes, dtypes by name, and the host type of each dtype.
#pragma once
#include <complex>
#include <string_view>

#include "tessera/dtype.h"

namespace tessera::base {

DType DefaultInt();
DType DefaultFloat();
bool StrictTypesActive();

// Returns the dtype named `name`, or DType{} if there is none.
DType ParseDType(std::string_view name);

// Returns the dtype of the parts of a complex dtype; other dtypes are their own part.
constexpr DType PartOf(DType dtype) { return dtype == c64 ? f32 : dtype == c128 ? f64 : dtype; }
// Returns the complex dtype with parts of a floating dtype: c64 for those of fewer than 32 bits.
constexpr DType ComplexOf(DType part) { return part == f64 ? c128 : c64; }

// Calls f with a value-initialised element of the host type of `dtype`, which must not be DType{}
// or complex. A key's host type is uint64_t, which holds its two words.
template <class F>
decltype(auto) VisitDType(DType dtype, F&& f) {
  switch (dtype.code()) {
    case DType::kBool:
      return f(bool{});
    case DType::kI8:
      return f(int8_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU8:
      return f(uint8_t{});
    case DType::kU16:
      return f(uint16_t{});
    case DType::kU32:
      return f(uint32_t{});
    case DType::kU64:
    case DType::kKey:
      return f(uint64_t{});
    case DType::kF16:
      return f(Float16{});
    case DType::kBF16:
      return f(BFloat16{});
    case DType::kF32:
      return f(float{});
    default:
      return f(double{});
  }
}

// As VisitDType, also for complex dtypes.
template <class F>
decltype(auto) VisitElement(DType dtype, F&& f) {
  if (dtype == c64) return f(std::complex<float>{});
  if (dtype == c128) return f(std::complex<double>{});
  return VisitDType(dtype, f);
}

}  // namespace tessera::base
