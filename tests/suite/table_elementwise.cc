// Sample table: ops that work element by element, and those without operands.
#include <cstring>

#include "suite/table.h"

namespace tessera::suite {
namespace {

using namespace ops;

// The tolerance of transcendental functions, in units of the dtype; f16 and bf16 are rounded from
// f32, so the last place may differ.
Tolerance Close(DType dtype, double eps) {
  return eps == 0 || !dtype.is_floating() ? Tolerance{} : Tolerance{eps, 1e-3 * eps};
}

struct UnaryRow {
  const OpDef* op;
  absl::Span<const DType> dtypes;
  Fill fill;
  double eps = 0;
};

const UnaryRow kUnary[] = {
    {&kNeg, kNumbers, kWild},
    {&kAbs, kNumbers, kWild},
    {&kSign, kNumbers, kWild},
    {&kFloor, kFloats, kWild},
    {&kCeil, kFloats, kWild},
    {&kRound, kFloats, kWild},
    {&kRoundAway, kFloats, kWild},
    {&kExp, kFloats, Range(-8, 8), 8},
    {&kExp2, kFloats, Range(-8, 8), 8},
    {&kExpm1, kFloats, Range(-3, 3), 8},
    {&kLog, kFloats, Range(0.01, 9), 8},
    {&kLog1p, kFloats, Range(-0.9, 9), 8},
    {&kSqrt, kFloats, Range(0, 100), 2},
    {&kRsqrt, kFloats, Range(0.01, 100), 4},
    {&kCbrt, kFloats, Range(-27, 27), 8},
    {&kSin, kFloats, Range(-9, 9), 8},
    {&kCos, kFloats, Range(-9, 9), 8},
    {&kTan, kFloats, Range(-1.3, 1.3), 16},
    {&kAsin, kFloats, Range(-0.99, 0.99), 16},
    {&kAcos, kFloats, Range(-0.99, 0.99), 16},
    {&kAtan, kFloats, Range(-9, 9), 16},
    {&kSinh, kFloats, Range(-4, 4), 16},
    {&kCosh, kFloats, Range(-4, 4), 16},
    {&kTanh, kFloats, Range(-4, 4), 16},
    {&kAsinh, kFloats, Range(-9, 9), 16},
    {&kAcosh, kFloats, Range(1.1, 9), 16},
    {&kAtanh, kFloats, Range(-0.95, 0.95), 16},
    {&kErf, kFloats, Range(-3, 3), 16},
    {&kErfc, kFloats, Range(-2, 2), 64},
    {&kErfInv, kFloats, Range(-0.95, 0.95), 64},
    {&kLgamma, kFloats, Range(0.1, 9), 64},
    {&kDigamma, kFloats, Range(0.1, 9), 64},
    {&kLogistic, kFloats, Range(-8, 8), 16},
    {&kIsFinite, kFloats, kWild},
    {&kBitwiseNot, kBits, kWild},
    {&kPopulationCount, kIntegers, kWild},
    {&kClz, kIntegers, kWild},
    {&kOptimizationBarrier, kEvery, kWild},
};

const ir::Shape kUnaryShapes[] = {{},      {0, 24}, {1},     {2},     {3},
                                  {5, 24}, {7},     {8, 12}, {24, 9}, {24, 25}};

void AddUnary(Table& table) {
  for (const UnaryRow& row : kUnary) {
    for (const ir::Shape& shape : kUnaryShapes)
      Add(table, *row.op, {}, {{shape, row.dtypes[0], row.fill}}).forward =
          Close(row.dtypes[0], row.eps);
    for (DType dtype : row.dtypes.subspan(1))
      Add(table, *row.op, {}, {{{24, 5}, dtype, row.fill}}).forward = Close(dtype, row.eps);
    Sample& truth = Add(table, *row.op, {}, {{{4, 8}, row.dtypes[0], row.fill}});
    truth.forward = Close(row.dtypes[0], row.eps);
    truth.truth = true;
  }
}

struct BinaryRow {
  const OpDef* op;
  absl::Span<const DType> dtypes;
  Fill lhs, rhs;
  double eps = 0;
};

const BinaryRow kBinary[] = {
    {&kAdd, kNumbers, kWild, kWild},
    {&kSub, kNumbers, kWild, kWild},
    {&kMul, kNumbers, kWild, kWild},
    {&kDiv, kNumbers, kWild, kWild},
    {&kRem, kNumbers, kWild, Range(1, 9)},
    {&kPow, kNumbers, Range(0.1, 4), Whole(0, 3), 32},
    {&kMaximum, kEvery, kWild, kWild},
    {&kMinimum, kEvery, kWild, kWild},
    {&kAtan2, kFloats, Range(-4, 4), Range(-4, 4), 16},
    {&kNextafter, kFloats, kWild, kWild},
    {&kBitwiseAnd, kBits, kWild, kWild},
    {&kBitwiseOr, kBits, kWild, kWild},
    {&kBitwiseXor, kBits, kWild, kWild},
    {&kShiftLeft, kIntegers, kWild, Whole(0, 70)},
    {&kShiftRightArithmetic, kIntegers, kWild, Whole(0, 70)},
    {&kShiftRightLogical, kIntegers, kWild, Whole(0, 70)},
    {&kEq, kEvery, Whole(-3, 3), Whole(-3, 3)},
    {&kNe, kEvery, Whole(-3, 3), Whole(-3, 3)},
    {&kLt, kEvery, kWild, kWild},
    {&kLe, kEvery, kWild, kWild},
    {&kGt, kEvery, kWild, kWild},
    {&kGe, kEvery, kWild, kWild},
};

const std::pair<ir::Shape, ir::Shape> kBinaryShapes[] = {
    {{}, {}},           {{24, 5}, {}},      {{}, {7}},  {{24, 1}, {1, 12}},     {{8, 12}, {8, 12}},
    {{7, 24}, {7, 24}}, {{0, 12}, {0, 12}}, {{1}, {1}}, {{3, 1, 8}, {3, 4, 8}},
};

void AddBinary(Table& table) {
  for (const BinaryRow& row : kBinary) {
    auto add = [&](DType dtype, const ir::Shape& lhs, const ir::Shape& rhs) {
      // Small whole numbers of every dtype are powers that fit.
      Fill base = row.op == &kPow && !dtype.is_floating() ? Whole(0, 3) : row.lhs;
      Sample& s = Add(table, *row.op, {}, {{lhs, dtype, base}, {rhs, dtype, row.rhs}});
      s.forward = Close(dtype, row.eps);
      return &s;
    };
    for (const auto& [lhs, rhs] : kBinaryShapes) add(row.dtypes[0], lhs, rhs);
    for (DType dtype : row.dtypes.subspan(1)) add(dtype, {24, 5}, {24, 5});
    Sample* truth = add(row.dtypes[0], {4, 8}, {4, 8});
    truth->truth = true;
    for (SampleOperand& o : truth->operands)
      o.fill.wild = false;  // infinities have no partial values
  }
  Add(table, kAdd, {}, {{{4, 1}, f32, Whole(-4, 4)}, {{4, 8}, f32, Whole(-4, 4)}}).truth = true;
  Add(table, kMul, {}, {{{}, f32, Whole(-4, 4)}, {{4, 8}, f32, Whole(-4, 4)}}).truth = true;
}

void AddConversions(Table& table) {
  for (DType from : kEvery)
    for (DType to : kEvery) {
      ir::Shape shape{from == f32 ? 24 : 12, to == f32 ? 25 : 2};
      Fill fill = from.is_floating() && to.is_integer() ? Range(-90, 90) : kWild;
      Add(table, kConvertElementType, {}, {{shape, from, fill}}).wanted = {shape, to};
    }
  for (const ir::Shape& shape : kUnaryShapes)
    Add(table, kConvertElementType, {}, {{shape, f32, Range(-9, 9)}}).wanted = {shape, i32};
  Sample& truth = Add(table, kConvertElementType, {}, {{{4, 8}, i32, Whole(-50, 50)}});
  truth.wanted = {{4, 8}, f32};
  truth.truth = true;
}

void AddChoices(Table& table) {
  for (DType dtype : kEvery) {
    Add(table, kSelectN, {},
        {{{24, 5}, bool_, {}}, {{24, 5}, dtype, kWild}, {{24, 5}, dtype, kWild}});
    Add(table, kClamp, {},
        {{{}, dtype, Whole(0, 1)}, {{24, 5}, dtype, kWild}, {{}, dtype, Whole(2, 40)}});
  }
  for (const ir::Shape& shape : {ir::Shape{}, {0, 12}, {1}, {7}, {8, 12}}) {
    Add(table, kSelectN, {}, {{shape, bool_, {}}, {shape, f32, kWild}, {shape, f32, kWild}});
    Add(table, kSelectN, {}, {{{}, bool_, {}}, {shape, i32, kWild}, {shape, i32, kWild}});
    Add(table, kClamp, {},
        {{shape, f32, Range(-9, 0)}, {shape, f32, kWild}, {shape, f32, Range(0, 9)}});
    Add(table, kClamp, {},
        {{{}, i32, Whole(-9, -2)}, {shape, i32, kWild}, {shape, i32, Whole(0, 9)}});
  }
  Add(table, kSelectN, {}, {{{4, 8}, bool_, {}}, {{4, 8}, f32, kWild}, {{4, 8}, f32, kWild}})
      .truth = true;
  Add(table, kSelectN, {}, {{{}, bool_, {}}, {{4, 8}, f32, kWild}, {{4, 8}, f32, kWild}}).truth =
      true;
  Add(table, kClamp, {}, {{{}, f32, Range(-9, 0)}, {{4, 8}, f32, kWild}, {{}, f32, Range(0, 9)}})
      .truth = true;
  Add(table, kClamp, {},
      {{{4, 8}, f32, Range(-9, 0)}, {{4, 8}, f32, kWild}, {{4, 8}, f32, Range(0, 9)}})
      .truth = true;
}

void AddMakers(Table& table) {
  for (DType dtype : kEvery) {
    ir::HostTensor value(dtype, {1});
    value.SetInt(0, 3);
    Literal literal{dtype, 0};
    std::memcpy(&literal.bits, value.data.data(), value.data.size());
    Add(table, kConstant, ir::MakeParams(ConstantParams{literal}), {}).truth = dtype == f32;
    if (dtype.is_bool()) continue;
    for (int64_t dim : {0, 1})
      Add(table, kIota, ir::MakeParams(IotaParams{{dim}}), {}).wanted = {{24, 12}, dtype};
  }
  for (const ir::Shape& shape : {ir::Shape{0, 4}, {1, 8}, {7, 24}, {8, 9}})
    for (int64_t dim : {0, 1})
      Add(table, kIota, ir::MakeParams(IotaParams{{dim}}), {}).wanted = {shape, i32};
  Sample& truth = Add(table, kIota, ir::MakeParams(IotaParams{{1}}), {});
  truth.wanted = {{4, 8}, i32};
  truth.truth = true;
}

}  // namespace

void AddElementwise(Table& table) {
  AddUnary(table);
  AddBinary(table);
  AddConversions(table);
  AddChoices(table);
  AddMakers(table);
}

}  // namespace tessera::suite
