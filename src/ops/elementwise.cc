// Ops that work element by element. Operands have one shape; scalars and dims of size 1 broadcast.
#include "ops/check.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference.h"
#include "plan/fused.h"
#include "sharding/dim_map.h"

namespace tessera::ops {
namespace {

using plan::ScalarOp;
using sharding::DimMap;

enum class Class { kFloat, kSigned, kNumber, kInteger, kBits, kAny };

constexpr bool Fits(Class c, DType t) {
  switch (c) {
    case Class::kFloat:
      return t.is_floating();
    case Class::kSigned:
      return t.is_floating() || t.is_signed();
    case Class::kNumber:
      return !t.is_bool();
    case Class::kInteger:
      return t.is_integer();
    case Class::kBits:
      return !t.is_floating();
    default:
      return true;
  }
}
constexpr const char* Wanted(Class c) {
  switch (c) {
    case Class::kFloat:
      return "floating dtypes";
    case Class::kSigned:
      return "signed dtypes";
    case Class::kNumber:
      return "numbers";
    case Class::kInteger:
      return "integer dtypes";
    default:
      return "bool and integer dtypes";
  }
}

// C14: the dtype is of the op's class.
void CheckClass(const TypeCall& c, Class k, size_t operand = 0) {
  DType t = c.operands[operand]->dtype();
  if (!Fits(k, t)) c.FailDType(14, fmt::format("it takes {}, not {}", Wanted(k), t.name()));
}

// C16: shapes are equal, but for scalars and, if `ones`, dims of size 1.
Shape Joined(const TypeCall& c, bool ones) {
  Shape shape;
  for (const ir::Type* t : c.operands) {
    if (t->rank() == 0) continue;
    if (shape.empty()) {
      shape = t->shape();
      continue;
    }
    bool fits = shape.size() == t->shape().size();
    for (size_t d = 0; fits && d < shape.size(); ++d) {
      int64_t a = shape[d], b = t->shape()[d];
      fits = a == b || (ones && (a == 1 || b == 1));
      if (a == 1) shape[d] = b;
    }
    if (!fits)
      c.FailShape(16, fmt::format("shapes {} and {} do not match", ShapeText(shape),
                                  ShapeText(t->shape())));
  }
  return shape;
}

template <Class k, bool predicate = false>
std::vector<ShapeAndDType> UnaryType(const TypeCall& c) {
  CheckCount(c, 1);
  CheckClass(c, k);
  return {{c.operands[0]->shape(), predicate ? bool_ : c.operands[0]->dtype()}};
}

template <Class k, bool predicate = false>
std::vector<ShapeAndDType> BinaryType(const TypeCall& c) {
  CheckCount(c, 2);
  CheckSameDType(c);
  CheckClass(c, k);
  return {{Joined(c, true), predicate ? bool_ : c.operands[0]->dtype()}};
}

// Linear groups: no operand; the operand; both together; each alone; the numerator.
enum class Linear { kNone, kOperand, kBoth, kEach, kFirst };

template <Linear linear>
DimMap Dims(const ir::DimsCall& c) {
  DimMap map = sharding::Pointwise(c.operands, *c.results[0]);
  if constexpr (linear == Linear::kOperand || linear == Linear::kFirst)
    map.linear = {{.operands = {0}}};
  if constexpr (linear == Linear::kBoth) map.linear = {{.operands = {0, 1}}};
  if constexpr (linear == Linear::kEach) map.linear = {{.operands = {0}}, {.operands = {1}}};
  return map;
}

template <Class k, bool predicate = false, Linear linear = Linear::kNone>
constexpr OpDef Unary(std::string_view name, std::string_view doc, ScalarOp op, double flops) {
  return {.name = name,
          .doc = doc,
          .type = ir::TypeFn{UnaryType<k, predicate>},
          .dims = ir::DimMapFn{Dims<linear>},
          .lowering = ir::Elementwise{op},
          .reference = ir::ReferenceFn{reference::Elementwise},
          .flops_per_point = flops};
}

template <Class k, bool predicate = false, Linear linear = Linear::kNone>
constexpr OpDef Binary(std::string_view name, std::string_view doc, ScalarOp op, double flops = 1) {
  return {.name = name,
          .doc = doc,
          .type = ir::TypeFn{BinaryType<k, predicate>},
          .dims = ir::DimMapFn{Dims<linear>},
          .lowering = ir::Elementwise{op},
          .reference = ir::ReferenceFn{reference::Elementwise},
          .flops_per_point = flops,
          .out_sharding = true,
          .operand_names = {"lhs", "rhs", ""}};
}

// C17: the dtype to convert to is given.
std::vector<ShapeAndDType> ConvertType(const TypeCall& c) {
  CheckCount(c, 1);
  if (!c.wanted || c.wanted->dtype.is_default())
    c.FailDType(17, "the dtype to convert to is not given");
  return {{c.operands[0]->shape(), c.wanted->dtype}};
}

// Rounding to integers does not commute with sums, so only conversions among floats are linear.
DimMap ConvertDims(const ir::DimsCall& c) {
  return c.to_float ? Dims<Linear::kOperand>(c) : Dims<Linear::kNone>(c);
}

std::vector<ShapeAndDType> SelectType(const TypeCall& c) {
  CheckCount(c, 3);
  CheckSameDType(c, 1);
  DType which = c.operands[0]->dtype();
  if (!which.is_bool()) c.FailDType(14, fmt::format("the selector is bool, not {}", which.name()));
  if (c.operands[1]->shape() != c.operands[2]->shape())
    c.FailShape(
        16, fmt::format("cases have different shapes, {} and {}", ShapeText(c.operands[1]->shape()),
                        ShapeText(c.operands[2]->shape())));
  if (c.operands[0]->rank() != 0 && c.operands[0]->shape() != c.operands[1]->shape())
    c.FailShape(
        17, fmt::format("the selector has shape {}, which is neither [] nor that of the cases, {}",
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
  for (size_t i : {0, 2})
    if (c.operands[i]->rank() != 0 && c.operands[i]->shape() != c.operands[1]->shape())
      c.FailShape(
          16, fmt::format("a bound has shape {}, which is neither [] nor that of the operand, {}",
                          ShapeText(c.operands[i]->shape()), ShapeText(c.operands[1]->shape())));
  return {{c.operands[1]->shape(), c.operands[1]->dtype()}};
}

}  // namespace

constexpr OpDef kNeg =
    Unary<Class::kNumber, false, Linear::kOperand>("neg", "-x", ScalarOp::kNeg, 1);
constexpr OpDef kAbs = Unary<Class::kNumber>("abs", "Absolute value.", ScalarOp::kAbs, 1);
constexpr OpDef kSign =
    Unary<Class::kNumber>("sign", "-1, 0 or 1; keeps -0 and NaN.", ScalarOp::kSign, 1);
constexpr OpDef kFloor =
    Unary<Class::kFloat>("floor", "Largest integer not above x.", ScalarOp::kFloor, 1);
constexpr OpDef kCeil =
    Unary<Class::kFloat>("ceil", "Least integer not below x.", ScalarOp::kCeil, 1);
constexpr OpDef kExp = Unary<Class::kFloat>("exp", "e^x", ScalarOp::kExp, 10);
constexpr OpDef kExp2 = Unary<Class::kFloat>("exp2", "2^x", ScalarOp::kExp2, 10);
constexpr OpDef kExpm1 = Unary<Class::kFloat>("expm1", "e^x - 1", ScalarOp::kExpm1, 15);
constexpr OpDef kLog = Unary<Class::kFloat>("log", "Natural logarithm.", ScalarOp::kLog, 10);
constexpr OpDef kLog1p = Unary<Class::kFloat>("log1p", "log(1 + x)", ScalarOp::kLog1p, 15);
constexpr OpDef kSqrt = Unary<Class::kFloat>("sqrt", "Square root.", ScalarOp::kSqrt, 4);
constexpr OpDef kRsqrt = Unary<Class::kFloat>("rsqrt", "1 / sqrt(x)", ScalarOp::kRsqrt, 5);
constexpr OpDef kCbrt = Unary<Class::kFloat>("cbrt", "Cube root.", ScalarOp::kCbrt, 20);
constexpr OpDef kSin = Unary<Class::kFloat>("sin", "Sine.", ScalarOp::kSin, 15);
constexpr OpDef kCos = Unary<Class::kFloat>("cos", "Cosine.", ScalarOp::kCos, 15);
constexpr OpDef kTan = Unary<Class::kFloat>("tan", "Tangent.", ScalarOp::kTan, 20);
constexpr OpDef kAsin = Unary<Class::kFloat>("asin", "Inverse sine.", ScalarOp::kAsin, 20);
constexpr OpDef kAcos = Unary<Class::kFloat>("acos", "Inverse cosine.", ScalarOp::kAcos, 20);
constexpr OpDef kAtan = Unary<Class::kFloat>("atan", "Inverse tangent.", ScalarOp::kAtan, 15);
constexpr OpDef kSinh = Unary<Class::kFloat>("sinh", "Hyperbolic sine.", ScalarOp::kSinh, 20);
constexpr OpDef kCosh = Unary<Class::kFloat>("cosh", "Hyperbolic cosine.", ScalarOp::kCosh, 20);
constexpr OpDef kTanh = Unary<Class::kFloat>("tanh", "Hyperbolic tangent.", ScalarOp::kTanh, 15);
constexpr OpDef kAsinh =
    Unary<Class::kFloat>("asinh", "Inverse hyperbolic sine.", ScalarOp::kAsinh, 25);
constexpr OpDef kAcosh =
    Unary<Class::kFloat>("acosh", "Inverse hyperbolic cosine.", ScalarOp::kAcosh, 25);
constexpr OpDef kAtanh =
    Unary<Class::kFloat>("atanh", "Inverse hyperbolic tangent.", ScalarOp::kAtanh, 25);
constexpr OpDef kErf = Unary<Class::kFloat>("erf", "Error function.", ScalarOp::kErf, 20);
constexpr OpDef kErfc = Unary<Class::kFloat>("erfc", "1 - erf(x)", ScalarOp::kErfc, 20);
constexpr OpDef kErfInv = Unary<Class::kFloat>("erf_inv", "Inverse of erf.", ScalarOp::kErfInv, 25);
constexpr OpDef kLgamma = Unary<Class::kFloat>("lgamma", "log |gamma(x)|", ScalarOp::kLgamma, 40);
constexpr OpDef kDigamma =
    Unary<Class::kFloat>("digamma", "Derivative of lgamma.", ScalarOp::kDigamma, 40);
constexpr OpDef kLogistic =
    Unary<Class::kFloat>("logistic", "1 / (1 + e^-x)", ScalarOp::kLogistic, 12);
constexpr OpDef kIsFinite =
    Unary<Class::kFloat, true>("is_finite", "Neither infinite nor NaN.", ScalarOp::kIsFinite, 1);
constexpr OpDef kBitwiseNot =
    Unary<Class::kBits>("bitwise_not", "Every bit flipped; of bool: not.", ScalarOp::kNot, 1);
constexpr OpDef kPopulationCount = Unary<Class::kInteger>("population_count", "Number of set bits.",
                                                          ScalarOp::kPopulationCount, 2);
constexpr OpDef kClz =
    Unary<Class::kInteger>("clz", "Number of leading zero bits.", ScalarOp::kClz, 2);

constexpr OpDef kRound =
    Unary<Class::kFloat>("round", "Nearest integer; ties to even.", ScalarOp::kRoundEven, 1);
constexpr OpDef kRoundAway = Unary<Class::kFloat>(
    "round_away", "Nearest integer; ties away from zero.", ScalarOp::kRoundAway, 1);
constexpr OpDef kConvertElementType{
    .name = "convert_element_type",
    .doc = "x as another dtype: float to int saturates, int to int wraps.",
    .type = ir::TypeFn{ConvertType},
    .dims = ir::DimMapFn{ConvertDims},
    .lowering = ir::Elementwise{ScalarOp::kConvert},
    .reference = ir::ReferenceFn{reference::Elementwise},
    .flops_per_point = 1};

constexpr OpDef kAdd = Binary<Class::kNumber, false, Linear::kBoth>("add", "a + b", ScalarOp::kAdd);
constexpr OpDef kSub = Binary<Class::kNumber, false, Linear::kBoth>("sub", "a - b", ScalarOp::kSub);
constexpr OpDef kMul = Binary<Class::kNumber, false, Linear::kEach>("mul", "a * b", ScalarOp::kMul);
constexpr OpDef kDiv = Binary<Class::kNumber, false, Linear::kFirst>(
    "div", "a / b; integers truncate, and x / 0 has every bit set.", ScalarOp::kDiv, 2);
constexpr OpDef kRem =
    Binary<Class::kNumber>("rem", "Remainder with the sign of a; x rem 0 is x.", ScalarOp::kRem, 4);
constexpr OpDef kPow = Binary<Class::kNumber>("pow", "a^b", ScalarOp::kPow, 30);
constexpr OpDef kMaximum = Binary<Class::kAny>("maximum", "The larger; NaN wins.", ScalarOp::kMax);
constexpr OpDef kMinimum = Binary<Class::kAny>("minimum", "The smaller; NaN wins.", ScalarOp::kMin);
constexpr OpDef kAtan2 =
    Binary<Class::kFloat>("atan2", "Angle of the point (b, a).", ScalarOp::kAtan2, 20);
constexpr OpDef kNextafter =
    Binary<Class::kFloat>("nextafter", "The float next to a towards b.", ScalarOp::kNextafter, 4);
constexpr OpDef kBitwiseAnd = Binary<Class::kBits>("bitwise_and", "a & b", ScalarOp::kAnd);
constexpr OpDef kBitwiseOr = Binary<Class::kBits>("bitwise_or", "a | b", ScalarOp::kOr);
constexpr OpDef kBitwiseXor = Binary<Class::kBits>("bitwise_xor", "a ^ b", ScalarOp::kXor);
constexpr OpDef kShiftLeft =
    Binary<Class::kInteger>("shift_left", "a << b; 0 from the width on.", ScalarOp::kShiftLeft);
constexpr OpDef kShiftRightArithmetic = Binary<Class::kInteger>(
    "shift_right_arithmetic", "a >> b with the sign shifted in.", ScalarOp::kShiftRightArithmetic);
constexpr OpDef kShiftRightLogical = Binary<Class::kInteger>(
    "shift_right_logical", "a >> b with zeros shifted in.", ScalarOp::kShiftRightLogical);

constexpr OpDef kEq = Binary<Class::kAny, true>("eq", "a == b", ScalarOp::kEq);
constexpr OpDef kNe = Binary<Class::kAny, true>("ne", "a != b", ScalarOp::kNe);
constexpr OpDef kLt = Binary<Class::kAny, true>("lt", "a < b", ScalarOp::kLt);
constexpr OpDef kLe = Binary<Class::kAny, true>("le", "a <= b", ScalarOp::kLe);
constexpr OpDef kGt = Binary<Class::kAny, true>("gt", "a > b", ScalarOp::kGt);
constexpr OpDef kGe = Binary<Class::kAny, true>("ge", "a >= b", ScalarOp::kGe);

constexpr OpDef kSelectN{.name = "select_n",
                         .doc = "The second case where the selector is true, else the first.",
                         .type = ir::TypeFn{SelectType},
                         .dims = ir::DimMapFn{SelectDims},
                         .lowering = ir::Elementwise{ScalarOp::kSelect},
                         .reference = ir::ReferenceFn{reference::Elementwise},
                         .flops_per_point = 1,
                         .out_sharding = true,
                         .swaps_last = true,
                         .operand_names = {"which", "case 0", "case 1"}};
constexpr OpDef kClamp{.name = "clamp",
                       .doc = "x limited to [lo, hi].",
                       .type = ir::TypeFn{ClampType},
                       .dims = ir::DimMapFn{Dims<Linear::kNone>},
                       .lowering = ir::Elementwise{ScalarOp::kClamp},
                       .reference = ir::ReferenceFn{reference::Elementwise},
                       .flops_per_point = 2,
                       .operand_names = {"lo", "operand", "hi"}};

}  // namespace tessera::ops
