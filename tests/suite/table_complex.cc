// Sample table: complex numbers, in the ops that take them.
#include "suite/table.h"

namespace tessera::suite {
namespace {

using namespace ops;
using base::Shape;
using plan::ScalarOp;

constexpr DType kComplexes[] = {c64, c128};

struct Row {
  ScalarOp op;
  Fill fill = Range(-3, 3);
  double eps = 8;
};
// Away from branch cuts and poles: both parts are in the range.
const Row kFunctions[] = {
    {ScalarOp::kNeg, kWild, 0},
    {ScalarOp::kConj, kWild, 0},
    {ScalarOp::kReal, kWild, 0},
    {ScalarOp::kImag, kWild, 0},
    {ScalarOp::kAbs},
    {ScalarOp::kIsFinite, kWild, 0},
    {ScalarOp::kExp},
    {ScalarOp::kExp2},
    {ScalarOp::kExpm1},
    {ScalarOp::kLog, Range(0.1, 9)},
    {ScalarOp::kLog1p, Range(0.1, 9)},
    {ScalarOp::kSqrt, Range(0.1, 9)},
    {ScalarOp::kRsqrt, Range(0.1, 9)},
    {ScalarOp::kSin},
    {ScalarOp::kCos},
    {ScalarOp::kTan, Range(0.1, 1.2), 16},
    {ScalarOp::kAsin, Range(0.1, 3), 16},
    {ScalarOp::kAcos, Range(0.1, 3), 16},
    {ScalarOp::kAtan, Range(0.1, 0.9), 16},
    {ScalarOp::kSinh},
    {ScalarOp::kCosh},
    {ScalarOp::kTanh, Range(0.1, 1.2), 16},
    {ScalarOp::kAsinh, Range(0.1, 3), 16},
    {ScalarOp::kAcosh, Range(0.1, 3), 16},
    {ScalarOp::kAtanh, Range(0.1, 0.9), 16},
    {ScalarOp::kLogistic, Range(-2, 2), 16},
};

void AddFunctions(Table& table) {
  const auto add = [&](const Row& row, const Shape& shape, DType dtype) -> Sample& {
    Sample& s = Add(table, Elementwise(row.op), {}, {{shape, dtype, row.fill}});
    s.forward = {row.eps, row.eps == 0 ? 0 : 0.1};
    return s;
  };
  for (const Row& row : kFunctions) {
    for (DType dtype : kComplexes) add(row, {24, 5}, dtype);
    add(row, {7}, c64);
  }
  for (ScalarOp op : {ScalarOp::kReal, ScalarOp::kImag, ScalarOp::kConj})
    add({op, Range(-3, 3), 0}, {4, 8}, c64).truth = true;
  for (DType dtype : kComplexes)
    Add(table, Elementwise(ScalarOp::kSign), {}, {{{24, 5}, dtype, Range(-3, 3)}}).forward = {8, 0};
}

void AddPairs(Table& table) {
  const auto add = [&](ScalarOp op, Fill lhs, Fill rhs, double eps) {
    const auto sample = [&](DType dtype, const Shape& a, const Shape& b) -> Sample& {
      Sample& s = Add(table, Elementwise(op), {}, {{a, dtype, lhs}, {b, dtype, rhs}});
      s.forward = {eps, eps == 0 ? 0 : 1.0};
      return s;
    };
    for (DType dtype : kComplexes) sample(dtype, {24, 5}, {24, 5});
    sample(c64, {24, 1}, {1, 12});
    sample(c64, {}, {7});
    return &sample(c64, {4, 8}, {4, 8});
  };
  add(ScalarOp::kAdd, Whole(-9, 9), Whole(-9, 9), 0)->truth = true;
  add(ScalarOp::kSub, kWild, kWild, 0);
  add(ScalarOp::kMul, Whole(-9, 9), Whole(-9, 9), 0)->truth = true;
  add(ScalarOp::kMul, Range(-4, 4), Range(-4, 4), 4);
  add(ScalarOp::kDiv, Range(-4, 4), Range(1, 4), 8);
  add(ScalarOp::kPow, Range(0.1, 2), Range(0.1, 2), 32);
  add(ScalarOp::kAtan2, Range(0.1, 1), Range(1.5, 3), 16);
  add(ScalarOp::kMax, Whole(-2, 2), Whole(-2, 2), 0);
  add(ScalarOp::kMin, Whole(-2, 2), Whole(-2, 2), 0);
  add(ScalarOp::kEq, Whole(-1, 1), Whole(-1, 1), 0);
  add(ScalarOp::kNe, Whole(-1, 1), Whole(-1, 1), 0);
  for (DType part : {f32, f64}) {
    Add(table, Elementwise(ScalarOp::kComplex), {},
        {{{24, 5}, part, kWild}, {{24, 5}, part, kWild}});
    Add(table, Elementwise(ScalarOp::kComplex), {}, {{{7}, part, kWild}, {{}, part, kWild}});
  }
  Add(table, Elementwise(ScalarOp::kComplex), {},
      {{{4, 8}, f32, Range(-3, 3)}, {{4, 8}, f32, Range(-3, 3)}})
      .truth = true;
}

void AddConversionsAndChoices(Table& table) {
  for (DType complex : kComplexes) {
    for (DType other : kEvery) {
      const bool to_integer = other.is_integer();
      Add(table, Elementwise(ScalarOp::kConvert), {},
          {{{12, 5}, complex, to_integer ? Range(-90, 90) : kWild}})
          .wanted = {{12, 5}, other};
      Add(table, Elementwise(ScalarOp::kConvert), {}, {{{12, 5}, other, kWild}}).wanted = {{12, 5},
                                                                                           complex};
    }
    for (DType other : kComplexes)
      Add(table, Elementwise(ScalarOp::kConvert), {}, {{{12, 5}, complex, kWild}}).wanted = {
          {12, 5}, other};
    Add(table, Elementwise(ScalarOp::kSelect), {},
        {{{24, 5}, bool_, {}}, {{24, 5}, complex, kWild}, {{24, 5}, complex, kWild}});
    ir::HostTensor value(complex, {1});
    value.SetComplex(0, {2.5, -3});
    Literal literal{complex, {}};
    std::copy(value.data.begin(), value.data.end(), literal.bits.data());
    Add(table, kConstant, ir::MakeParams(ConstantParams{literal}), {});
  }
}

void AddMovesOfComplex(Table& table) {
  for (DType dtype : kComplexes) {
    const SampleOperand x{{24, 6}, dtype, kWild};
    Add(table, kReshape, {}, {x}).wanted = {{8, 18}, dtype};
    Add(table, kTranspose, ir::MakeParams(TransposeParams{{1, 0}}), {x});
    Add(table, kBroadcastInDim, ir::MakeParams(BroadcastParams{{0, 2}}), {x}).wanted = {{24, 4, 6},
                                                                                        dtype};
    Add(table, kConcatenate, ir::MakeParams(DimParams{{0}}), {x, x});
    Add(table, kRev, ir::MakeParams(DimsParams{{0}}), {x});
    Add(table, kSort, ir::MakeParams(SortParams{{0}, 1, false}), {{{24, 6}, dtype, Whole(-3, 3)}});
  }
  Add(table, kTranspose, ir::MakeParams(TransposeParams{{1, 0}}), {{{4, 8}, c64, kWild}}).truth =
      true;
}

void AddSums(Table& table) {
  for (DType dtype : kComplexes) {
    const auto add = [&](const OpDef& op, ir::ParamsPtr params, Fill fill,
                         const Shape& shape) -> Sample& {
      Sample& s = Add(table, op, std::move(params), {{shape, dtype, fill}});
      s.forward = s.sharded = {16, 60};
      return s;
    };
    for (const OperandDims<0>& dims : {OperandDims<0>{0}, {1}, {0, 1}}) {
      add(kReduceSum, ir::MakeParams(DimsParams{dims}), Range(-4, 4), {24, 8});
      add(kReduceProd, ir::MakeParams(DimsParams{dims}), Range(0.6, 0.8), {24, 8});
    }
    for (const OpDef* op : {&kReduceMax, &kReduceMin})
      for (const OperandDims<0>& dims : {OperandDims<0>{0}, {1}, {0, 1}})
        Add(table, *op, ir::MakeParams(DimsParams{dims}), {{{24, 8}, dtype, Whole(-3, 3)}});
    for (const OpDef* op : {&kCummax, &kCummin})
      Add(table, *op, ir::MakeParams(CumulativeParams{{0}, false}),
          {{{24, 8}, dtype, Whole(-3, 3)}});
    for (int64_t dim : {0, 1}) {
      add(kCumsum, ir::MakeParams(CumulativeParams{{dim}, false}), Range(-4, 4), {24, 8});
      add(kCumprod, ir::MakeParams(CumulativeParams{{dim}, true}), Range(0.6, 0.8), {24, 8});
    }
    const DotParams product{{{1}, {0}}, {}};
    Sample& dot = Add(table, kDotGeneral, ir::MakeParams(DotParams(product)),
                      {{{24, 8}, dtype, Range(-2, 2)}, {{8, 12}, dtype, Range(-2, 2)}});
    dot.forward = dot.sharded = {16, 60};
    Sample& batched = Add(table, kDotGeneral, ir::MakeParams(DotParams{{{2}, {1}}, {{0}, {0}}}),
                          {{{6, 24, 8}, dtype, Range(-2, 2)}, {{6, 8, 12}, dtype, Range(-2, 2)}});
    batched.forward = batched.sharded = {16, 60};
  }
  Add(table, kReduceSum, ir::MakeParams(DimsParams{{1}}), {{{4, 8}, c64, Whole(-4, 4)}}).truth =
      true;
  Add(table, kDotGeneral, ir::MakeParams(DotParams{{{1}, {0}}, {}}),
      {{{4, 4}, c64, Whole(-4, 4)}, {{4, 8}, c64, Whole(-4, 4)}})
      .truth = true;
}

}  // namespace

void AddComplex(Table& table) {
  AddFunctions(table);
  AddPairs(table);
  AddConversionsAndChoices(table);
  AddMovesOfComplex(table);
  AddSums(table);
}

}  // namespace tessera::suite
