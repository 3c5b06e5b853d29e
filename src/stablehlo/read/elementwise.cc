// Operations element by element, constants and iota.
#include <cstring>
#include <limits>

#include "base/dtype.h"
#include "stablehlo/read/importer.h"
#include "trace/scopes.h"

namespace tessera::stablehlo {
namespace {

using enum plan::ScalarOp;
using plan::ScalarOp;

template <ScalarOp kOp>
Arrays Elementwise(ReadCall& c) {
  c.CheckOneShape();
  return {c.Run(ops::Elementwise(kOp), nullptr, c.in)};
}

Arrays Same(ReadCall& c) { return {c.In(0)}; }

// Bools have a meaning of their own only in `and`, `or`, `xor` and `not`; the others are numbers
// of one bit.
template <ScalarOp kOp, ScalarOp kOfBools>
Arrays NumberOrBool(ReadCall& c) {
  c.CheckOneShape();
  const bool is_bool = api::TypeOf(c.In(0))->dtype().is_bool();
  return {c.Run(ops::Elementwise(is_bool ? kOfBools : kOp), nullptr, c.in)};
}

Arrays RealOrSame(ReadCall& c) {
  if (!api::TypeOf(c.In(0))->dtype().is_complex()) return Same(c);
  return Elementwise<kReal>(c);
}
Arrays ImagOrZero(ReadCall& c) {
  const ir::Type* type = api::TypeOf(c.In(0));
  if (!type->dtype().is_complex()) return {api::FilledWith(0, type, c.call())};
  return Elementwise<kImag>(c);
}

Arrays Convert(ReadCall& c) { return {api::Convert(c.In(0), c.ResultDType(), c.call())}; }

// Floats in their total order are compared as integers with the same order.
Array TotalOrder(const Array& x, api::Call call) {
  const DType t = api::TypeOf(x)->dtype();
  const DType whole = t.size() == 8 ? i64 : t.size() == 4 ? i32 : t.size() == 2 ? i16 : i8;
  const Array bits = bitcast_convert_type(x, whole, call.loc);
  const Array zero = api::StrongScalar(0, whole, call);
  const int64_t most = whole == i64   ? std::numeric_limits<int64_t>::max()
                       : whole == i32 ? std::numeric_limits<int32_t>::max()
                       : whole == i16 ? std::numeric_limits<int16_t>::max()
                                      : std::numeric_limits<int8_t>::max();
  const Array mask = api::StrongScalar(most, whole, call);
  return where(lt(bits, zero, {}, call.loc), bitwise_xor(bits, mask, {}, call.loc), bits, {},
               call.loc);
}

Arrays Compare(ReadCall& c) {
  const std::string_view direction = c.Word("comparison_direction");
  const ScalarOp op = direction == "EQ"   ? kEq
                      : direction == "NE" ? kNe
                      : direction == "LT" ? kLt
                      : direction == "LE" ? kLe
                      : direction == "GT" ? kGt
                                          : kGe;
  c.CheckOneShape();
  Arrays operands = c.in;
  if (c.Word("compare_type") == "TOTALORDER")
    for (Array& x : operands) x = TotalOrder(x, c.call());
  return {c.Run(ops::Elementwise(op), nullptr, operands)};
}

// Returns x as large as `like`: predicates of selects and bounds of clamps may be scalars.
Array Spread(const Array& x, const Array& like, api::Call call) {
  if (api::Rank(x) == api::Rank(like)) return x;
  return api::BroadcastTo(x, api::ShapeOf(like), call);
}

Arrays Select(ReadCall& c) {
  const Array p = Spread(c.In(0), c.In(1), c.call());
  return {c.Run(ops::Elementwise(kSelect), nullptr, {p, c.In(2), c.In(1)})};
}

Arrays Clamp(ReadCall& c) {
  const Array &x = c.In(1), low = Spread(c.In(0), x, c.call()), high = Spread(c.In(2), x, c.call());
  return {c.Run(ops::Elementwise(kClamp), nullptr, {low, x, high})};
}

Arrays BitcastConvert(ReadCall& c) {
  return {bitcast_convert_type(c.In(0), c.ResultDType(), c.loc())};
}

Arrays ReducePrecision(ReadCall& c) {
  const ops::PrecisionParams params{c.Integer("exponent_bits"), c.Integer("mantissa_bits")};
  return {c.Run(ops::kReducePrecision, ir::MakeParams(params), c.in)};
}

bool RoundFloat8(std::string_view type, double value, uint8_t& bits) {
  const DType dtype = DTypeOf(type);
  if (!dtype.is_float8()) return false;
  ir::HostTensor element(dtype, {1});
  element.SetFloat(0, value);
  std::memcpy(&bits, element.data.data(), 1);
  return true;
}

// A constant of one number is an op; others are arrays that the program uses.
Arrays Constant(ReadCall& c) {
  const Attribute* value = c.op().Find("value");
  if (!value) c.Fail("it has no value");
  const ir::ShapeAndDType made = c.Result();
  if (made.dtype.is_default()) c.Fail("constants of this type are not supported");
  const Module& module = c.importer().module();
  const int64_t elements = base::Elements(made.shape);
  const int bytes = base::PartOf(made.dtype).size();
  const bool is_splat = value->form == Attribute::DenseForm::kSplat && elements > 0;
  if (elements == 1 || is_splat) {
    base::ElementBits bits;
    if (elements == 1) {
      DecodeConstant(module, *value, bytes, {bits.data(), base::Size(made.dtype.size())},
                     RoundFloat8);
    } else {
      Attribute one = *value;
      TextType scalar = *value->type;
      scalar.dims = {};
      scalar.count = 1;
      one.type = &scalar;
      DecodeConstant(module, one, bytes, {bits.data(), base::Size(made.dtype.size())}, RoundFloat8);
    }
    const ir::Type* type = ir::Type::Get({}, made.dtype, trace::CurrentMesh());
    trace::Trace* trace = trace::CurrentTrace();
    trace->builder().set_loc(c.loc());
    const ir::ValueId v = trace->builder().EmitTyped(
        ops::kConstant, ir::MakeParams(ops::ConstantParams{{made.dtype, bits}}), {}, {type})[0];
    const Array scalar(
        std::make_shared<trace::TracedArray>(type, c.loc(), trace->shared_from_this(), v));
    if (made.shape.empty()) return {scalar};
    return {api::BroadcastTo(scalar, made.shape, c.call())};
  }
  std::vector<std::byte> data(base::Size(elements * made.dtype.size()));
  DecodeConstant(module, *value, bytes, data, RoundFloat8);
  const detail::HostData host{data.data(), elements, made.dtype};
  return {detail::ArrayFromHost(host, {.dtype = made.dtype, .shape = Shape(made.shape)}, c.loc())};
}

Arrays Iota(ReadCall& c) {
  const ops::IotaParams params{{c.Integer("iota_dimension")}};
  return {c.Run(ops::kIota, ir::MakeParams(params), {})};
}

}  // namespace

std::vector<OpReader> ElementwiseReaders() {
  return {
      {"stablehlo.abs", Elementwise<kAbs>},
      {"stablehlo.add", NumberOrBool<kAdd, kOr>},
      {"stablehlo.and", Elementwise<kAnd>},
      {"stablehlo.atan2", Elementwise<kAtan2>},
      {"stablehlo.bitcast_convert", BitcastConvert},
      {"stablehlo.cbrt", Elementwise<kCbrt>},
      {"stablehlo.ceil", Elementwise<kCeil>},
      {"stablehlo.clamp", Clamp},
      {"stablehlo.compare", Compare},
      {"stablehlo.complex", Elementwise<kComplex>},
      {"stablehlo.constant", Constant},
      {"stablehlo.convert", Convert},
      {"stablehlo.cosine", Elementwise<kCos>},
      {"stablehlo.count_leading_zeros", Elementwise<kClz>},
      {"stablehlo.divide", Elementwise<kDiv>},
      {"stablehlo.dynamic_iota", Iota},
      {"stablehlo.exponential", Elementwise<kExp>},
      {"stablehlo.exponential_minus_one", Elementwise<kExpm1>},
      {"stablehlo.floor", Elementwise<kFloor>},
      {"stablehlo.imag", ImagOrZero},
      {"stablehlo.iota", Iota},
      {"stablehlo.is_finite", Elementwise<kIsFinite>},
      {"stablehlo.log", Elementwise<kLog>},
      {"stablehlo.log_plus_one", Elementwise<kLog1p>},
      {"stablehlo.logistic", Elementwise<kLogistic>},
      {"stablehlo.maximum", NumberOrBool<kMax, kOr>},
      {"stablehlo.minimum", NumberOrBool<kMin, kAnd>},
      {"stablehlo.multiply", NumberOrBool<kMul, kAnd>},
      {"stablehlo.negate", Elementwise<kNeg>},
      {"stablehlo.not", Elementwise<kNot>},
      {"stablehlo.or", Elementwise<kOr>},
      {"stablehlo.popcnt", Elementwise<kPopulationCount>},
      {"stablehlo.power", Elementwise<kPow>},
      {"stablehlo.real", RealOrSame},
      {"stablehlo.reduce_precision", ReducePrecision},
      {"stablehlo.remainder", Elementwise<kRem>},
      {"stablehlo.round_nearest_afz", Elementwise<kRoundAway>},
      {"stablehlo.round_nearest_even", Elementwise<kRoundEven>},
      {"stablehlo.rsqrt", Elementwise<kRsqrt>},
      {"stablehlo.select", Select},
      {"stablehlo.shift_left", Elementwise<kShiftLeft>},
      {"stablehlo.shift_right_arithmetic", Elementwise<kShiftRightArithmetic>},
      {"stablehlo.shift_right_logical", Elementwise<kShiftRightLogical>},
      {"stablehlo.sign", Elementwise<kSign>},
      {"stablehlo.sine", Elementwise<kSin>},
      {"stablehlo.sqrt", Elementwise<kSqrt>},
      {"stablehlo.subtract", NumberOrBool<kSub, kXor>},
      {"stablehlo.tan", Elementwise<kTan>},
      {"stablehlo.tanh", Elementwise<kTanh>},
      {"stablehlo.xor", Elementwise<kXor>},
      {"chlo.constant", Constant},
      {"sdy.constant", Constant},
  };
}

}  // namespace tessera::stablehlo
