// Scalar arithmetic shared by kernels that are plain loops.
#pragma once
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/narrow_floats.h"
#include "kernels/elements/complex_math.h"
#include "tessera/dtype.h"

namespace tessera::kernels {

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

// Converts between host types. From float to int it saturates, and NaN gives 0; from int to int
// it wraps.
template <class To, class From>
inline To Cast(From v) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // 2^digits, the first number above To's range, is exact in From; so is the lowest of To.
    constexpr From kEnd = From(uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
    constexpr From kLow = static_cast<From>(std::numeric_limits<To>::lowest());
    if (v >= kEnd) return std::numeric_limits<To>::max();
    if (v <= kLow) return std::numeric_limits<To>::lowest();
    return v == v ? static_cast<To>(v) : To{0};
  } else {
    return static_cast<To>(v);
  }
}

// Returns the float next to v whose last bit is set, or v itself if it is a float. Rounding the
// result to f16 or bf16 gives the same as rounding v directly (Boldo and Melquiond 2008, "rounding
// to odd").
template <class From>
inline float RoundToOdd(From v) {
  constexpr bool kLong = std::is_integral_v<From> && sizeof(From) == 8;
  const std::conditional_t<kLong, long double, double> exact = v;
  const float nearest = static_cast<float>(v);
  const auto bits = std::bit_cast<uint32_t>(nearest);
  if (exact != exact || nearest == exact || (bits & 1) != 0) return nearest;
  const bool outwards = (nearest < exact) == (exact > 0);
  return std::bit_cast<float>(outwards ? bits + 1 : bits - 1);
}

// Whether complex numbers are in order: by their real parts, or if these are equal by their
// imaginary parts. As in JAX, NaN is neither smaller nor larger.
template <class T>
inline bool IsLess(std::complex<T> a, std::complex<T> b) {
  return a.real() == b.real() ? a.imag() < b.imag() : a.real() < b.real();
}

// Returns the larger one. NaN wins; -0 < +0. For complex numbers: see IsLess.
template <class T>
inline T Larger(T a, T b) {
  if constexpr (kIsComplex<T>) {
    return IsLess(b, a) ? a : b;
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a || b != b) return a + b;
      if (a == b) return std::signbit(a) ? b : a;
    }
    return a > b ? a : b;
  }
}
template <class T>
inline T Smaller(T a, T b) {
  if constexpr (kIsComplex<T>) {
    return IsLess(a, b) ? a : b;
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a || b != b) return a + b;
      if (a == b) return std::signbit(a) ? a : b;
    }
    return a < b ? a : b;
  }
}

// Sums and products that wrap. Signed overflow is undefined, so they use unsigned types; types of
// fewer than 32 bits are widened first, because they would be promoted to signed int.
template <class T>
inline T WrapAdd(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <class T>
inline T WrapMul(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else if constexpr (kIsComplex<T>)
    return ComplexProduct(a, b);
  else
    return a * b;
}

// The type in which elements of host type T are computed, with conversions to it and
// back (rounding).
template <class T>
struct ComputeOf {
  using Type = T;
};
template <>
struct ComputeOf<Float16> {
  using Type = float;
};
template <>
struct ComputeOf<BFloat16> {
  using Type = float;
};
template <class T>
using Compute = typename ComputeOf<T>::Type;

template <class T>
inline Compute<T> Widen(T v) {
  if constexpr (std::is_same_v<T, Float16>)
    return base::HalfToFloat(v.bits);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return base::BrainToFloat(v.bits);
  else
    return v;
}
template <class T>
inline T Narrow(Compute<T> v) {
  return T(v);
}

// Converts to or from a complex type. A real result is the real part.
template <class To, class From>
inline To CastComplex(From v) {
  if constexpr (kIsComplex<To> && kIsComplex<From>)
    return To(v);
  else if constexpr (kIsComplex<To>)
    return To(Cast<typename To::value_type>(v));
  else
    return To(Cast<Compute<To>>(v.real()));
}

}  // namespace tessera::kernels
