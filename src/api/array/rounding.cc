// Rounds numbers, and replaces NaN and infinities.
#include <cmath>
#include <limits>

#include "api/core/edits.h"
#include "base/dtype.h"
#include "base/float8.h"
#include "ops/params.h"

namespace tessera {

using namespace api;

namespace {

DType DTypeOf(const Array& x) { return TypeOf(x)->dtype(); }

// Rounds floats to whole numbers. Ints and bools stay as they are. The op refuses complex numbers.
Array RoundToWhole(const ir::OpDef& op, const Operand& x, Call call) {
  Array a = ToArray(x, call);
  if (!DTypeOf(a).is_inexact() && !base::StrictTypesActive()) return Same(a);
  return Run(op, nullptr, {a}, call);
}

double LargestFinite(DType t) {
  if (t.is_float8()) {
    const auto format = base::Float8Format::Of(t.code());
    return base::Float8ToFloat(format, format.most);
  }
  if (t == f16) return 65504;
  if (t == bf16) return 0x1.fep127;
  return t == f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
}

// Rounds integers to a multiple of 10^digits, ties to even. Returns zeros if the dtype cannot
// represent the power.
Array RoundInteger(const Array& x, int digits, Call call) {
  DType t = DTypeOf(x);
  Loc loc = call.loc;
  double power = std::pow(10, digits);
  if (power >= std::pow(2, t.bits() - (t.is_signed() ? 1 : 0))) return zeros_like(x, {}, loc);
  Array ten = StrongScalar(static_cast<uint64_t>(power), t, call);
  Array below = floor_divide(x, ten, {}, loc), rest = remainder(x, ten, {}, loc);
  Array to_next = sub(ten, rest, {}, loc);
  Array odd = ne(remainder(below, Operand(2, loc), {}, loc), Operand(0, loc), {}, loc);
  Array tie_up = bitwise_and(eq(rest, to_next, {}, loc), odd, {}, loc);
  Array up = bitwise_or(gt(rest, to_next, {}, loc), tie_up, {}, loc);
  return mul(add(below, up, {}, loc), ten, {}, loc);
}

// Rounds floats to `decimals`: scales by a power of ten, rounds, and scales back. f16 and bf16
// compute in f32.
Array RoundFloat(const ir::OpDef& op, const Array& x, int decimals, Call call) {
  DType t = DTypeOf(x), work = t.bits() < 32 ? f32 : t;
  Loc loc = call.loc;
  double power = std::pow(10, std::abs(decimals));
  if (decimals > 0 && power > LargestFinite(t)) return Same(x);  // more digits than any number has
  if (power > LargestFinite(work)) return mul(x, Operand(0, loc), {}, loc);
  Array wide = Convert(x, work, call), ten = StrongScalar(power, work, call);
  Array moved = decimals > 0 ? mul(wide, ten, {}, loc) : div(wide, ten, {}, loc);
  Array whole = Run(op, nullptr, {moved}, call);
  Array back = decimals > 0 ? div(whole, ten, {}, loc) : mul(whole, ten, {}, loc);
  return Convert(back, t, call);
}

}  // namespace

Array ceil(Operand x, Loc loc) {
  return RoundToWhole(ops::Elementwise(ops::ScalarOp::kCeil), x, {"ceil", loc});
}
Array floor(Operand x, Loc loc) {
  return RoundToWhole(ops::Elementwise(ops::ScalarOp::kFloor), x, {"floor", loc});
}

Array round(Operand x, RoundOptions options, Loc loc) {
  Call call{"round", loc};
  const ir::OpDef& op = options.away_from_zero ? ops::Elementwise(ops::ScalarOp::kRoundAway)
                                               : ops::Elementwise(ops::ScalarOp::kRoundEven);
  if (options.decimals == 0 && !DTypeOf(ToArray(x, call)).is_complex())
    return RoundToWhole(op, x, call);
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    Array a = ToArray(operand, call);
    if (DTypeOf(a).is_complex())
      return complex(round(real(a, loc), options, loc), round(imag(a, loc), options, loc), {}, loc);
    if (DTypeOf(a).is_floating()) return RoundFloat(op, a, options.decimals, call);
    bool tens = DTypeOf(a).is_integer() && options.decimals < 0;
    return tens ? RoundInteger(a, -options.decimals, call) : Same(a);
  });
}

Array rint(Operand x, Loc loc) {
  Call call{"rint", loc};
  Array a = ToArray(x, call);
  if (!DTypeOf(a).is_inexact()) return Convert(a, base::DefaultFloat(), call);
  return Run(ops::Elementwise(ops::ScalarOp::kRoundEven), nullptr, {a}, call);
}

Array reduce_precision(Operand x, int exponent_bits, int mantissa_bits, Loc loc) {
  const Call call{"reduce_precision", loc};
  return Run(ops::kReducePrecision,
             ir::MakeParams(ops::PrecisionParams{exponent_bits, mantissa_bits}), {ToArray(x, call)},
             call);
}

Array nan_to_num(Operand x, NanToNumOptions options, Loc loc) {
  Call call{"nan_to_num", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    Array a = ToArray(operand, call);
    DType t = DTypeOf(a);
    if (t.is_complex())
      return complex(nan_to_num(real(a, loc), options, loc), nan_to_num(imag(a, loc), options, loc),
                     {}, loc);
    if (!t.is_floating()) return Same(a);
    auto number = [&](double v) { return WeakScalar(v, t, call); };
    double inf = std::numeric_limits<double>::infinity(), largest = LargestFinite(t);
    // NaN is replaced first, so if options.nan is an infinity it is replaced next, as in JAX.
    a = where(isnan(a, loc), number(options.nan), a, {}, loc);
    a = where(eq(a, number(inf), {}, loc), number(options.posinf.value_or(largest)), a, {}, loc);
    a = where(eq(a, number(-inf), {}, loc), number(options.neginf.value_or(-largest)), a, {}, loc);
    return a;
  });
}

}  // namespace tessera
