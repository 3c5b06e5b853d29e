#include "tessera/dtype.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace tessera {
namespace {

struct Info {
  const char* name;
  int size;
};
constexpr Info kInfo[] = {{"default", 0}, {"bool", 1}, {"i8", 1},  {"i16", 2}, {"i32", 4},
                          {"i64", 8},     {"u8", 1},   {"u16", 2}, {"u32", 4}, {"u64", 8},
                          {"f16", 2},     {"bf16", 2}, {"f32", 4}, {"f64", 8}};

uint16_t ToHalf(float v) {
  uint32_t x = std::bit_cast<uint32_t>(v), sign = (x >> 16) & 0x8000;
  x &= 0x7fffffff;
  if (x > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
  if (x >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (x < 0x38800000) {  // subnormal in f16: let the float adder round at the right bit
    float shifted = std::bit_cast<float>(x) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  x += 0xfff + ((x >> 13) & 1) - 0x38000000;
  return static_cast<uint16_t>(sign | (x >> 13));
}

float FromHalf(uint16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, body = h & 0x7fff;
  if (body >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (body & 0x3ff) << 13);
  if (body < 0x400) {
    float magnitude = std::ldexp(static_cast<float>(body), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((body << 13) + 0x38000000));
}

thread_local DType default_int = i32, default_float = f32;
thread_local bool strict_types = false;

// Rank of a dtype within its kind, for promotion inside the kind.
bool Wider(DType a, DType b) { return a.size() > b.size(); }

}  // namespace

const char* DType::name() const { return kInfo[code_].name; }
int DType::size() const { return kInfo[code_].size; }

Float16::Float16(float v) : bits(ToHalf(v)) {}
Float16::operator float() const { return FromHalf(bits); }

BFloat16::BFloat16(float v) {
  uint32_t x = std::bit_cast<uint32_t>(v);
  if (std::isnan(v))
    bits = static_cast<uint16_t>((x >> 16) | 0x40);
  else
    bits = static_cast<uint16_t>((x + 0x7fff + ((x >> 16) & 1)) >> 16);
}
BFloat16::operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

double Scalar::as_double() const {
  if (kind_ == kFloat) return float_;
  return kind_ == kUInt ? static_cast<double>(static_cast<uint64_t>(int_))
                        : static_cast<double>(int_);
}

DType promote_types(DType a, DType b) {
  if (a == b || b.is_bool()) return a;
  if (a.is_bool()) return b;
  if (a.is_floating() != b.is_floating()) return a.is_floating() ? a : b;
  if (a.is_floating()) {
    if (a.size() == b.size()) return f32;  // f16 with bf16
    return Wider(a, b) ? a : b;
  }
  if (a.is_signed() == b.is_signed()) return Wider(a, b) ? a : b;
  DType s = a.is_signed() ? a : b, u = a.is_signed() ? b : a;
  if (s.size() > u.size()) return s;
  switch (u.size()) {
    case 1:
      return i16;
    case 2:
      return i32;
    case 4:
      return i64;
    default:
      return default_float;
  }
}

DefaultDtypes::DefaultDtypes(DType integer, DType floating, Loc loc)
    : old_integer_(default_int), old_floating_(default_float) {
  if (!integer.is_integer() || !floating.is_floating())
    throw DTypeError(
        {.kind = "DTypeError",
         .op = "DefaultDtypes",
         .label = "DefaultDtypes.C1",
         .where = base::Where(loc),
         .reason = std::string("the defaults are an integer and a floating dtype, not ") +
                   integer.name() + " and " + floating.name(),
         .operands = {},
         .notes = {"write DefaultDtypes scope(i64, f64)"},
         .fixes = {}});
  default_int = integer;
  default_float = floating;
}
DefaultDtypes::~DefaultDtypes() {
  default_int = old_integer_;
  default_float = old_floating_;
}

StrictTypes::StrictTypes() : old_(strict_types) { strict_types = true; }
StrictTypes::~StrictTypes() { strict_types = old_; }

namespace base {
DType DefaultInt() { return default_int; }
DType DefaultFloat() { return default_float; }
bool StrictTypesActive() { return strict_types; }

DType ParseDType(std::string_view name) {
  for (int code = DType::kBool; code <= DType::kF64; ++code)
    if (name == kInfo[code].name) return DType(static_cast<DType::Code>(code));
  return DType{};
}
}  // namespace base

}  // namespace tessera
