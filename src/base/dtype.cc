// Names and sizes of dtypes, the promotion lattice, and the scopes that set default dtypes.
#include "base/dtype.h"

#include "base/error.h"
#include "base/float8.h"
#include "base/narrow_floats.h"
#include "tessera/dtype.h"

namespace tessera {
namespace {

struct Info {
  const char* name;
  int size, bits;
};
constexpr Info kInfo[] = {{"default", 0, 0},
                          {"bool", 1, 8},
                          {"i2", 1, 2},
                          {"i4", 1, 4},
                          {"i8", 1, 8},
                          {"i16", 2, 16},
                          {"i32", 4, 32},
                          {"i64", 8, 64},
                          {"u2", 1, 2},
                          {"u4", 1, 4},
                          {"u8", 1, 8},
                          {"u16", 2, 16},
                          {"u32", 4, 32},
                          {"u64", 8, 64},
                          {"f8_e3m4", 1, 8},
                          {"f8_e4m3", 1, 8},
                          {"f8_e4m3b11fnuz", 1, 8},
                          {"f8_e4m3fn", 1, 8},
                          {"f8_e4m3fnuz", 1, 8},
                          {"f8_e5m2", 1, 8},
                          {"f8_e5m2fnuz", 1, 8},
                          {"f16", 2, 16},
                          {"bf16", 2, 16},
                          {"f32", 4, 32},
                          {"f64", 8, 64},
                          {"c64", 8, 64},
                          {"c128", 16, 128},
                          {"key<fry>", 8, 64}};

static_assert(std::size(kInfo) == DType::kKey + 1);
// The class tests of DType compare codes, so they need this order.
static_assert(DType::kI64 == DType::kI2 + 5 && DType::kU2 == DType::kI64 + 1 &&
              DType::kU64 == DType::kU2 + 5 && DType::kF8E3M4 == DType::kU64 + 1 &&
              DType::kF8E5M2FNUZ == DType::kF8E3M4 + 6 && DType::kF16 == DType::kF8E5M2FNUZ + 1 &&
              DType::kF64 == DType::kF16 + 3 && DType::kC128 == DType::kF64 + 2 &&
              DType::kKey == DType::kC128 + 1);

thread_local DType default_int = i32, default_float = f32;
thread_local bool strict_types = false;

// Whether `a` has more bits than `b`, for promotion within a class of dtypes.
bool Wider(DType a, DType b) { return a.size() > b.size(); }

[[noreturn]] void FailPromotion(std::string reason, std::vector<std::string> notes = {}) {
  throw DTypeError({.kind = "DTypeError",
                    .op = "promote_types",
                    .label = "promote_types.C13",
                    .where = "",
                    .reason = std::move(reason),
                    .operands = {},
                    .notes = std::move(notes),
                    .fixes = {}});
}

}  // namespace

const char* DType::name() const { return kInfo[code_].name; }
int DType::size() const { return kInfo[code_].size; }
int DType::bits() const { return kInfo[code_].bits; }

Float16::Float16(float v) : bits(base::FloatToHalf(v)) {}
Float16::operator float() const { return base::HalfToFloat(bits); }
BFloat16::BFloat16(float v) : bits(base::FloatToBrain(v)) {}
BFloat16::operator float() const { return base::BrainToFloat(bits); }

template <DType::Code kCode>
Float8<kCode>::Float8(float v)
    : bits(static_cast<uint8_t>(base::FloatToFloat8(base::Float8Format::Of(kCode), v))) {}
template <DType::Code kCode>
Float8<kCode>::operator float() const {
  return base::Float8ToFloat(base::Float8Format::Of(kCode), bits);
}
template struct Float8<DType::kF8E3M4>;
template struct Float8<DType::kF8E4M3>;
template struct Float8<DType::kF8E4M3B11FNUZ>;
template struct Float8<DType::kF8E4M3FN>;
template struct Float8<DType::kF8E4M3FNUZ>;
template struct Float8<DType::kF8E5M2>;
template struct Float8<DType::kF8E5M2FNUZ>;

double Scalar::as_double() const {
  if (kind_ == kFloat || kind_ == kComplex) return float_;
  return kind_ == kUInt ? static_cast<double>(static_cast<uint64_t>(int_))
                        : static_cast<double>(int_);
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (a.is_key() || b.is_key())
    FailPromotion(std::string("random keys do not promote with other dtypes: ") + a.name() +
                  " and " + b.name());
  if (b.is_bool()) return a;
  if (a.is_bool()) return b;
  if (a.is_storage() || b.is_storage()) {
    const DType storage = a.is_storage() ? a : b, other = a.is_storage() ? b : a;
    if (base::Promotes(a, b)) return storage;
    FailPromotion(std::string(storage.name()) + " does not promote with " + other.name(),
                  {std::string("convert one of them, e.g. with .astype(") + other.name() + ")"});
  }
  if (a.is_complex() != b.is_complex()) {
    const DType complex = a.is_complex() ? a : b, real = a.is_complex() ? b : a;
    return real == f64 ? c128 : complex;
  }
  if (a.is_complex()) return Wider(a, b) ? a : b;
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
  if (!integer.is_integer() || !floating.is_floating() || integer.is_storage() ||
      floating.is_storage())
    throw DTypeError(
        {.kind = "DTypeError",
         .op = "DefaultDtypes",
         .label = "DefaultDtypes.C1",
         .where = base::Where(loc),
         .reason =
             std::string("the default dtypes must be an integer and a floating-point dtype, not ") +
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

bool Promotes(DType a, DType b) {
  if (a == b) return true;
  if (a.is_key() || b.is_key()) return false;
  if (a.is_bool() || b.is_bool() || (!a.is_storage() && !b.is_storage())) return true;
  const DType storage = a.is_storage() ? a : b, other = a.is_storage() ? b : a;
  return storage.is_float8() && other.is_integer() && !other.is_storage();
}

DType ParseDType(std::string_view name) {
  for (int code = DType::kBool; code <= DType::kKey; ++code)
    if (name == kInfo[code].name) return DType(static_cast<DType::Code>(code));
  return DType{};
}
}  // namespace base

}  // namespace tessera
