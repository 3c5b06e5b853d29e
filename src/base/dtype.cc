// Names and sizes of dtypes, the promotion lattice, and the scopes that set default dtypes.
#include "base/dtype.h"

#include "base/error.h"
#include "base/narrow_floats.h"
#include "tessera/dtype.h"

namespace tessera {
namespace {

struct Info {
  const char* name;
  int size;
};
constexpr Info kInfo[] = {{"default", 0}, {"bool", 1},    {"i8", 1},  {"i16", 2}, {"i32", 4},
                          {"i64", 8},     {"u8", 1},      {"u16", 2}, {"u32", 4}, {"u64", 8},
                          {"f16", 2},     {"bf16", 2},    {"f32", 4}, {"f64", 8}, {"c64", 8},
                          {"c128", 16},   {"key<fry>", 8}};

static_assert(std::size(kInfo) == DType::kKey + 1);
// The class tests of DType compare codes, so they need this order.
static_assert(DType::kI64 == DType::kI8 + 3 && DType::kU8 == DType::kI64 + 1 &&
              DType::kU64 == DType::kU8 + 3 && DType::kF16 == DType::kU64 + 1 &&
              DType::kF64 == DType::kF16 + 3 && DType::kC128 == DType::kF64 + 2 &&
              DType::kKey == DType::kC128 + 1);

thread_local DType default_int = i32, default_float = f32;
thread_local bool strict_types = false;

// Whether `a` has more bits than `b`, for promotion within a class of dtypes.
bool Wider(DType a, DType b) { return a.size() > b.size(); }

}  // namespace

const char* DType::name() const { return kInfo[code_].name; }
int DType::size() const { return kInfo[code_].size; }

Float16::Float16(float v) : bits(base::FloatToHalf(v)) {}
Float16::operator float() const { return base::HalfToFloat(bits); }
BFloat16::BFloat16(float v) : bits(base::FloatToBrain(v)) {}
BFloat16::operator float() const { return base::BrainToFloat(bits); }

double Scalar::as_double() const {
  if (kind_ == kFloat || kind_ == kComplex) return float_;
  return kind_ == kUInt ? static_cast<double>(static_cast<uint64_t>(int_))
                        : static_cast<double>(int_);
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (a.is_key() || b.is_key())
    throw DTypeError({.kind = "DTypeError",
                      .op = "promote_types",
                      .label = "promote_types.C13",
                      .where = "",
                      .reason = std::string("random keys do not promote with other dtypes: ") +
                                a.name() + " and " + b.name(),
                      .operands = {},
                      .notes = {},
                      .fixes = {}});
  if (b.is_bool()) return a;
  if (a.is_bool()) return b;
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
  if (!integer.is_integer() || !floating.is_floating())
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

DType ParseDType(std::string_view name) {
  for (int code = DType::kBool; code <= DType::kKey; ++code)
    if (name == kInfo[code].name) return DType(static_cast<DType::Code>(code));
  return DType{};
}
}  // namespace base

}  // namespace tessera
