// Sample table: elementwise ops, and ops without operands.
#include <cstring>

#include "suite/table.h"

namespace tessera::suite {
namespace {

using namespace ops;

// Returns the tolerance of transcendental functions, in units of the dtype. f16 and bf16 are
// rounded from f32, so the last digit may differ.
Tolerance Close(DType dtype, double eps) {
  return eps == 0 || !dtype.is_floating() ? Tolerance{} : Tolerance{eps, 1e-3 * eps};
}

const base::Shape kUnaryShapes[] = {{},      {0, 24}, {1},     {2},     {3},
                                    {5, 24}, {7},     {8, 12}, {24, 9}, {24, 25}};

void AddUnary(Table& table, const OpDef& op, absl::Span<const DType> dtypes, Fill fill,
              double eps) {
  for (const base::Shape& shape : kUnaryShapes)
    Add(table, op, {}, {{shape, dtypes[0], fill}}).forward = Close(dtypes[0], eps);
  for (DType dtype : dtypes.subspan(1))
    Add(table, op, {}, {{{24, 5}, dtype, fill}}).forward = Close(dtype, eps);
  Sample& truth = Add(table, op, {}, {{{4, 8}, dtypes[0], fill}});
  truth.forward = Close(dtypes[0], eps);
  truth.truth = true;
}

const std::pair<base::Shape, base::Shape> kBinaryShapes[] = {
    {{}, {}},           {{24, 5}, {}},      {{}, {7}},  {{24, 1}, {1, 12}},     {{8, 12}, {8, 12}},
    {{7, 24}, {7, 24}}, {{0, 12}, {0, 12}}, {{1}, {1}}, {{3, 1, 8}, {3, 4, 8}},
};

void AddBinary(Table& table) {
  for (const BinaryRow& row : BinaryRows()) {
    const OpDef& op = Elementwise(row.op);
    auto add = [&](DType dtype, const base::Shape& lhs, const base::Shape& rhs) {
      // Small whole numbers of every dtype have powers that fit.
      Fill base = row.op == ScalarOp::kPow && !dtype.is_floating() ? Whole(0, 3) : row.lhs;
      Sample& s = Add(table, op, {}, {{lhs, dtype, base}, {rhs, dtype, row.rhs}});
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
      base::Shape shape{from == f32 ? 24 : 12, to == f32 ? 25 : 2};
      Fill fill = from.is_floating() && to.is_integer() ? Range(-90, 90) : kWild;
      Add(table, Elementwise(ScalarOp::kConvert), {}, {{shape, from, fill}}).wanted = {shape, to};
    }
  for (const base::Shape& shape : kUnaryShapes)
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
  for (const base::Shape& shape : {base::Shape{}, {0, 12}, {1}, {7}, {8, 12}}) {
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

void AddIncompleteBeta(Table& table) {
  constexpr Fill kShape = Range(0.5, 6), kPart = Range(0.05, 0.95);
  const auto add = [&](DType dtype, const base::Shape& a, const base::Shape& b,
                       const base::Shape& x) -> Sample& {
    Sample& sample = Add(table, Elementwise(ScalarOp::kBetainc), {},
                         {{a, dtype, kShape}, {b, dtype, kShape}, {x, dtype, kPart}});
    sample.forward = Close(dtype, 64);
    return sample;
  };
  for (const auto& [a, b] : kBinaryShapes) add(f32, a, b, b);
  add(f32, {24, 1}, {}, {1, 12});
  for (DType dtype : kFloats) add(dtype, {24, 5}, {24, 5}, {24, 5});
  add(f32, {4, 8}, {4, 8}, {4, 8}).truth = true;
}

// Keys and counters with both words set.
void AddRandom(Table& table) {
  constexpr Fill kCounters{.lo = 0, .hi = 0x1p40, .whole = true, .wild = true};
  constexpr Fill kKeys{.lo = 0, .hi = 0x1p62, .whole = true, .wild = true};
  for (ScalarOp op : {ScalarOp::kRandomFoldIn, ScalarOp::kRandomBits64, ScalarOp::kRandomBits32}) {
    for (const auto& [keys, counters] : kBinaryShapes)
      Add(table, Elementwise(op), {}, {{keys, key_dtype, kKeys}, {counters, u64, kCounters}});
    Add(table, Elementwise(op), {}, {{{}, key_dtype, kKeys}, {{4, 8}, u64, kCounters}}).truth =
        true;
  }
  for (ScalarOp op : {ScalarOp::kEq, ScalarOp::kNe})
    Add(table, Elementwise(op), {}, {{{24, 5}, key_dtype, kKeys}, {{24, 5}, key_dtype, kKeys}});
  Add(table, Elementwise(ScalarOp::kSelect), {},
      {{{24, 5}, bool_, {}}, {{24, 5}, key_dtype, kKeys}, {{24, 5}, key_dtype, kKeys}});
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
  for (const base::Shape& shape : {base::Shape{0, 4}, {1, 8}, {7, 24}, {8, 9}})
    for (int64_t dim : {0, 1})
      Add(table, kIota, ir::MakeParams(IotaParams{{dim}}), {}).wanted = {shape, i32};
  // Row-major, over dims in any order.
  for (const ir::ResultDims& dims :
       {ir::ResultDims{0, 1}, {1, 0}, {0, 1, 2}, {2, 0}, {1}, ir::ResultDims{}})
    for (const base::Shape& shape : {base::Shape{4, 6, 5}, {24, 4, 2}, {1, 40, 1}, {2, 3, 64}})
      if (dims.size() > 1 || shape[0] == 4)
        Add(table, kIota, ir::MakeParams(IotaParams{dims}), {}).wanted = {shape, u64};
  Sample& truth = Add(table, kIota, ir::MakeParams(IotaParams{{1}}), {});
  truth.wanted = {{4, 8}, i32};
  truth.truth = true;
  Add(table, kIota, ir::MakeParams(IotaParams{{0, 1}}), {}).wanted = {{4, 8}, u64};
  table.back().truth = true;
}

}  // namespace

void AddElementwise(Table& table) {
  for (const UnaryRow& row : UnaryRows())
    AddUnary(table, Elementwise(row.op), row.dtypes, row.fill, row.eps);
  AddUnary(table, kOptimizationBarrier, kEvery, kWild, 0);
  AddUnary(table, kStopGradient, kEvery, kWild, 0);
  AddBinary(table);
  AddConversions(table);
  AddChoices(table);
  AddIncompleteBeta(table);
  AddRandom(table);
  AddMakers(table);
}

}  // namespace tessera::suite
