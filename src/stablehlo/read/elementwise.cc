// Operations element by element, constants and iota.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <cstring>

#include "base/dtype.h"
#include "compile/host/concrete.h"
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
  const auto all_but_sign = static_cast<int64_t>((uint64_t{1} << (whole.bits() - 1)) - 1);
  const Array mask = api::StrongScalar(all_but_sign, whole, call);
  return where(lt(bits, zero, {}, call.loc), bitwise_xor(bits, mask, {}, call.loc), bits, {},
               call.loc);
}

Arrays Compare(ReadCall& c) {
  const std::string_view direction = c.Word("comparison_direction");
  constexpr std::pair<std::string_view, ScalarOp> kDirections[] = {
      {"EQ", kEq}, {"NE", kNe}, {"LT", kLt}, {"LE", kLe}, {"GT", kGt}, {"GE", kGe}};
  const auto* const found =
      absl::c_find_if(kDirections, [&](const auto& known) { return known.first == direction; });
  if (found == std::end(kDirections)) c.Fail(fmt::format("there is no direction {}", direction));
  const ScalarOp op = found->second;
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

// A constant of one number is an op. Others are arrays that the program uses, decoded in place.
Arrays Constant(ReadCall& c) {
  const Attribute* value = c.op().Find("value");
  if (!value || value->kind != Attribute::Kind::kDense) c.Fail("it has no value");
  const ir::ShapeAndDType made = c.Result();
  if (made.dtype.is_default()) c.Fail("constants of this type are not supported");
  if (value->type != c.op().result_types[0]) c.Fail("its value has another type than its result");
  const int64_t elements = base::Elements(made.shape);
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  if (elements == 1 || (value->form == Attribute::DenseForm::kSplat && elements > 0)) {
    const ir::Type* type = ir::Type::Get({}, made.dtype, mesh);
    const Array scalar = api::ScalarOf(NumberOf(c, *value, made.dtype), type, c.call());
    return {made.shape.empty() ? scalar : api::BroadcastTo(scalar, made.shape, c.call())};
  }
  const ir::Type* type = ir::Type::Get(made.shape, made.dtype, mesh);
  if (mesh && mesh->is_abstract())
    return {Array(std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, c.loc()))};
  auto whole = compile::NewWhole(type, c.loc());
  DecodeConstant(c.importer().module(), *value, base::PartOf(made.dtype).size(),
                 {whole->buffers.base, base::Size(elements * made.dtype.size())}, RoundFloat8);
  return {Array(std::move(whole))};
}

Arrays Iota(ReadCall& c) {
  const ops::IotaParams params{{c.Integer("iota_dimension")}};
  return {c.Run(ops::kIota, ir::MakeParams(params), {})};
}

}  // namespace

base::ElementBits NumberOf(const ReadCall& c, const Attribute& value, DType dtype) {
  TextType scalar = *value.type;
  scalar.dims = {};
  scalar.count = 1;
  Attribute one = value;
  if (value.form == Attribute::DenseForm::kSplat) one.type = &scalar;
  base::ElementBits bits;
  DecodeConstant(c.importer().module(), one, base::PartOf(dtype).size(),
                 {bits.data(), base::Size(dtype.size())}, RoundFloat8);
  return bits;
}

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
