// Elementwise ops of two operands and more.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "ops/derivatives.h"
#include "ops/elementwise.h"
#include "ops/slopes.h"
#include "ops/special_references.h"

namespace tessera::ops {
namespace {

using namespace reference;  // for the references in the records

std::vector<ShapeAndDType> SelectType(const TypeCall& c) {
  CheckCount(c, 3);
  CheckSameDType(c, 1);
  DType which = c.operands[0]->dtype();
  if (!which.is_bool())
    c.FailDType(14, fmt::format("the selector must be bool, not {}", which.name()));
  if (c.operands[1]->shape() != c.operands[2]->shape())
    c.FailShape(
        16, fmt::format("cases have different shapes, {} and {}", ShapeText(c.operands[1]->shape()),
                        ShapeText(c.operands[2]->shape())));
  if (c.operands[0]->rank() != 0 && c.operands[0]->shape() != c.operands[1]->shape())
    c.FailShape(
        17, fmt::format("the selector has shape {}; it must be [] or the shape of the cases, {}",
                        ShapeText(c.operands[0]->shape()), ShapeText(c.operands[1]->shape())));
  return {{c.operands[1]->shape(), c.operands[1]->dtype()}};
}

DimMap SelectDims(const ir::DimsCall& c) {
  DimMap map = sharding::Pointwise(c.operands, *c.results[0]);
  map.linear = {{.operands = {1, 2}, .kinds = sharding::kAnyKind}};
  map.traits.selectors = {0};
  return map;
}

std::vector<ShapeAndDType> ClampType(const TypeCall& c) {
  CheckCount(c, 3);
  CheckSameDType(c);
  CheckClass(c, Class::kOrdered);
  for (size_t i : {0, 2})
    if (c.operands[i]->rank() != 0 && c.operands[i]->shape() != c.operands[1]->shape())
      c.FailShape(
          16, fmt::format("a bound has shape {}; it must be [] or the shape of the operand, {}",
                          ShapeText(c.operands[i]->shape()), ShapeText(c.operands[1]->shape())));
  return {{c.operands[1]->shape(), c.operands[1]->dtype()}};
}

// C14: the operands must be a key and a counter.
template <DType::Code made>
std::vector<ShapeAndDType> RandomType(const TypeCall& c) {
  CheckCount(c, 2);
  const DType key = c.operands[0]->dtype(), counter = c.operands[1]->dtype();
  if (!key.is_key()) c.FailDType(14, fmt::format("it takes a key, not {}", key.name()));
  if (counter != u64)
    c.FailDType(14, fmt::format("the counter must be u64, not {}", counter.name()));
  return {{JoinedShape(c), DType(made)}};
}

// ---- References --------------------------------------------------------------------------------

// Steps by one in the bits, which are ordered like the magnitudes, in the element's own dtype.
void Nextafter(const ElementCall& e) {
  const double from = e.Float(0), to = e.Float(1);
  const uint64_t sign = uint64_t{1} << (e.dtype().bits() - 1);
  if (std::isnan(from) || std::isnan(to)) return e.SetFloat(from + to);
  if (from == to) return e.SetFrom(1);
  if (from == 0) return e.SetBits(to > 0 ? 1 : sign | 1);
  const bool outwards = (from < to) == (from > 0);
  e.SetBits(outwards ? e.Bits(0) + 1 : e.Bits(0) - 1);
}

double Plus(double x, double y) { return x + y; }
double Minus(double x, double y) { return x - y; }
double Times(double x, double y) { return x * y; }
double Ratio(double x, double y) { return x / y; }
int64_t Plus(Int x, Int y) { return Wrap(x.wrapped() + y.wrapped()); }
int64_t Minus(Int x, Int y) { return Wrap(x.wrapped() - y.wrapped()); }
int64_t Times(Int x, Int y) { return Wrap(x.wrapped() * y.wrapped()); }
LongComplex Plus(const LongComplex& x, const LongComplex& y) { return x + y; }
LongComplex Minus(const LongComplex& x, const LongComplex& y) { return x - y; }
// Without C's rules for infinities, as in XLA.
LongComplex Times(const LongComplex& x, const LongComplex& y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
LongComplex Ratio(const LongComplex& x, const LongComplex& y) { return x / y; }
// 0^0 is 1, and 0 to a power with a positive real part is 0.
LongComplex Power(const LongComplex& x, const LongComplex& y) {
  if (y == LongComplex(0)) return 1;
  return x == LongComplex(0) && y.real() > 0 ? 0 : std::pow(x, y);
}
// -i log((x + iy) / sqrt(x^2 + y^2)), which is atan2 of real numbers.
LongComplex Angle(const LongComplex& y, const LongComplex& x) {
  const LongComplex i(0, 1);
  return -i * std::log((x + i * y) / std::sqrt(x * x + y * y));
}
void OfParts(const ElementCall& e) { e.SetComplex({e.Float(0), e.Float(1)}); }
int64_t And(Int x, Int y) { return x.value & y.value; }
int64_t Or(Int x, Int y) { return x.value | y.value; }
int64_t Xor(Int x, Int y) { return x.value ^ y.value; }

int64_t Quotient(Int x, Int y) {
  if (y.value == 0) return -1;
  if (!x.dtype.is_signed()) return Wrap(x.wrapped() / y.wrapped());
  return y.value == -1 ? Negated(x) : x.value / y.value;
}

int64_t Remainder(Int x, Int y) {
  if (y.value == 0) return x.value;
  if (!x.dtype.is_signed()) return Wrap(x.wrapped() % y.wrapped());
  return y.value == -1 ? 0 : x.value % y.value;
}

// A negative exponent has no integer power. Its low six bits count, as in JAX.
int64_t Power(Int x, Int y) {
  uint64_t result = 1, square = x.wrapped();
  bool negative = y.dtype.is_signed() && y.value < 0;
  for (uint64_t rest = negative ? y.bits() & 63 : y.bits(); rest != 0; rest >>= 1) {
    if (rest & 1) result *= square;
    square *= square;
  }
  return Wrap(result);
}

// Sums the products of digits of 32 bits. The high digits are signed if the dtype is.
int64_t HighHalf(Int x, Int y) {
  if (x.width() < 64) {
    const bool is_signed = x.dtype.is_signed();
    return is_signed ? (x.value * y.value) >> x.width() : Wrap(x.bits() * y.bits() >> x.width());
  }
  const auto high = [](Int v) {
    return v.dtype.is_signed() ? v.value >> 32 : Wrap(v.bits() >> 32);
  };
  const auto low = [](Int v) { return Wrap(v.wrapped() & 0xffffffff); };
  // Each sum of a product and a carry fits 64 bits, with the sign of the dtype.
  const auto shifted = [&](uint64_t v) {
    return x.dtype.is_signed() ? Wrap(v) >> 32 : Wrap(v >> 32);
  };
  const uint64_t lowest = static_cast<uint64_t>(low(x)) * static_cast<uint64_t>(low(y)) >> 32;
  const auto product = [](int64_t a, int64_t b) {
    return static_cast<uint64_t>(a) * static_cast<uint64_t>(b);
  };
  const uint64_t middle = product(high(x), low(y)) + lowest;
  const uint64_t other = product(low(x), high(y)) + (middle & 0xffffffff);
  return Wrap(product(high(x), high(y)) + static_cast<uint64_t>(shifted(middle)) +
              static_cast<uint64_t>(shifted(other)));
}

// Amounts count as unsigned: a negative one is above the width, and shifts every bit out.
int64_t ShiftLeft(Int x, Int amount) {
  if (amount.bits() >= static_cast<uint64_t>(x.width())) return 0;
  return Wrap(x.wrapped() << amount.bits());
}

int64_t ShiftRightLogical(Int x, Int amount) {
  if (amount.bits() >= static_cast<uint64_t>(x.width())) return 0;
  return Wrap(x.bits() >> amount.bits());
}

// Copies the highest bit, also for unsigned integers.
int64_t ShiftRightArithmetic(Int x, Int amount) {
  const int above = 64 - x.width();
  const int64_t extended = Wrap(x.bits() << above) >> above;
  return extended >> std::min(amount.bits(), uint64_t{63});
}

int64_t LargerInt(Int x, Int y) { return IntLess(x.dtype, x.value, y.value) ? y.value : x.value; }
int64_t SmallerInt(Int x, Int y) { return IntLess(x.dtype, y.value, x.value) ? y.value : x.value; }

template <class Relation>
void Compares(const ir::ReferenceCall& call) {
  ForEachElement(call, [](const ElementCall& e) {
    if constexpr (std::is_invocable_v<Relation, LongComplex, LongComplex>)
      if (e.dtype().is_complex()) return e.SetInt(Relation()(e.ComplexOf(0), e.ComplexOf(1)));
    if (e.dtype().is_floating()) return e.SetInt(Relation()(e.Float(0), e.Float(1)));
    const Int x = e.IntOf(0), y = e.IntOf(1);
    e.SetInt(e.dtype().is_signed() ? Relation()(x.value, y.value)
                                   : Relation()(x.wrapped(), y.wrapped()));
  });
}

// Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1,
// 2, 3", 2011): encrypts the two words of a counter with the two words of a key. The
// first word is the high one.
uint64_t Threefry(uint64_t key, uint64_t counter) {
  const auto high = [](uint64_t v) { return static_cast<uint32_t>(v >> 32); };
  const auto low = [](uint64_t v) { return static_cast<uint32_t>(v); };
  const uint32_t keys[3] = {high(key), low(key), high(key) ^ low(key) ^ 0x1BD11BDAu};
  constexpr int kRotations[2][4] = {{17, 29, 16, 24}, {13, 15, 26, 6}};
  uint32_t x0 = high(counter) + keys[0], x1 = low(counter) + keys[1];
  for (uint32_t group = 1; group <= 5; ++group) {
    for (int by : kRotations[group % 2]) {
      x0 += x1;
      x1 = std::rotl(x1, by) ^ x0;
    }
    x0 += keys[group % 3];
    x1 += keys[(group + 1) % 3] + group;
  }
  return uint64_t{x0} << 32 | x1;
}
void RandomBits64(const ElementCall& e) { e.SetBits(Threefry(e.Bits(0), e.Bits(1))); }
void RandomBits32(const ElementCall& e) {
  const uint64_t both = Threefry(e.Bits(0), e.Bits(1));
  e.SetBits(both >> 32 ^ (both & 0xffffffff));
}

// Takes the second case where the selector is true.
void Select(const ElementCall& e) { e.SetFrom(e.IntOf(0).value != 0 ? 2 : 1); }

// NaN in any operand gives NaN. The upper bound wins over a lower bound above it.
void Clamp(const ElementCall& e) {
  if (e.dtype().is_floating())
    return e.SetFloat(Smaller(Larger(e.Float(1), e.Float(0)), e.Float(2)));
  const Int raised{e.dtype(), LargerInt(e.IntOf(0), e.IntOf(1))};
  e.SetInt(SmallerInt(raised, e.IntOf(2)));
}

// ---- Derivatives --------------------------------------------------------------------------------

constexpr auto OfLeft = [](X g, X, X, X) { return g; };
constexpr auto OfMinus = [](X g, X, X, X) { return -g; };

ir::ValueId SubTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  return k == 0 ? cotangent : (-X(c.builder, cotangent)).id();
}
ir::ValueId MulTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  return (X(c.builder, cotangent) * X(c.builder, c.operands[1 - k])).id();
}
ir::ValueId DivTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return (X(c.builder, cotangent) / X(c.builder, c.operands[1])).id();
}
ir::ValueId SelectTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  const X which(c.builder, c.operands[0]), ct(c.builder, cotangent), zero = ct.Number(0);
  return (k == 2 ? Where(which, ct, zero) : Where(which, zero, ct)).id();
}

constexpr auto OfRealPart = [](X g, X, X, X) { return ComplexOf(g, ZerosLike(g)); };
constexpr auto OfImaginaryPart = [](X g, X, X, X) { return ComplexOf(ZerosLike(g), g); };
ir::ValueId ComplexTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  const X ct(c.builder, cotangent);
  return (k == 0 ? Real(ct) : -Imag(ct)).id();
}

X Truncated(X x) { return Sign(x) * Floor(Abs(x)); }
X OneAtZero(X x) { return Where(Equal(x, x.Number(0)), x.Number(1), x); }

constexpr auto PowOfBase = [](X g, X a, X b, X) { return g * SlopeOfPower(a, b); };
// As in JAX, finite at base 0.
constexpr auto PowOfExponent = [](X g, X a, X, X y) { return g * (Log(OneAtZero(a)) * y); };

// For maximum and minimum: the operand that is the result gets the whole tangent, and two
// equal operands get half each.
template <int k>
constexpr auto ExtremeOf = [](X g, X a, X b, X y) {
  const X mine = k == 0 ? a : b, other = k == 0 ? b : a, one = y.Number(1);
  const X share = Where(Equal(other, y), y.Number(0.5), one);
  return g * Where(Equal(mine, y), share, y.Number(0));
};

constexpr auto ZetaOfShift = [](X g, X s, X q, X) { return g * -(s * Zeta(s + 1, q)); };

constexpr auto IgammaOfShape = [](X g, X a, X x, X) {
  return g * Apply(ScalarOp::kIgammaGradA, {a, x});
};
constexpr auto IgammacOfShape = [](X g, X a, X x, X y) { return -IgammaOfShape(g, a, x, y); };
constexpr auto IgammaOfNumber = [](X g, X a, X x, X) { return g * GammaDensity(a, x); };
constexpr auto IgammacOfNumber = [](X g, X a, X x, X) { return g * -GammaDensity(a, x); };
constexpr auto ExpnOfNumber = [](X g, X n, X x, X) {
  return g * -Apply(ScalarOp::kExpn, {n - 1, x});
};
constexpr auto BetaincOfNumber = [](X g, X a, X b, X x, X) { return g * BetaDensity(a, b, x); };

constexpr auto ClampOfOperand = [](X g, X lo, X x, X hi, X y) {
  return g * Where(And(Less(lo, x), Less(x, hi)), y.Number(1), y.Number(0));
};
template <int k>
constexpr auto ClampOfBound = [](X g, X lo, X x, X hi, X y) {
  const X beyond = k == 0 ? And(Less(x, lo), Less(lo, hi)) : Less(hi, x);
  return g * Where(beyond, y.Number(1), y.Number(0));
};

using enum ScalarOp;
using enum Class;
using enum Linear;

template <DType::Code made>
constexpr OpDef Random(std::string_view name, std::string_view doc, ScalarOp op,
                       ir::ReferenceFn reference) {
  return {.name = name,
          .doc = doc,
          .type = ir::TypeFn{RandomType<made>},
          .dims = ir::DimMapFn{Dims<kNone>},
          .lowering = ir::AsElementwise{op},
          .reference = reference,
          .diff = kZeroAlmostEverywhere,
          .flops_per_point = 72,
          .out_sharding = true,
          .keys = true,
          .operand_names = {"key", "counter"}};
}

constexpr OpDef kBinaryOps[] = {
    Binary({.name = "add",
            .doc = "a + b",
            .op = kAdd,
            .takes = kNumber,
            .linear = kBoth,
            .reference = Either<Plus, Numbers<Plus, Plus>>,
            .diff = By<OfLeft, OfLeft>(Same)}),
    Binary({.name = "sub",
            .doc = "a - b",
            .op = kSub,
            .takes = kNumber,
            .linear = kBoth,
            .reference = Either<Minus, Numbers<Minus, Minus>>,
            .diff = By<OfLeft, OfMinus>(SubTranspose)}),
    Binary({.name = "mul",
            .doc = "a * b",
            .op = kMul,
            .takes = kNumber,
            .linear = kEach,
            .reference = Either<Times, Numbers<Times, Times>>,
            .diff = ir::Derivative{.transpose = MulTranspose}}),
    Binary({.name = "div",
            .doc = "a / b; integers truncate, and x / 0 has every bit set.",
            .op = kDiv,
            .takes = kNumber,
            .linear = kFirst,
            .flops = 2,
            .reference = Either<Ratio, Numbers<Ratio, Quotient>>,
            .diff = By<nullptr, [](X g, X, X b, X y) { return g * -(y / b); }>(DivTranspose)}),
    Binary({.name = "rem",
            .doc = "Remainder with the sign of a; x rem 0 is x.",
            .op = kRem,
            .takes = kRealNumber,
            .flops = 4,
            .reference = Numbers<std::fmod, Remainder>,
            .diff = By<OfLeft, [](X g, X a, X b, X) { return g * -Truncated(a / b); }>()}),
    Binary({.name = "pow",
            .doc = "a^b",
            .op = kPow,
            .takes = kNumber,
            .flops = 30,
            .reference = Either<Power, Numbers<std::pow, Power>>,
            .diff = By<PowOfBase, PowOfExponent>()}),
    Binary({.name = "maximum",
            .doc = "The larger; NaN wins. Complex numbers compare by their parts in order.",
            .op = kMax,
            .takes = kAny,
            .reference = Either<Larger, Numbers<Larger, LargerInt>>,
            .diff = By<ExtremeOf<0>, ExtremeOf<1>>()}),
    Binary({.name = "minimum",
            .doc = "The smaller; NaN wins. Complex numbers compare by their parts in order.",
            .op = kMin,
            .takes = kAny,
            .reference = Either<Smaller, Numbers<Smaller, SmallerInt>>,
            .diff = By<ExtremeOf<0>, ExtremeOf<1>>()}),
    Binary({.name = "atan2",
            .doc = "Angle of the point (b, a).",
            .op = kAtan2,
            .takes = kInexact,
            .flops = 20,
            .reference = Either<Angle, Floats<std::atan2>>,
            .diff = By<[](X g, X a, X b, X) { return g * SlopeOfAngle(b, a); },
                       [](X g, X a, X b, X) { return g * -SlopeOfAngle(a, b); }>()}),
    Binary({.name = "nextafter",
            .doc = "The float next to a towards b.",
            .op = kNextafter,
            .takes = kSteppedFloat,
            .flops = 4,
            .reference = Elements<Nextafter>,
            .diff = ir::NotDifferentiable{"it steps from one float to the next"}}),
    Binary({.name = "complex",
            .doc = "a + bi",
            .op = kComplex,
            .takes = kPart,
            .makes = Makes::kComplex,
            .linear = kBoth,
            .reference = Elements<OfParts>,
            .diff = By<OfRealPart, OfImaginaryPart>(ComplexTranspose)}),
    Binary({.name = "zeta",
            .doc = "Hurwitz zeta function: the sum of (b + k)^-a over k >= 0.",
            .op = kZeta,
            .takes = kFloat,
            .flops = 400,
            .reference = Floats<Zeta>,
            .diff = ir::Derivative{.of = {nullptr, ByFormula<ZetaOfShift>},
                                   .none = {"it has no known closed form"}}}),
    Binary({.name = "igamma",
            .doc = "Regularized lower incomplete gamma function of the shape a at b.",
            .op = kIgamma,
            .takes = kFloat,
            .flops = 400,
            .reference = Floats<LowerGamma>,
            .diff = By<IgammaOfShape, IgammaOfNumber>()}),
    Binary({.name = "igammac",
            .doc = "1 - igamma(a, b)",
            .op = kIgammac,
            .takes = kFloat,
            .flops = 400,
            .reference = Floats<UpperGamma>,
            .diff = By<IgammacOfShape, IgammacOfNumber>()}),
    Binary({.name = "igamma_grad_a",
            .doc = "Derivative of igamma in the shape a.",
            .op = kIgammaGradA,
            .takes = kFloat,
            .flops = 800,
            .reference = Floats<LowerGammaByShape>,
            .diff = ir::NotDifferentiable{"it has no known closed form"}}),
    Binary({.name = "random_gamma_grad",
            .doc = "Derivative in the shape a of the number b that keeps igamma(a, b) constant.",
            .op = kRandomGammaGrad,
            .takes = kFloat,
            .flops = 800,
            .reference = Floats<GammaSampleByShape>,
            .diff = ir::NotDifferentiable{"it has no known closed form"}}),
    Binary({.name = "expn",
            .doc = "Exponential integral of the order a: the integral of e^(-b t) / t^a from 1.",
            .op = kExpn,
            .takes = kFloat,
            .flops = 400,
            .reference = Floats<ExponentialIntegral>,
            .diff = ir::Derivative{.of = {nullptr, ByFormula<ExpnOfNumber>},
                                   .none = {"it has no known closed form"}}}),
    Ternary({.name = "betainc",
             .doc = "Regularized incomplete beta function of a and b at x.",
             .op = kBetainc,
             .takes = kFloat,
             .flops = 400,
             .reference = Floats<IncompleteBeta>,
             .diff = ir::Derivative{.of = {nullptr, nullptr, ByFormula<BetaincOfNumber>},
                                    .none = {"it has no known closed form",
                                             "it has no known closed form"}}},
            {"a", "b", "x", ""}),
    Binary({.name = "bitwise_and",
            .doc = "a & b",
            .op = kAnd,
            .takes = kBits,
            .reference = Ints<And>,
            .diff = kZeroAlmostEverywhere}),
    Binary({.name = "bitwise_or",
            .doc = "a | b",
            .op = kOr,
            .takes = kBits,
            .reference = Ints<Or>,
            .diff = kZeroAlmostEverywhere}),
    Binary({.name = "bitwise_xor",
            .doc = "a ^ b",
            .op = kXor,
            .takes = kBits,
            .reference = Ints<Xor>,
            .diff = kZeroAlmostEverywhere}),
    Binary({.name = "mulhi",
            .doc = "The high half of a * b, computed with twice the bits.",
            .op = kMulHigh,
            .takes = kInteger,
            .reference = Ints<HighHalf>,
            .diff = kZeroAlmostEverywhere}),
    Binary({.name = "shift_left",
            .doc = "a << b; 0 if b is at least the width.",
            .op = kShiftLeft,
            .takes = kInteger,
            .reference = Ints<ShiftLeft>,
            .diff = kZeroAlmostEverywhere}),
    Binary({.name = "shift_right_arithmetic",
            .doc = "a >> b with the sign shifted in.",
            .op = kShiftRightArithmetic,
            .takes = kInteger,
            .reference = Ints<ShiftRightArithmetic>,
            .diff = kZeroAlmostEverywhere}),
    Binary({.name = "shift_right_logical",
            .doc = "a >> b with zeros shifted in.",
            .op = kShiftRightLogical,
            .takes = kInteger,
            .reference = Ints<ShiftRightLogical>,
            .diff = kZeroAlmostEverywhere}),
    Binary({.name = "eq",
            .doc = "a == b",
            .op = kEq,
            .takes = kAny,
            .makes = Makes::kBool,
            .keys = true,
            .reference = Compares<std::equal_to<>>,
            .diff = kZeroAlmostEverywhere}),
    Binary({.name = "ne",
            .doc = "a != b",
            .op = kNe,
            .takes = kAny,
            .makes = Makes::kBool,
            .keys = true,
            .reference = Compares<std::not_equal_to<>>,
            .diff = kZeroAlmostEverywhere}),
    Binary({.name = "lt",
            .doc = "a < b",
            .op = kLt,
            .takes = kOrdered,
            .makes = Makes::kBool,
            .reference = Compares<std::less<>>,
            .diff = kZeroAlmostEverywhere}),
    Binary({.name = "le",
            .doc = "a <= b",
            .op = kLe,
            .takes = kOrdered,
            .makes = Makes::kBool,
            .reference = Compares<std::less_equal<>>,
            .diff = kZeroAlmostEverywhere}),
    Binary({.name = "gt",
            .doc = "a > b",
            .op = kGt,
            .takes = kOrdered,
            .makes = Makes::kBool,
            .reference = Compares<std::greater<>>,
            .diff = kZeroAlmostEverywhere}),
    Binary({.name = "ge",
            .doc = "a >= b",
            .op = kGe,
            .takes = kOrdered,
            .makes = Makes::kBool,
            .reference = Compares<std::greater_equal<>>,
            .diff = kZeroAlmostEverywhere}),
    Random<DType::kKey>("random_fold_in", "Threefry-2x32 of a counter under a key, as a new key.",
                        kRandomFoldIn, Elements<RandomBits64>),
    Random<DType::kU64>("random_bits64", "Threefry-2x32 of a counter under a key, as 64 bits.",
                        kRandomBits64, Elements<RandomBits64>),
    Random<DType::kU32>("random_bits32", "The exclusive or of the two halves of random_bits64.",
                        kRandomBits32, Elements<RandomBits32>),
    OpDef{.name = "select_n",
          .doc = "The second case where the selector is true, else the first.",
          .type = ir::TypeFn{SelectType},
          .dims = ir::DimMapFn{SelectDims},
          .lowering = ir::AsElementwise{kSelect},
          .reference = Elements<Select>,
          .diff = ir::Derivative{.transpose = SelectTranspose},
          .flops_per_point = 1,
          .out_sharding = true,
          .keys = true,
          .swaps_last = true,
          .operand_names = {"which", "cases[0]", "cases[1]"}},
    OpDef{.name = "clamp",
          .doc = "x limited to [lo, hi].",
          .type = ir::TypeFn{ClampType},
          .dims = ir::DimMapFn{Dims<kNone>},
          .lowering = ir::AsElementwise{kClamp},
          .reference = Elements<Clamp>,
          .diff = By<ClampOfBound<0>, ClampOfOperand, ClampOfBound<2>>(),
          .flops_per_point = 2,
          .operand_names = {"lo", "operand", "hi"}},
};
static_assert(Complete<kBinaryOps, 2, 3>());

}  // namespace

absl::Span<const OpDef> BinaryOps() { return kBinaryOps; }

}  // namespace tessera::ops
