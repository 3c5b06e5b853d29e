// NumPy's elementwise functions as formulas of ops.
#include "tessera/arithmetic.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "api/core/slopes.h"
#include "base/dtype.h"
#include "tessera/control.h"

namespace tessera {

using namespace api;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Returns the signed ints of the dtype's width.
DType IntsOf(DType t) {
  return t.size() == 8 ? i64 : t.size() == 4 ? i32 : t.size() == 2 ? i16 : i8;
}

Located SignBit(const Located& x) {
  if (!x.dtype().is_floating()) return x < 0;
  return x.With(bitcast_convert_type(x, IntsOf(x.dtype()), x.loc())) < 0;
}

Located Trunc(const Located& x) { return If(x < 0, x.With(ceil(x, x.loc())), Floor(x)); }

// C14: throws DTypeError unless both are ints.
std::vector<Array> Ints(const Operand& a, const Operand& b, Call call) {
  std::vector<Array> xs = Promote({a, b}, call);
  const DType t = TypeOf(xs[0])->dtype();
  if (!t.is_integer()) FailDType(call, 14, fmt::format("it takes ints, not {}", t.name()));
  // Both have the shape and the layout of the two together, as the loop keeps its types.
  const Located x(abs(xs[0], call.loc), call.loc), y(abs(xs[1], call.loc), call.loc);
  return {x + y * 0, y + x * 0};
}

// By Euclid: the pair becomes (b, a mod b) until all b are 0. The lowest int has no absolute value,
// so that rests may be negative.
Located Gcd(const std::vector<Array>& xs, Loc loc) {
  const auto pair = while_loop(
      [loc](std::pair<Array, Array> v) {
        return any(ne(v.second, Operand(0, loc), {}, loc), All, {}, loc);
      },
      [loc](std::pair<Array, Array> v) {
        const Located a(v.first, loc), b(v.second, loc);
        const Located is_open = b != 0;
        const Array rest = rem(a, If(is_open, b, 1), {}, loc);
        return std::pair<Array, Array>(If(is_open, b, a), If(is_open, a.With(rest), 0));
      },
      std::pair<Array, Array>(xs[0], xs[1]), loc);
  return {abs(pair.first, loc), loc};
}

// Returns 2^n for ints n that are normal numbers' exponents.
Located PowerOfTwo(const Located& n, DType t, Call call) {
  const int mantissa = t == f64 ? 52 : t == f32 ? 23 : t == f16 ? 10 : 7;
  const int bias = t == f64 ? 1023 : t == f16 ? 15 : 127;
  const DType bits = IntsOf(t);
  const Located field(Convert(n + bias, bits, call), call.loc);
  const Array shifted = shift_left(field, StrongScalar(mantissa, bits, call), {}, call.loc);
  return n.With(bitcast_convert_type(shifted, t, call.loc));
}

int64_t MostExponent(DType t) { return t == f64 ? 1023 : t == f16 ? 15 : 127; }

}  // namespace

Array copysign(Operand a, Operand b, Loc loc) {
  return FloatFormula(
      {"copysign", loc}, {"a", a}, {"b", b},
      [](const Located& x, const Located& y) { return If(SignBit(x) != SignBit(y), -x, x); });
}
Array signbit(Operand x, Loc loc) { return Formula({"signbit", loc}, x, SignBit); }
Array heaviside(Operand x, Operand h, Loc loc) {
  const Call call{"heaviside", loc};
  return FloatFormula(call, {"x", x}, {"h", h}, [call](const Located& a, const Located& middle) {
    CheckReal(a, call);
    return If(a < 0, 0.0, If(a > 0, 1.0, If(a == 0, middle, a)));
  });
}
Array fmax(Operand a, Operand b, Loc loc) {
  const Call call{"fmax", loc};
  return AsOne(call, {a, b}, [&](const Operand& lhs, const Operand& rhs) -> Array {
    const std::vector<Array> xs = Promote({lhs, rhs}, call);
    const Located x(xs[0], loc), y(xs[1], loc);
    return If((x > y) | IsNan(y), x, y);
  });
}
Array fmin(Operand a, Operand b, Loc loc) {
  const Call call{"fmin", loc};
  return AsOne(call, {a, b}, [&](const Operand& lhs, const Operand& rhs) -> Array {
    const std::vector<Array> xs = Promote({lhs, rhs}, call);
    const Located x(xs[0], loc), y(xs[1], loc);
    return If((x < y) | IsNan(y), x, y);
  });
}
Array float_power(Operand a, Operand b, Loc loc) {
  const Call call{"float_power", loc};
  return AsOne(call, {a, b}, [&](const Operand& lhs, const Operand& rhs) {
    std::vector<Array> xs = PromoteFloat({lhs, rhs}, call);
    const DType t = promote_types(TypeOf(xs[0])->dtype(), base::DefaultFloat());
    return pow(Convert(xs[0], t, call), Convert(xs[1], t, call), {}, loc);
  });
}
Array gcd(Operand a, Operand b, Loc loc) {
  const Call call{"gcd", loc};
  return AsOne(call, {a, b}, [&](const Operand& lhs, const Operand& rhs) -> Array {
    return Gcd(Ints(lhs, rhs, call), loc);
  });
}
Array lcm(Operand a, Operand b, Loc loc) {
  const Call call{"lcm", loc};
  return AsOne(call, {a, b}, [&](const Operand& lhs, const Operand& rhs) -> Array {
    const std::vector<Array> xs = Ints(lhs, rhs, call);
    const Located divisor = Gcd(xs, loc);
    const Array times = div(xs[0], If(divisor == 0, 1, divisor), {}, loc);
    return Abs(Located(times, loc) * Located(xs[1], loc));
  });
}

// The power has three factors, because one alone may be out of range where the product is not.
Array ldexp(Operand x, Operand n, Loc loc) {
  const Call call{"ldexp", loc};
  return AsOne(call, {{"x", x}, {"n", n}}, [&](const Operand& operand, const Operand& by) -> Array {
    Located y(ToFloat(operand, call), loc);
    const DType t = y.dtype();
    const Array power = ToArray(by, call);
    if (TypeOf(power)->dtype().is_inexact())
      FailDType(call, 14,
                fmt::format("the power is an int, not {}", TypeOf(power)->dtype().name()));
    const int64_t most = MostExponent(t);
    const Operand low(1 - most, loc), high(most, loc);
    Located rest(
        Convert(power, TypeOf(power)->dtype().size() < 4 ? i32 : TypeOf(power)->dtype(), call),
        loc);
    for (int i = 0; i < 3; ++i) {
      const Located step = rest.With(clip(rest, low, high, loc));
      y = y * PowerOfTwo(step, t, call);
      rest = rest - step;
    }
    return y;
  });
}

std::pair<Array, Array> frexp(Operand x, Loc loc) {
  const Call call{"frexp", loc};
  const std::vector<Array> made =
      AsOne(call, {x}, [&](const Operand& operand) -> std::vector<Array> {
        const Located a(ToFloat(operand, call), loc);
        CheckReal(a, call);
        const DType t = a.dtype(), bits = IntsOf(t);
        const int mantissa = t == f64 ? 52 : t == f32 ? 23 : t == f16 ? 10 : 7;
        const int64_t bias = MostExponent(t);
        // Subnormals are scaled into the normal range first.
        const Located is_small = Abs(a) < std::ldexp(1.0, static_cast<int>(1 - bias));
        const Located scaled = If(is_small, a * std::ldexp(1.0, mantissa), a);
        const Located word(bitcast_convert_type(scaled, bits, loc), loc);
        const Array field =
            bitwise_and(shift_right_logical(word, StrongScalar(mantissa, bits, call), {}, loc),
                        StrongScalar(2 * bias + 1, bits, call), {}, loc);
        const Located exponent(Convert(field, i32, call), loc);
        const Located n = exponent - If(is_small, bias - 1 + mantissa, bias - 1);
        const Located is_special = (a == 0) | (exponent == 2 * bias + 1);
        // In two steps, because the power of the largest numbers is not a normal number.
        const Located power = If(is_special, 0, exponent - (bias - 1));
        const Located m = scaled * 0.25 * PowerOfTwo(2 - power, t, call);
        return {If(is_special, a, m), Convert(If(is_special, 0, n), i32, call)};
      });
  return {made[0], made[1]};
}

std::pair<Array, Array> modf(Operand x, Loc loc) {
  const Call call{"modf", loc};
  const std::vector<Array> made =
      AsOne(call, {x}, [&](const Operand& operand) -> std::vector<Array> {
        const Located a(ToFloat(operand, call), loc);
        CheckReal(a, call);
        const Located whole = Trunc(a);
        return {If(Abs(a) == kInf, 0.0, a - whole), whole};
      });
  return {made[0], made[1]};
}
std::pair<Array, Array> divmod(Operand a, Operand b, Loc loc) {
  const std::vector<Array> made =
      AsOne({"divmod", loc}, {a, b}, [&](const Operand& x, const Operand& y) -> std::vector<Array> {
        return {floor_divide(x, y, {}, loc), remainder(x, y, {}, loc)};
      });
  return {made[0], made[1]};
}
Array trunc(Operand x, Loc loc) {
  return Formula({"trunc", loc}, x,
                 [](const Located& a) { return a.dtype().is_inexact() ? Trunc(a) : a; });
}
Array fabs(Operand x, Loc loc) {
  const Call call{"fabs", loc};
  return FloatFormula(call, x, [&](const Located& a) {
    CheckReal(a, call);
    return Abs(a);
  });
}
Array sinc(Operand x, Loc loc) {
  return FloatFormula({"sinc", loc}, x, [](const Located& a) {
    const Located angle = std::numbers::pi * a;
    if (a.dtype().is_complex()) return SineQuotient(angle);
    // Far from 0 the product's rounding error would be more than the sine.
    const Located is_near = Abs(a) < 0.5, whole = a.With(round(a, {}, a.loc()));
    const Located is_odd = a.With(remainder(whole, Operand(2, a.loc()), {}, a.loc())) != 0;
    const Located sine = Sin(std::numbers::pi * (a - whole));
    const Located far = If(is_odd, -sine, sine) / If(is_near, 1.0, angle);
    return If(is_near, SineQuotient(If(is_near, angle, 0.0)), far);
  });
}
Array logaddexp2(Operand a, Operand b, Loc loc) {
  return FloatFormula({"logaddexp2", loc}, {"a", a}, {"b", b},
                      [loc](const Located& x, const Located& y) {
                        const double ln2 = std::numbers::ln2;
                        return x.With(logaddexp(x * ln2, y * ln2, {}, loc)) / ln2;
                      });
}
Array degrees(Operand x, Loc loc) {
  return FloatFormula({"degrees", loc}, x,
                      [](const Located& a) { return a * (180 / std::numbers::pi); });
}
Array radians(Operand x, Loc loc) {
  return FloatFormula({"radians", loc}, x,
                      [](const Located& a) { return a * (std::numbers::pi / 180); });
}
Array positive(Operand x, Loc loc) {
  const Call call{"positive", loc};
  const Array a = ToArray(x, call);
  if (TypeOf(a)->dtype().is_bool()) FailDType(call, 14, "a bool has no sign");
  return Same(a);
}
Array spacing(Operand x, Loc loc) {
  return FloatFormula({"spacing", loc}, x, [loc](const Located& a) {
    const Located away = If(SignBit(a), -kInf, kInf);
    const Array direction = astype(away, a.dtype(), loc);
    return a.With(nextafter(a, direction, {}, loc)) - a;
  });
}
Array isposinf(Operand x, Loc loc) {
  return Formula({"isposinf", loc}, x, [](const Located& a) { return a == kInf; });
}
Array isneginf(Operand x, Loc loc) {
  return Formula({"isneginf", loc}, x, [](const Located& a) { return a == -kInf; });
}
Array iscomplex(Operand x, Loc loc) {
  return Formula({"iscomplex", loc}, x,
                 [loc](const Located& a) { return a.With(imag(a, loc)) != 0; });
}
Array array_equiv(Operand a, Operand b, Loc loc) {
  const Call call{"array_equiv", loc};
  return AsOne(call, {a, b}, [&](const Operand& lhs, const Operand& rhs) {
    base::Shape shape = ShapeOf(ToArray(lhs, call));
    const base::Shape other = ShapeOf(ToArray(rhs, call));
    if (other.size() > shape.size()) shape.insert(shape.begin(), other.size() - shape.size(), 1);
    if (!BroadcastWith(shape, other)) return StrongScalar(false, bool_, call);
    return all(eq(lhs, rhs, {}, loc), All, {}, loc);
  });
}

}  // namespace tessera
