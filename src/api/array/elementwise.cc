// Elementwise functions promote their operands and apply an op. Some are composed of several ops.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "api/array/apply_elementwise.h"
#include "api/core/operands.h"
#include "api/core/reshard_to.h"
#include "api/core/slopes.h"
#include "base/dtype.h"
#include "tessera/custom_rules.h"

namespace tessera {

using namespace api;

namespace {

using ops::ScalarOp;

// Applies an op on floats. NumPy's functions also take ints and bools, which become floats.
Array FloatUnary(ScalarOp op, const Operand& x, Call call) {
  return Run(ops::Elementwise(op), nullptr, {ToFloat(x, call)}, call);
}
Array Unary(ScalarOp op, const Operand& x, Call call) {
  return Run(ops::Elementwise(op), nullptr, {ToArray(x, call)}, call);
}

Array Binary(ScalarOp op, const Operand& a, const Operand& b, const OutOptions& options,
             Call call) {
  return Apply(op, Promote({a, b}, call), options, call);
}
// Returns the arrays with bools converted to i32, as in JAX's integer arithmetic.
std::vector<Array> Counted(std::vector<Array> xs, Call call) {
  for (Array& x : xs)
    if (TypeOf(x)->dtype().is_bool()) x = Convert(x, i32, call);
  return xs;
}
// Applies an op that refuses bools. Outside StrictTypes bools are converted to i32.
Array CountedBinary(ScalarOp op, const Operand& a, const Operand& b, const OutOptions& options,
                    Call call) {
  std::vector<Array> xs = Promote({a, b}, call);
  return Apply(op, base::StrictTypesActive() ? xs : Counted(xs, call), options, call);
}
// Applies an arithmetic op, or `on_bool` if both operands are bools outside StrictTypes.
Array Arithmetic(ScalarOp on_bool, ScalarOp op, const Operand& a, const Operand& b,
                 const OutOptions& options, Call call) {
  std::vector<Array> xs = Promote({a, b}, call);
  bool logic = TypeOf(xs[0])->dtype().is_bool() && !base::StrictTypesActive();
  return Apply(logic ? on_bool : op, xs, options, call);
}

bool IsInexact(const Array& x) { return TypeOf(x)->dtype().is_inexact(); }

}  // namespace

Array exp(Operand x, Loc loc) { return FloatUnary(ScalarOp::kExp, x, {"exp", loc}); }
// Complex numbers as in JAX, where the exponent is rounded.
Array exp2(Operand x, Loc loc) {
  const Call call{"exp2", loc};
  if (!PromotedDType({x}, call).is_complex()) return FloatUnary(ScalarOp::kExp2, x, call);
  return AsOne(call, {x}, [&](const Operand& operand) {
    const Array z = ToArray(operand, call);
    return exp(mul(z, WeakScalar(std::numbers::ln2, TypeOf(z)->dtype(), call), {}, loc), loc);
  });
}
Array expm1(Operand x, Loc loc) { return FloatUnary(ScalarOp::kExpm1, x, {"expm1", loc}); }
Array log(Operand x, Loc loc) { return FloatUnary(ScalarOp::kLog, x, {"log", loc}); }
Array log1p(Operand x, Loc loc) { return FloatUnary(ScalarOp::kLog1p, x, {"log1p", loc}); }
Array sqrt(Operand x, Loc loc) { return FloatUnary(ScalarOp::kSqrt, x, {"sqrt", loc}); }
Array rsqrt(Operand x, Loc loc) { return FloatUnary(ScalarOp::kRsqrt, x, {"rsqrt", loc}); }
Array cbrt(Operand x, Loc loc) { return FloatUnary(ScalarOp::kCbrt, x, {"cbrt", loc}); }
Array sin(Operand x, Loc loc) { return FloatUnary(ScalarOp::kSin, x, {"sin", loc}); }
Array cos(Operand x, Loc loc) { return FloatUnary(ScalarOp::kCos, x, {"cos", loc}); }
Array tan(Operand x, Loc loc) { return FloatUnary(ScalarOp::kTan, x, {"tan", loc}); }
Array asin(Operand x, Loc loc) { return FloatUnary(ScalarOp::kAsin, x, {"asin", loc}); }
Array acos(Operand x, Loc loc) { return FloatUnary(ScalarOp::kAcos, x, {"acos", loc}); }
Array atan(Operand x, Loc loc) { return FloatUnary(ScalarOp::kAtan, x, {"atan", loc}); }
Array sinh(Operand x, Loc loc) { return FloatUnary(ScalarOp::kSinh, x, {"sinh", loc}); }
Array cosh(Operand x, Loc loc) { return FloatUnary(ScalarOp::kCosh, x, {"cosh", loc}); }
Array tanh(Operand x, Loc loc) { return FloatUnary(ScalarOp::kTanh, x, {"tanh", loc}); }
Array asinh(Operand x, Loc loc) { return FloatUnary(ScalarOp::kAsinh, x, {"asinh", loc}); }
Array acosh(Operand x, Loc loc) { return FloatUnary(ScalarOp::kAcosh, x, {"acosh", loc}); }
Array atanh(Operand x, Loc loc) { return FloatUnary(ScalarOp::kAtanh, x, {"atanh", loc}); }
Array erf(Operand x, Loc loc) { return FloatUnary(ScalarOp::kErf, x, {"erf", loc}); }
Array erfc(Operand x, Loc loc) { return FloatUnary(ScalarOp::kErfc, x, {"erfc", loc}); }
Array erf_inv(Operand x, Loc loc) { return FloatUnary(ScalarOp::kErfInv, x, {"erf_inv", loc}); }
Array lgamma(Operand x, Loc loc) { return FloatUnary(ScalarOp::kLgamma, x, {"lgamma", loc}); }
Array digamma(Operand x, Loc loc) { return FloatUnary(ScalarOp::kDigamma, x, {"digamma", loc}); }
Array bessel_i0e(Operand x, Loc loc) {
  return FloatUnary(ScalarOp::kBesselI0e, x, {"bessel_i0e", loc});
}
Array bessel_i1e(Operand x, Loc loc) {
  return FloatUnary(ScalarOp::kBesselI1e, x, {"bessel_i1e", loc});
}
Array logistic(Operand x, Loc loc) { return Unary(ScalarOp::kLogistic, x, {"logistic", loc}); }
Array is_finite(Operand x, Loc loc) {
  return FloatUnary(ScalarOp::kIsFinite, x, {"is_finite", loc});
}
Array neg(Operand x, Loc loc) { return Unary(ScalarOp::kNeg, x, {"neg", loc}); }
// Bools become ints, as in maximum(x, 0).
Array relu(Operand x, Loc loc) {
  const Call call{"relu", loc};
  Array a = ToArray(x, call);
  if (TypeOf(a)->dtype().is_bool()) a = Convert(a, base::DefaultInt(), call);
  return Unary(ScalarOp::kRelu, a, call);
}
Array sign(Operand x, Loc loc) { return Unary(ScalarOp::kSign, x, {"sign", loc}); }
Array bitwise_not(Operand x, Loc loc) { return Unary(ScalarOp::kNot, x, {"bitwise_not", loc}); }
Array population_count(Operand x, Loc loc) {
  return Unary(ScalarOp::kPopulationCount, x, {"population_count", loc});
}
Array clz(Operand x, Loc loc) { return Unary(ScalarOp::kClz, x, {"clz", loc}); }

Array abs(Operand x, Loc loc) {
  Array a = ToArray(x, {"abs", loc});
  DType t = TypeOf(a)->dtype();
  return t.is_bool() || t.is_unsigned() ? Same(a) : Unary(ScalarOp::kAbs, a, {"abs", loc});
}

Array sub(Operand a, Operand b, OutOptions options, Loc loc) {
  return Binary(ScalarOp::kSub, a, b, options, {"sub", loc});
}
Array div(Operand a, Operand b, OutOptions options, Loc loc) {
  return Binary(ScalarOp::kDiv, a, b, options, {"div", loc});
}
Array rem(Operand a, Operand b, OutOptions options, Loc loc) {
  return Binary(ScalarOp::kRem, a, b, options, {"rem", loc});
}
Array maximum(Operand a, Operand b, OutOptions options, Loc loc) {
  return Binary(ScalarOp::kMax, a, b, options, {"maximum", loc});
}
Array minimum(Operand a, Operand b, OutOptions options, Loc loc) {
  return Binary(ScalarOp::kMin, a, b, options, {"minimum", loc});
}
Array bitwise_and(Operand a, Operand b, OutOptions options, Loc loc) {
  return Binary(ScalarOp::kAnd, a, b, options, {"bitwise_and", loc});
}
Array bitwise_or(Operand a, Operand b, OutOptions options, Loc loc) {
  return Binary(ScalarOp::kOr, a, b, options, {"bitwise_or", loc});
}
Array bitwise_xor(Operand a, Operand b, OutOptions options, Loc loc) {
  return Binary(ScalarOp::kXor, a, b, options, {"bitwise_xor", loc});
}
Array mulhi(Operand a, Operand b, OutOptions options, Loc loc) {
  return Binary(ScalarOp::kMulHigh, a, b, options, {"mulhi", loc});
}
Array shift_left(Operand a, Operand b, OutOptions options, Loc loc) {
  return CountedBinary(ScalarOp::kShiftLeft, a, b, options, {"shift_left", loc});
}
Array shift_right_arithmetic(Operand a, Operand b, OutOptions options, Loc loc) {
  return CountedBinary(ScalarOp::kShiftRightArithmetic, a, b, options,
                       {"shift_right_arithmetic", loc});
}
Array shift_right_logical(Operand a, Operand b, OutOptions options, Loc loc) {
  return CountedBinary(ScalarOp::kShiftRightLogical, a, b, options, {"shift_right_logical", loc});
}
Array eq(Operand a, Operand b, OutOptions options, Loc loc) {
  return Binary(ScalarOp::kEq, a, b, options, {"eq", loc});
}
Array ne(Operand a, Operand b, OutOptions options, Loc loc) {
  return Binary(ScalarOp::kNe, a, b, options, {"ne", loc});
}
namespace {
// Compares complex numbers by their real parts and, if those are equal, by their imaginary parts.
Array Ordered(ScalarOp op, const Operand& a, const Operand& b, const OutOptions& options,
              Call call) {
  if (!PromotedDType({a, b}, call).is_complex()) return Binary(op, a, b, options, call);
  return AsOne(call, {a, b, options}, [&](const Operand& lhs, const Operand& rhs) {
    const std::vector<Array> xs = Promote({lhs, rhs}, call);
    const std::vector<Array> re{real(xs[0], call.loc), real(xs[1], call.loc)};
    const std::vector<Array> im{imag(xs[0], call.loc), imag(xs[1], call.loc)};
    const Array tie =
        Apply(ScalarOp::kAnd,
              {Apply(ScalarOp::kEq, re, options, call), Apply(op, im, options, call)}, {}, call);
    const bool less = op == ScalarOp::kLt || op == ScalarOp::kLe;
    const Array first = Apply(less ? ScalarOp::kLt : ScalarOp::kGt, re, options, call);
    return Apply(ScalarOp::kOr, {first, tie}, {}, call);
  });
}
}  // namespace

Array lt(Operand a, Operand b, OutOptions options, Loc loc) {
  return Ordered(ScalarOp::kLt, a, b, options, {"lt", loc});
}
Array le(Operand a, Operand b, OutOptions options, Loc loc) {
  return Ordered(ScalarOp::kLe, a, b, options, {"le", loc});
}
Array gt(Operand a, Operand b, OutOptions options, Loc loc) {
  return Ordered(ScalarOp::kGt, a, b, options, {"gt", loc});
}
Array ge(Operand a, Operand b, OutOptions options, Loc loc) {
  return Ordered(ScalarOp::kGe, a, b, options, {"ge", loc});
}
Array atan2(Operand a, Operand b, OutOptions options, Loc loc) {
  return Apply(ScalarOp::kAtan2, PromoteFloat({a, b}, {"atan2", loc}), options, {"atan2", loc});
}
Array nextafter(Operand a, Operand b, OutOptions options, Loc loc) {
  return Apply(ScalarOp::kNextafter, PromoteFloat({a, b}, {"nextafter", loc}), options,
               {"nextafter", loc});
}

Array zeta(Operand s, Operand q, OutOptions options, Loc loc) {
  return Apply(ScalarOp::kZeta, PromoteFloat({s, q}, {"zeta", loc}), options, {"zeta", loc});
}

Array add(Operand a, Operand b, OutOptions options, Loc loc) {
  return Arithmetic(ScalarOp::kOr, ScalarOp::kAdd, a, b, options, {"add", loc});
}
Array mul(Operand a, Operand b, OutOptions options, Loc loc) {
  return Arithmetic(ScalarOp::kAnd, ScalarOp::kMul, a, b, options, {"mul", loc});
}
Array divide(Operand a, Operand b, OutOptions options, Loc loc) {
  return Apply(ScalarOp::kDiv, PromoteFloat({a, b}, {"divide", loc}), options, {"divide", loc});
}
// Inside StrictTypes pow takes a float base. An integer exponent may have any width.
namespace {
// C15: throws DTypeError for a negative power of an integer.
void CheckIntegerPower(const Array& base, int64_t n, Call call) {
  DType t = TypeOf(base)->dtype();
  if (n < 0 && !t.is_inexact())
    FailDType(call, 15, fmt::format("{} cannot be raised to the power {}", t.name(), n),
              {"convert it to a floating dtype first"});
}
}  // namespace

Array pow(Operand a, Operand b, OutOptions options, Loc loc) {
  Call call{"pow", loc};
  bool strict = base::StrictTypesActive();
  if (b.scalar() && b.scalar()->kind() != Scalar::kFloat) {
    Array base = ToArray(a, call);
    if (b.scalar()->kind() == Scalar::kInt) CheckIntegerPower(base, b.scalar()->as_int(), call);
    // A bool base is converted before the dtypes promote, so bool[] to the power 2 is i32[].
    if (!strict) base = Counted({base}, call)[0];
    return CountedBinary(ScalarOp::kPow, base, b, options, call);
  }
  if (!strict || a.scalar() || b.scalar())
    return CountedBinary(ScalarOp::kPow, a, b, options, call);
  Array x = ToArray(a, call), y = ToArray(b, call);
  DType t = TypeOf(x)->dtype();
  if (!t.is_inexact())
    FailDType(call, 14, fmt::format("it takes floating dtypes, not {}", t.name()));
  if (TypeOf(y)->dtype().is_integer()) y = Convert(y, t, call);
  return Binary(ScalarOp::kPow, x, y, options, call);
}

namespace {

// Computes the remainder with the sign of the divisor, as in Python.
// Whether quotients and remainders of x need no comparison: x / y for a positive number y. Of 64
// bits the shifts are slower.
bool IsByPositiveNumber(const Array& x, const Operand& y) {
  const DType t = TypeOf(x)->dtype();
  return t.is_integer() && !t.is_unsigned() && t.size() <= 4 && y.scalar() &&
         y.scalar()->as_double() > 0;
}
Array SignBits(const Array& x, Call call) {  // the sign bit of x in all bits
  const DType t = TypeOf(x)->dtype();
  const Array by = StrongScalar(t.bits() - 1, t, call);
  return Apply(ScalarOp::kShiftRightArithmetic, {x, by}, {}, call);
}

Array Remainder(const Operand& a, const Operand& b, Call call) {
  const Loc loc = call.loc;
  std::vector<Array> xs = Counted(Promote({a, b}, call), call);
  CheckReal(xs[0], call);
  Array zero = StrongScalar(0, TypeOf(xs[0])->dtype(), call);
  if (IsByPositiveNumber(xs[0], b)) {
    Array r = Apply(ScalarOp::kRem, xs, {}, call);
    return Apply(ScalarOp::kAdd, {r, Apply(ScalarOp::kAnd, {SignBits(r, call), xs[1]}, {}, call)},
                 {}, call);
  }
  // NumPy's integer remainder by zero is 0, but rem returns the dividend.
  Array divisor = xs[1];
  if (!IsInexact(xs[0]))
    divisor = where(eq(xs[1], zero, {}, loc), StrongScalar(1, TypeOf(xs[0])->dtype(), call), xs[1],
                    {}, loc);
  Array r = Apply(ScalarOp::kRem, {xs[0], divisor}, {}, call);
  if (TypeOf(r)->dtype().is_unsigned()) return r;
  const Array is_low = lt(divisor, zero, {}, loc);
  Array fix = bitwise_and(ne(lt(r, zero, {}, loc), is_low, {}, loc), ne(r, zero, {}, loc), {}, loc);
  if (IsInexact(r)) {  // a zero gets the sign of the divisor: a sum of 0 and -0 is 0
    const Array up = Apply(ScalarOp::kAdd, {r, zero}, {}, call);
    const Array down = neg(Apply(ScalarOp::kAdd, {neg(r, loc), zero}, {}, call), loc);
    r = where(is_low, down, up, {}, loc);
  }
  return where(fix, Apply(ScalarOp::kAdd, {r, divisor}, {}, call), r, {}, loc);
}

Array FloorDivide(const Operand& a, const Operand& b, Call call) {
  const Loc loc = call.loc;
  std::vector<Array> xs = Counted(Promote({a, b}, call), call);
  CheckReal(xs[0], call);
  DType t = TypeOf(xs[0])->dtype();
  Array zero = StrongScalar(0, t, call), one = StrongScalar(1, t, call);
  const auto unless_by_zero = [&](const Array& q) {
    return where(eq(xs[1], zero, {}, loc), zero, q, {}, loc);
  };
  if (t.is_unsigned()) return unless_by_zero(Apply(ScalarOp::kDiv, xs, {}, call));
  if (IsByPositiveNumber(xs[0], b)) {
    const Array sign = SignBits(xs[0], call);  // if x is negative, the quotient is ~(~x / y)
    Array q =
        Apply(ScalarOp::kDiv, {Apply(ScalarOp::kXor, {xs[0], sign}, {}, call), xs[1]}, {}, call);
    return Apply(ScalarOp::kXor, {q, sign}, {}, call);
  }
  if (!t.is_floating()) {
    // If a remainder is left, x is not 0.
    Array q = Apply(ScalarOp::kDiv, xs, {}, call);
    Array rest =
        Apply(ScalarOp::kSub, {xs[0], Apply(ScalarOp::kMul, {q, xs[1]}, {}, call)}, {}, call);
    Array differ = ne(lt(xs[0], zero, {}, loc), lt(xs[1], zero, {}, loc), {}, loc);
    differ = bitwise_and(differ, ne(rest, zero, {}, loc), {}, loc);
    return unless_by_zero(where(differ, Apply(ScalarOp::kSub, {q, one}, {}, call), q, {}, loc));
  }
  // As in NumPy, divides x - rem(x, y), a multiple of y, and rounds the quotient.
  Array r = Apply(ScalarOp::kRem, xs, {}, call);
  Array q = Apply(ScalarOp::kDiv, {Apply(ScalarOp::kSub, {xs[0], r}, {}, call), xs[1]}, {}, call);
  Array fix = bitwise_and(ne(r, zero, {}, loc),
                          ne(lt(xs[1], zero, {}, loc), lt(r, zero, {}, loc), {}, loc), {}, loc);
  Array whole = Unary(ScalarOp::kRoundEven,
                      where(fix, Apply(ScalarOp::kSub, {q, one}, {}, call), q, {}, loc), call);
  return where(eq(xs[1], zero, {}, loc), Apply(ScalarOp::kDiv, xs, {}, call), whole, {}, loc);
}

Array HypotValue(const std::vector<Array>& xs, Call call) {
  const Loc loc = call.loc;
  Array x = abs(xs[0], loc), y = abs(xs[1], loc);
  Array larger = maximum(x, y, {}, loc), smaller = minimum(x, y, {}, loc);
  Array zero = StrongScalar(0, TypeOf(x)->dtype(), call);
  Array one = StrongScalar(1, TypeOf(x)->dtype(), call);
  Array ratio = Apply(ScalarOp::kDiv,
                      {smaller, where(eq(larger, zero, {}, loc), one, larger, {}, loc)}, {}, call);
  Array length = Apply(
      ScalarOp::kMul,
      {larger,
       sqrt(Apply(ScalarOp::kAdd, {one, Apply(ScalarOp::kMul, {ratio, ratio}, {}, call)}, {}, call),
            loc)},
      {}, call);
  Array inf = StrongScalar(std::numeric_limits<double>::infinity(), TypeOf(x)->dtype(), call);
  Array infinite = bitwise_or(eq(x, inf, {}, loc), eq(y, inf, {}, loc), {}, loc);
  return where(infinite, inf, length, {}, loc);
}

// The value's choice of the larger operand has no second derivative where they are equal. At 0 each
// slope is 1/2, as in JAX.
Array Hypot(const Operand& a, const Operand& b, Call call) {
  const Loc loc = call.loc;
  const std::vector<Array> xs = PromoteFloat({a, b}, call);
  CheckReal(xs[0], call);
  const auto value = [=](const std::vector<Located>& v) {
    return v[0].With(HypotValue({v[0], v[1]}, call));
  };
  const auto slopes = [=](const std::vector<Located>& v, const Located& y) {
    const Located is_zero = y == 0, safe = If(is_zero, 1.0, y);
    const auto slope = [&](const Located& x) {
      return If(is_zero, 0.5, x.With(divide(x, safe, {}, loc)));
    };
    return std::vector<Located>{slope(v[0]), slope(v[1])};
  };
  return WithSlopes({{xs[0], loc}, {xs[1], loc}}, value, slopes);
}

using BinaryOf = Array (*)(const Operand&, const Operand&, Call);

// Runs a composed function of two operands as one call.
Array BinaryAsOne(BinaryOf f, const Operand& a, const Operand& b, OutOptions options, Call call) {
  return AsOne(call, {a, b, options}, [&](const Operand& lhs, const Operand& rhs) {
    const Operands xs = LaidOut({lhs, rhs}, options.out_sharding, call);
    return f(xs[0], xs[1], call);
  });
}

}  // namespace

Array remainder(Operand a, Operand b, OutOptions options, Loc loc) {
  return BinaryAsOne(Remainder, a, b, options, {"remainder", loc});
}
Array floor_divide(Operand a, Operand b, OutOptions options, Loc loc) {
  return BinaryAsOne(FloorDivide, a, b, options, {"floor_divide", loc});
}
Array hypot(Operand a, Operand b, OutOptions options, Loc loc) {
  return BinaryAsOne(Hypot, a, b, options, {"hypot", loc});
}

namespace {
Array Logic(ScalarOp op, const Operand& a, const Operand& b, OutOptions options, Call call) {
  return AsOne(call, {a, b, options}, [&](const Operand& lhs, const Operand& rhs) {
    return Apply(op, PromoteTo(bool_, {ToBool(lhs, call), ToBool(rhs, call)}, call), options, call);
  });
}
}  // namespace

Array logical_and(Operand a, Operand b, OutOptions options, Loc loc) {
  return Logic(ScalarOp::kAnd, a, b, options, {"logical_and", loc});
}
Array logical_or(Operand a, Operand b, OutOptions options, Loc loc) {
  return Logic(ScalarOp::kOr, a, b, options, {"logical_or", loc});
}
Array logical_xor(Operand a, Operand b, OutOptions options, Loc loc) {
  return Logic(ScalarOp::kXor, a, b, options, {"logical_xor", loc});
}

namespace {
using UnaryOf = Array (*)(const Operand&, Call);

// Runs a composed function of one operand as one call.
Array UnaryAsOne(UnaryOf f, const Operand& x, Call call) {
  return AsOne(call, {x}, [&](const Operand& operand) { return f(operand, call); });
}

// Returns the logarithm to the base whose natural logarithm is `ln`.
Array LogTo(double ln, const Operand& x, Call call) {
  Array a = FloatUnary(ScalarOp::kLog, x, call);
  if (TypeOf(a)->dtype().is_complex()) {  // an infinite part does not make the other one NaN
    const Array re = real(a, call.loc), by = WeakScalar(ln, TypeOf(re)->dtype(), call);
    return complex(divide(re, by, {}, call.loc), divide(imag(a, call.loc), by, {}, call.loc), {},
                   call.loc);
  }
  return divide(a, WeakScalar(ln, TypeOf(a)->dtype(), call), {}, call.loc);
}
}  // namespace

Array logical_not(Operand x, Loc loc) {
  const auto f = [](const Operand& a, Call call) {
    return Unary(ScalarOp::kNot, ToBool(a, call), call);
  };
  return UnaryAsOne(f, x, {"logical_not", loc});
}
Array log2(Operand x, Loc loc) {
  return UnaryAsOne([](const Operand& a, Call call) { return LogTo(std::numbers::ln2, a, call); },
                    x, {"log2", loc});
}
Array log10(Operand x, Loc loc) {
  return UnaryAsOne([](const Operand& a, Call call) { return LogTo(std::numbers::ln10, a, call); },
                    x, {"log10", loc});
}
Array square(Operand x, Loc loc) {
  const auto f = [](const Operand& operand, Call call) {
    Array a = Counted({ToArray(operand, call)}, call)[0];
    return mul(a, a, {}, call.loc);
  };
  return UnaryAsOne(f, x, {"square", loc});
}
Array reciprocal(Operand x, Loc loc) {
  const auto f = [](const Operand& operand, Call call) {
    Array a = ToFloat(operand, call);
    return divide(WeakScalar(1, TypeOf(a)->dtype(), call), a, {}, call.loc);
  };
  return UnaryAsOne(f, x, {"reciprocal", loc});
}
namespace {
Array Power(Array base, int64_t n, Loc loc) {
  std::optional<Array> result;
  for (; n > 0; n >>= 1) {
    if (n & 1) result = result ? mul(*result, base, {}, loc) : base;
    if (n > 1) base = mul(base, base, {}, loc);
  }
  return *result;
}

Array IntegerPower(const Operand& x, int64_t n, Call call) {
  const Loc loc = call.loc;
  Array base = ToArray(x, call);
  CheckIntegerPower(base, n, call);
  if (n == 0) return ones_like(base, {}, loc);
  if (n > 0) return Power(base, n, loc);
  // The derivative at 0 is infinite. The chain rule over power and reciprocal would make it NaN.
  const auto f = [&](Array v) { return reciprocal(Power(v, -n, loc), loc); };
  const auto rule = [&](const std::tuple<Array>& primals, const std::tuple<Array>& tangents) {
    const auto& [v] = primals;
    const auto& [dv] = tangents;
    const Array factor = StrongScalar(static_cast<double>(n), TypeOf(v)->dtype(), call);
    Array slope = mul(reciprocal(Power(v, 1 - n, loc), loc), factor, {}, loc);
    return std::pair(f(v), mul(dv, slope, {}, loc));
  };
  return custom_jvp(f, rule, loc)(base, loc);
}
}  // namespace

Array integer_pow(Operand x, int64_t n, Loc loc) {
  const Call call{"integer_pow", loc};
  return AsOne(call, {x, n}, [&](const Operand& a) { return IntegerPower(a, n, call); });
}
Array isfinite(Operand x, Loc loc) {
  const auto f = [](const Operand& operand, Call call) {
    Array a = ToArray(operand, call);
    if (!IsInexact(a)) return ones_like(a, {.dtype = bool_}, call.loc);
    return Unary(ScalarOp::kIsFinite, a, call);
  };
  return UnaryAsOne(f, x, {"isfinite", loc});
}
Array isnan(Operand x, Loc loc) {
  const auto f = [](const Operand& operand, Call call) {
    Array a = ToArray(operand, call);
    return ne(a, a, {}, call.loc);
  };
  return UnaryAsOne(f, x, {"isnan", loc});
}
Array isinf(Operand x, Loc loc) {
  const auto f = [](const Operand& operand, Call call) {
    Array a = ToArray(operand, call);
    if (!IsInexact(a)) return zeros_like(a, {.dtype = bool_}, call.loc);
    if (TypeOf(a)->dtype().is_complex())
      return bitwise_or(isinf(real(a, call.loc), call.loc), isinf(imag(a, call.loc), call.loc), {},
                        call.loc);
    const double infinity = std::numeric_limits<double>::infinity();
    return eq(abs(a, call.loc), WeakScalar(infinity, TypeOf(a)->dtype(), call), {}, call.loc);
  };
  return UnaryAsOne(f, x, {"isinf", loc});
}
Array stop_gradient(Operand x, Loc loc) {
  Call call{"stop_gradient", loc};
  return Run(ops::kStopGradient, nullptr, {ToArray(x, call)}, call);
}

Array optimization_barrier(Operand x, Loc loc) {
  Call call{"optimization_barrier", loc};
  return Run(ops::kOptimizationBarrier, nullptr, {ToArray(x, call)}, call);
}
namespace {
Array Converted(const Operand& x, DType dtype, Call call) {
  if (dtype.is_default()) FailDType(call, 17, "the dtype to convert to is not given");
  return Convert(ToArray(x, call), dtype, call);
}
}  // namespace
Array astype(Operand x, DType dtype, Loc loc) { return Converted(x, dtype, {"astype", loc}); }
Array convert_element_type(Operand x, DType dtype, Loc loc) {
  return Converted(x, dtype, {"convert_element_type", loc});
}
Array bitcast_convert_type(Operand x, DType dtype, Loc loc) {
  Call call{"bitcast_convert_type", loc};
  ir::ShapeAndDType wanted{{}, dtype};
  return Run(ops::kBitcastConvertType, nullptr, {ToArray(x, call)}, call, {.wanted = &wanted});
}

Array where(Operand c, Operand a, Operand b, OutOptions options, Loc loc) {
  const Call call{"where", loc};
  return AsOne(call, {{"c", c}, {"a", a}, {"b", b}, options},
               [&](const Operand& which, const Operand& yes, const Operand& no) {
                 return Where(which, yes, no, call, options);
               });
}

// Selects case k if the selector is at least k, for k = 1, 2, ... in turn.
Array select_n(Operand which, std::vector<Array> cases, OutOptions options, Loc loc) {
  Call call{"select_n", loc};
  Array w = ToArray(which, call);
  if (cases.empty()) FailShape(call, 17, "there are no cases to select from");
  for (const Array& x : cases) trace::Use(x, "select_n", loc);
  DType t = TypeOf(w)->dtype();
  if (!t.is_bool() && t != i32)
    FailDType(call, 14, fmt::format("the selector must be bool or i32, not {}", t.name()));
  if (t.is_bool() && cases.size() > 2) FailShape(call, 17, "a bool selects one of two cases");
  if (cases.size() == 1) return cases[0];
  const auto select = [&](const Operands& xs) {
    const Array selector = ToArray(xs[0], call);
    Array result = xs[1].array();
    for (size_t k = 1; k + 1 < xs.size(); ++k) {
      const Array next =
          t.is_bool() ? selector
                      : ge(selector, StrongScalar(static_cast<int64_t>(k), t, call), {}, loc);
      result = Apply(ScalarOp::kSelect, {next, result, xs[k + 1].array()}, options, call);
    }
    return result;
  };
  return AsOne(call, {{"which", which}, {"cases", cases}, options}, select);
}

Array clamp(Operand lo, Operand x, Operand hi, Loc loc) {
  Call call{"clamp", loc};
  Array a = ToArray(x, call);
  DType t = TypeOf(a)->dtype();
  auto bound = [&](const Operand& b) {
    return b.scalar() ? StrongScalar(*b.scalar(), t, call) : ToArray(b, call);
  };
  return Run(ops::Elementwise(ScalarOp::kClamp), nullptr, {bound(lo), a, bound(hi)}, call);
}
Array clip(Operand x, Operand lo, Operand hi, Loc loc) {
  return AsOne({"clip", loc}, {{"operand", x}, {"lo", lo}, {"hi", hi}},
               [&](const Operand& a, const Operand& least, const Operand& most) {
                 for (const Operand* o : {&a, &least, &most}) {
                   if (!o->scalar()) trace::Use(o->array(), "clip", loc);
                   CheckReal(ToArray(*o, {"clip", loc}), {"clip", loc});
                 }
                 return minimum(maximum(a, least, {}, loc), most, {}, loc);
               });
}

}  // namespace tessera
