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

// Whether promote_types(a, b) is defined.
bool Promotes(DType a, DType b);

// Returns the dtype of the parts of a complex dtype; other dtypes are their own part.
constexpr DType PartOf(DType dtype) { return dtype == c64 ? f32 : dtype == c128 ? f64 : dtype; }
// Returns the complex dtype with parts of a floating dtype: c64 for those of fewer than 32 bits.
constexpr DType ComplexOf(DType part) { return part == f64 ? c128 : c64; }

// Returns the dtype in which functions compute with a storage dtype; others are their own.
constexpr DType ComputedIn(DType dtype) {
  if (!dtype.is_storage()) return dtype;
  return dtype.is_float8() ? f32 : dtype.is_signed() ? i8 : u8;
}
// Returns the dtype whose elements have the same bytes as a storage dtype; others are their own.
constexpr DType StoredAs(DType dtype) { return dtype.is_float8() ? u8 : ComputedIn(dtype); }
// Returns how many bytes that many elements need, with the last byte filled.
inline int64_t BytesOf(int64_t elements, DType dtype) {
  // Whole bytes first: the bits of the largest shapes overflow.
  return dtype.bits() % 8 == 0 ? elements * dtype.size() : (elements * dtype.bits() + 7) / 8;
}

// Calls f with a value-initialised element of the host type of `dtype`, which must not be DType{}
// or complex. A key's host type is uint64_t, which holds its two words. The host type of a storage
// dtype is the byte that it is stored in.
template <class F>
decltype(auto) VisitDType(DType dtype, F&& f) {
  switch (dtype.code()) {
    case DType::kBool:
      return f(bool{});
    case DType::kI2:
    case DType::kI4:
    case DType::kI8:
      return f(int8_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU2:
    case DType::kU4:
    case DType::kU8:
    case DType::kF8E3M4:
    case DType::kF8E4M3:
    case DType::kF8E4M3B11FNUZ:
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
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
