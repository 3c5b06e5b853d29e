// Element types, their promotion, and the scopes that change the defaults.
#pragma once
#include <complex>
#include <cstdint>
#include <type_traits>

#include "tessera/error.h"

namespace TESSERA_PUBLIC tessera {

// The type of an array's elements. DType{} means the default dtype.
class DType {
 public:
  enum Code : uint8_t {
    kDefault,
    kBool,
    kI2,
    kI4,
    kI8,
    kI16,
    kI32,
    kI64,
    kU2,
    kU4,
    kU8,
    kU16,
    kU32,
    kU64,
    kF8E3M4,
    kF8E4M3,
    kF8E4M3B11FNUZ,
    kF8E4M3FN,
    kF8E4M3FNUZ,
    kF8E5M2,
    kF8E5M2FNUZ,
    kF16,
    kBF16,
    kF32,
    kF64,
    kC64,
    kC128,
    kKey  // a random key (random.h): it can be moved, but is no number
  };
  constexpr DType() = default;
  constexpr explicit DType(Code code) : code_(code) {}
  constexpr Code code() const { return code_; }
  constexpr bool is_default() const { return code_ == kDefault; }
  constexpr bool is_bool() const { return code_ == kBool; }
  constexpr bool is_signed() const { return code_ >= kI2 && code_ <= kI64; }
  constexpr bool is_unsigned() const { return code_ >= kU2 && code_ <= kU64; }
  constexpr bool is_integer() const { return code_ >= kI2 && code_ <= kU64; }
  // A real floating-point dtype.
  constexpr bool is_floating() const { return code_ >= kF8E3M4 && code_ <= kF64; }
  constexpr bool is_complex() const { return code_ == kC64 || code_ == kC128; }
  constexpr bool is_inexact() const { return is_floating() || is_complex(); }
  constexpr bool is_key() const { return code_ == kKey; }
  constexpr bool is_float8() const { return code_ >= kF8E3M4 && code_ <= kF8E5M2FNUZ; }
  // A dtype to store numbers in: f8 and integers of 2 and 4 bits. Ops compute in f32, i8 or u8, and
  // round or wrap their results. These dtypes promote with bool and weak numbers alone, and
  // f8 with integers of 8 bits or more.
  constexpr bool is_storage() const {
    return is_float8() || code_ == kI2 || code_ == kI4 || code_ == kU2 || code_ == kU4;
  }
  // Returns the name in type text: "f32", "f8_e4m3fn", "bool", "key<fry>".
  const char* name() const;
  // Returns the size of one element in bytes, in files and in the memory of a simulated device.
  int size() const;
  // Returns the number of bits that an element needs. Reports count these.
  int bits() const;
  friend constexpr bool operator==(DType, DType) = default;

 private:
  Code code_ = kDefault;
};

inline constexpr DType bool_{DType::kBool}, i2{DType::kI2}, i4{DType::kI4}, i8{DType::kI8},
    i16{DType::kI16}, i32{DType::kI32}, i64{DType::kI64}, u2{DType::kU2}, u4{DType::kU4},
    u8{DType::kU8}, u16{DType::kU16}, u32{DType::kU32}, u64{DType::kU64}, f8_e3m4{DType::kF8E3M4},
    f8_e4m3{DType::kF8E4M3}, f8_e4m3b11fnuz{DType::kF8E4M3B11FNUZ}, f8_e4m3fn{DType::kF8E4M3FN},
    f8_e4m3fnuz{DType::kF8E4M3FNUZ}, f8_e5m2{DType::kF8E5M2}, f8_e5m2fnuz{DType::kF8E5M2FNUZ},
    f16{DType::kF16}, bf16{DType::kBF16}, f32{DType::kF32}, f64{DType::kF64}, c64{DType::kC64},
    c128{DType::kC128}, key_dtype{DType::kKey};

// Host element types for f16 and bf16. They convert to and from float, rounding to nearest even.
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float v);
  explicit operator float() const;
};
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float v);
  explicit operator float() const;
};

// Host element types of 8 bits. They convert to and from float as ml_dtypes does: to nearest even,
// and numbers beyond the range become infinite, or NaN in formats without infinities.
template <DType::Code kCode>
struct Float8 {
  uint8_t bits = 0;
  Float8() = default;
  explicit Float8(float v);
  explicit operator float() const;
};
using Float8E3M4 = Float8<DType::kF8E3M4>;
using Float8E4M3 = Float8<DType::kF8E4M3>;
using Float8E4M3B11FNUZ = Float8<DType::kF8E4M3B11FNUZ>;
using Float8E4M3FN = Float8<DType::kF8E4M3FN>;
using Float8E4M3FNUZ = Float8<DType::kF8E4M3FNUZ>;
using Float8E5M2 = Float8<DType::kF8E5M2>;
using Float8E5M2FNUZ = Float8<DType::kF8E5M2FNUZ>;

// Host element types of 2 and 4 bits, one in a byte. They keep the low bits of an integer.
template <DType::Code kCode>
struct SmallInteger {
  int8_t value = 0;  // of an unsigned dtype: 0 to 15
  SmallInteger() = default;
  explicit constexpr SmallInteger(int v) {
    constexpr int kBits = kCode == DType::kI2 || kCode == DType::kU2 ? 2 : 4;
    constexpr bool kSigned = kCode == DType::kI2 || kCode == DType::kI4;
    const int low = v & ((1 << kBits) - 1);
    value = static_cast<int8_t>(kSigned && (low >> (kBits - 1)) != 0 ? low - (1 << kBits) : low);
  }
  explicit constexpr operator int() const { return value; }
};
using Int2 = SmallInteger<DType::kI2>;
using Int4 = SmallInteger<DType::kI4>;
using UInt2 = SmallInteger<DType::kU2>;
using UInt4 = SmallInteger<DType::kU4>;

namespace detail {
template <class T>
inline constexpr DType kStorageDType{};
template <DType::Code kCode>
inline constexpr DType kStorageDType<Float8<kCode>>{kCode};
template <DType::Code kCode>
inline constexpr DType kStorageDType<SmallInteger<kCode>>{kCode};
}  // namespace detail

// Returns the dtype whose elements have the host type T.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return bool_;
  else if constexpr (std::is_same_v<T, Float16>)
    return f16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return bf16;
  else if constexpr (std::is_same_v<T, float>)
    return f32;
  else if constexpr (std::is_same_v<T, double>)
    return f64;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return c64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return c128;
  else if constexpr (!detail::kStorageDType<T>.is_default())
    return detail::kStorageDType<T>;
  else {
    static_assert(std::is_integral_v<T>, "not an element type");
    constexpr bool s = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1)
      return s ? i8 : u8;
    else if constexpr (sizeof(T) == 2)
      return s ? i16 : u16;
    else if constexpr (sizeof(T) == 4)
      return s ? i32 : u32;
    else
      return s ? i64 : u64;
  }
}

// Returns the smallest dtype that a and b promote to, in JAX's lattice of strong types: u64 with a
// signed int gives the default float, an int never widens a float, and f16 with bf16 gives f32.
// A complex dtype with a real one is c128 if either has parts of 64 bits and is inexact, or else
// c64. Throws DTypeError for a key with a number, and for a storage dtype with another dtype but
// bool, and integers of 8 bits or more for f8.
DType promote_types(DType a, DType b);

// Scope: sets the dtypes of weak ints and floats, and of creation functions without a dtype.
class [[nodiscard]] DefaultDtypes {
 public:
  [[nodiscard]] DefaultDtypes(DType integer, DType floating, Loc loc = Loc::Current());
  ~DefaultDtypes();
  DefaultDtypes(const DefaultDtypes&) = delete;

 private:
  DType old_integer_, old_floating_;
};

// Scope: binary functions refuse operands whose dtypes or ranks differ instead of promoting them.
class [[nodiscard]] StrictTypes {
 public:
  [[nodiscard]] StrictTypes();
  ~StrictTypes();
  StrictTypes(const StrictTypes&) = delete;

 private:
  bool old_;
};

template <class T>
concept RealNumber =
    std::is_arithmetic_v<T> && !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> &&
    !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>;

template <class T>
concept ComplexNumber =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <class T>
concept Number = RealNumber<T> || ComplexNumber<T>;

// An integer that counts or names something: a size, a dim, an index.
template <class T>
concept Integer = RealNumber<T> && std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
concept IntegerReference = Integer<std::remove_cvref_t<T>>;

// One host number with its kind.
class Scalar {
 public:
  enum Kind : uint8_t { kBool, kInt, kUInt, kFloat, kComplex };
  template <Number T>
  Scalar(T v) {  // implicit: a number is a Scalar
    if constexpr (std::is_same_v<T, bool>)
      kind_ = kBool, int_ = v;
    else if constexpr (ComplexNumber<T>)
      kind_ = kComplex, float_ = v.real(), imag_ = v.imag();
    else if constexpr (std::is_floating_point_v<T>)
      kind_ = kFloat, float_ = static_cast<double>(v);
    else if constexpr (std::is_unsigned_v<T>)
      kind_ = kUInt, int_ = static_cast<int64_t>(v);
    else
      kind_ = kInt, int_ = static_cast<int64_t>(v);
  }
  Kind kind() const { return kind_; }
  // Returns the value converted to double: the real part of a complex number.
  double as_double() const;
  std::complex<double> as_complex() const { return {as_double(), imag_}; }
  // Returns the bits of an integer or bool; a kUInt in two's complement.
  int64_t as_int() const { return int_; }

 private:
  Kind kind_;
  int64_t int_ = 0;
  double float_ = 0, imag_ = 0;
};

}  // namespace tessera
