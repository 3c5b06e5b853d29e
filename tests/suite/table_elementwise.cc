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
    {&Elementwise(ScalarOp::kNeg), kNumbers, kWild},
    {&Elementwise(ScalarOp::kAbs), kNumbers, kWild},
    {&Elementwise(ScalarOp::kSign), kNumbers, kWild},
    {&Elementwise(ScalarOp::kFloor), kFloats, kWild},
    {&Elementwise(ScalarOp::kCeil), kFloats, kWild},
    {&Elementwise(ScalarOp::kRoundEven), kFloats, kWild},
    {&Elementwise(ScalarOp::kRoundAway), kFloats, kWild},
    {&Elementwise(ScalarOp::kExp), kFloats, Range(-8, 8), 8},
    {&Elementwise(ScalarOp::kExp2), kFloats, Range(-8, 8), 8},
    {&Elementwise(ScalarOp::kExpm1), kFloats, Range(-3, 3), 8},
    {&Elementwise(ScalarOp::kLog), kFloats, Range(0.01, 9), 8},
    {&Elementwise(ScalarOp::kLog1p), kFloats, Range(-0.9, 9), 8},
    {&Elementwise(ScalarOp::kSqrt), kFloats, Range(0, 100), 2},
    {&Elementwise(ScalarOp::kRsqrt), kFloats, Range(0.01, 100), 4},
    {&Elementwise(ScalarOp::kCbrt), kFloats, Range(-27, 27), 8},
    {&Elementwise(ScalarOp::kSin), kFloats, Range(-9, 9), 8},
    {&Elementwise(ScalarOp::kCos), kFloats, Range(-9, 9), 8},
    {&Elementwise(ScalarOp::kTan), kFloats, Range(-1.3, 1.3), 16},
    {&Elementwise(ScalarOp::kAsin), kFloats, Range(-0.99, 0.99), 16},
    {&Elementwise(ScalarOp::kAcos), kFloats, Range(-0.99, 0.99), 16},
    {&Elementwise(ScalarOp::kAtan), kFloats, Range(-9, 9), 16},
    {&Elementwise(ScalarOp::kSinh), kFloats, Range(-4, 4), 16},
    {&Elementwise(ScalarOp::kCosh), kFloats, Range(-4, 4), 16},
    {&Elementwise(ScalarOp::kTanh), kFloats, Range(-4, 4), 16},
    {&Elementwise(ScalarOp::kAsinh), kFloats, Range(-9, 9), 16},
    {&Elementwise(ScalarOp::kAcosh), kFloats, Range(1.1, 9), 16},
    {&Elementwise(ScalarOp::kAtanh), kFloats, Range(-0.95, 0.95), 16},
    {&Elementwise(ScalarOp::kErf), kFloats, Range(-3, 3), 16},
    {&Elementwise(ScalarOp::kErfc), kFloats, Range(-2, 2), 64},
    {&Elementwise(ScalarOp::kErfInv), kFloats, Range(-0.95, 0.95), 64},
    {&Elementwise(ScalarOp::kLgamma), kFloats, Range(0.1, 9), 64},
    {&Elementwise(ScalarOp::kDigamma), kFloats, Range(0.1, 9), 64},
    {&Elementwise(ScalarOp::kLogistic), kFloats, Range(-8, 8), 16},
    {&Elementwise(ScalarOp::kIsFinite), kFloats, kWild},
    {&Elementwise(ScalarOp::kNot), kBits, kWild},
    {&Elementwise(ScalarOp::kPopulationCount), kIntegers, kWild},
    {&Elementwise(ScalarOp::kClz), kIntegers, kWild},
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
    {&Elementwise(ScalarOp::kAdd), kNumbers, kWild, kWild},
    {&Elementwise(ScalarOp::kSub), kNumbers, kWild, kWild},
    {&Elementwise(ScalarOp::kMul), kNumbers, kWild, kWild},
    {&Elementwise(ScalarOp::kDiv), kNumbers, kWild, kWild},
    {&Elementwise(ScalarOp::kRem), kNumbers, kWild, Range(1, 9)},
    {&Elementwise(ScalarOp::kPow), kNumbers, Range(0.1, 4), Whole(0, 3), 32},
    {&Elementwise(ScalarOp::kMax), kEvery, kWild, kWild},
    {&Elementwise(ScalarOp::kMin), kEvery, kWild, kWild},
    {&Elementwise(ScalarOp::kAtan2), kFloats, Range(-4, 4), Range(-4, 4), 16},
    {&Elementwise(ScalarOp::kNextafter), kFloats, kWild, kWild},
    {&Elementwise(ScalarOp::kAnd), kBits, kWild, kWild},
    {&Elementwise(ScalarOp::kOr), kBits, kWild, kWild},
    {&Elementwise(ScalarOp::kXor), kBits, kWild, kWild},
    {&Elementwise(ScalarOp::kShiftLeft), kIntegers, kWild, Whole(0, 70)},
    {&Elementwise(ScalarOp::kShiftRightArithmetic), kIntegers, kWild, Whole(0, 70)},
    {&Elementwise(ScalarOp::kShiftRightLogical), kIntegers, kWild, Whole(0, 70)},
    {&Elementwise(ScalarOp::kEq), kEvery, Whole(-3, 3), Whole(-3, 3)},
    {&Elementwise(ScalarOp::kNe), kEvery, Whole(-3, 3), Whole(-3, 3)},
    {&Elementwise(ScalarOp::kLt), kEvery, kWild, kWild},
    {&Elementwise(ScalarOp::kLe), kEvery, kWild, kWild},
    {&Elementwise(ScalarOp::kGt), kEvery, kWild, kWild},
    {&Elementwise(ScalarOp::kGe), kEvery, kWild, kWild},
};

const std::pair<ir::Shape, ir::Shape> kBinaryShapes[] = {
    {{}, {}},           {{24, 5}, {}},      {{}, {7}},  {{24, 1}, {1, 12}},     {{8, 12}, {8, 12}},
    {{7, 24}, {7, 24}}, {{0, 12}, {0, 12}}, {{1}, {1}}, {{3, 1, 8}, {3, 4, 8}},
};

void AddBinary(Table& table) {
  for (const BinaryRow& row : kBinary) {
    auto add = [&](DType dtype, const ir::Shape& lhs, const ir::Shape& rhs) {
      // Small whole numbers of every dtype are powers that fit.
      Fill base =
          row.op == &Elementwise(ScalarOp::kPow) && !dtype.is_floating() ? Whole(0, 3) : row.lhs;
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
  Add(table, Elementwise(ScalarOp::kAdd), {},
      {{{4, 1}, f32, Whole(-4, 4)}, {{4, 8}, f32, Whole(-4, 4)}})
      .truth = true;
  Add(table, Elementwise(ScalarOp::kMul), {},
      {{{}, f32, Whole(-4, 4)}, {{4, 8}, f32, Whole(-4, 4)}})
      .truth = true;
}

void AddConversions(Table& table) {
  for (DType from : kEvery)
    for (DType to : kEvery) {
      ir::Shape shape{from == f32 ? 24 : 12, to == f32 ? 25 : 2};
      Fill fill = from.is_floating() && to.is_integer() ? Range(-90, 90) : kWild;
      Add(table, Elementwise(ScalarOp::kConvert), {}, {{shape, from, fill}}).wanted = {shape, to};
    }
  for (const ir::Shape& shape : kUnaryShapes)
    Add(table, Elementwise(ScalarOp::kConvert), {}, {{shape, f32, Range(-9, 9)}}).wanted = {shape,
                                                                                            i32};
  Sample& truth = Add(table, Elementwise(ScalarOp::kConvert), {}, {{{4, 8}, i32, Whole(-50, 50)}});
  truth.wanted = {{4, 8}, f32};
  truth.truth = true;
}

void AddChoices(Table& table) {
  for (DType dtype : kEvery) {
    Add(table, Elementwise(ScalarOp::kSelect), {},
        {{{24, 5}, bool_, {}}, {{24, 5}, dtype, kWild}, {{24, 5}, dtype, kWild}});
    Add(table, Elementwise(ScalarOp::kClamp), {},
        {{{}, dtype, Whole(0, 1)}, {{24, 5}, dtype, kWild}, {{}, dtype, Whole(2, 40)}});
  }
  for (const ir::Shape& shape : {ir::Shape{}, {0, 12}, {1}, {7}, {8, 12}}) {
    Add(table, Elementwise(ScalarOp::kSelect), {},
        {{shape, bool_, {}}, {shape, f32, kWild}, {shape, f32, kWild}});
    Add(table, Elementwise(ScalarOp::kSelect), {},
        {{{}, bool_, {}}, {shape, i32, kWild}, {shape, i32, kWild}});
    Add(table, Elementwise(ScalarOp::kClamp), {},
        {{shape, f32, Range(-9, 0)}, {shape, f32, kWild}, {shape, f32, Range(0, 9)}});
    Add(table, Elementwise(ScalarOp::kClamp), {},
        {{{}, i32, Whole(-9, -2)}, {shape, i32, kWild}, {shape, i32, Whole(0, 9)}});
  }
  Add(table, Elementwise(ScalarOp::kSelect), {},
      {{{4, 8}, bool_, {}}, {{4, 8}, f32, kWild}, {{4, 8}, f32, kWild}})
      .truth = true;
  Add(table, Elementwise(ScalarOp::kSelect), {},
      {{{}, bool_, {}}, {{4, 8}, f32, kWild}, {{4, 8}, f32, kWild}})
      .truth = true;
  Add(table, Elementwise(ScalarOp::kClamp), {},
      {{{}, f32, Range(-9, 0)}, {{4, 8}, f32, kWild}, {{}, f32, Range(0, 9)}})
      .truth = true;
  Add(table, Elementwise(ScalarOp::kClamp), {},
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
