// Sample table: ops that combine several elements. Sums and products of floats depend on the order,
// so sharded and unsharded results are only close.
#include "suite/table.h"

namespace tessera::suite {
namespace {

using namespace ops;
using base::Shape;

enum class Order { kAny, kMatters };

struct ReduceRow {
  const OpDef* op;
  absl::Span<const DType> dtypes;
  Fill fill;
  Order order = Order::kAny;
};

const ReduceRow kReductions[] = {
    {&kReduceSum, kNumbers, Range(-4, 4), Order::kMatters},
    {&kReduceProd, kNumbers, Range(0.8, 1.25), Order::kMatters},
    {&kReduceMax, kEvery, kWild},
    {&kReduceMin, kEvery, kWild},
    {&kReduceAnd, kBits, kWild},
    {&kReduceOr, kBits, kWild},
    {&kReduceXor, kBits, kWild},
};

const std::pair<Shape, OperandDims<0>> kReduceShapes[] = {
    {{24, 8}, {0}},   {{24, 8}, {1}}, {{24, 9}, {0, 1}}, {{12, 8}, {}},   {{0, 8}, {0}},
    {{0, 8}, {1}},    {{1, 24}, {0}}, {{7, 24}, {0}},    {{7, 24}, {1}},  {{4, 6, 8}, {0, 2}},
    {{4, 6, 8}, {1}}, {{}, {}},       {{3}, {0}},        {{25, 24}, {1}},
};

Tolerance SumOf(DType dtype, double terms, double largest) {
  if (!dtype.is_floating()) return {};
  return {4, terms * largest};
}

void AddReductions(Table& table) {
  for (const ReduceRow& row : kReductions) {
    auto add = [&](DType dtype, const Shape& shape, const OperandDims<0>& dims) -> Sample& {
      Sample& s = Add(table, *row.op, ir::MakeParams(DimsParams{dims}), {{shape, dtype, row.fill}});
      double terms = 1;
      for (int64_t d : dims) terms *= static_cast<double>(shape[static_cast<size_t>(d)]);
      if (row.order == Order::kMatters) s.forward = s.sharded = SumOf(dtype, terms, 2);
      return s;
    };
    for (const auto& [shape, dims] : kReduceShapes) add(row.dtypes[0], shape, dims);
    for (DType dtype : row.dtypes.subspan(1)) add(dtype, {24, 8}, {0});
    add(row.dtypes[0], {4, 8}, {1}).truth = true;
    add(row.dtypes[0], {4, 4}, {0, 1}).truth = true;
  }
}

void AddArgs(Table& table) {
  for (const OpDef* op : {&kArgmax, &kArgmin}) {
    auto add = [&](DType dtype, const Shape& shape, int64_t dim) -> Sample& {
      return Add(table, *op, ir::MakeParams(DimParams{{dim}}), {{shape, dtype, kWild}});
    };
    for (DType dtype : kEvery) add(dtype, {24, 8}, 0);
    const std::pair<Shape, int64_t> shapes[] = {{{24, 8}, 1}, {{24}, 0},    {{1, 12}, 0},
                                                {{7, 24}, 0}, {{12, 0}, 0}, {{4, 6, 8}, 1},
                                                {{25, 24}, 1}};
    for (const auto& [shape, dim] : shapes) add(f32, shape, dim);
    add(f32, {24, 8}, 0).wanted = {{8}, i64};
    add(f32, {4, 8}, 1).truth = true;
  }
}

struct CumulativeRow {
  const OpDef* op;
  absl::Span<const DType> dtypes;
  Fill fill;
  bool rounds = false;
};

const CumulativeRow kCumulative[] = {
    {&kCumsum, kNumbers, Range(-4, 4), true},
    {&kCumprod, kNumbers, Range(0.8, 1.25), true},
    {&kCummax, kNumbers, kWild},
    {&kCummin, kNumbers, kWild},
    {&kCumlogsumexp, kFloats, Range(-4, 4), true},
};

void AddCumulative(Table& table) {
  for (const CumulativeRow& row : kCumulative) {
    auto add = [&](DType dtype, const Shape& shape, int64_t dim, bool reverse) -> Sample& {
      Sample& s = Add(table, *row.op, ir::MakeParams(CumulativeParams{{dim}, reverse}),
                      {{shape, dtype, row.fill}});
      if (row.rounds)
        s.sharded = s.forward =
            SumOf(dtype, 4 * static_cast<double>(shape[static_cast<size_t>(dim)]), 4);
      return s;
    };
    for (DType dtype : row.dtypes) add(dtype, {24, 9}, 0, false);
    const std::pair<Shape, int64_t> shapes[] = {{{24, 8}, 1},  {{7, 24}, 0}, {{0, 12}, 0},
                                                {{12, 0}, 1},  {{1}, 0},     {{8, 25}, 1},
                                                {{4, 6, 8}, 1}};
    for (const auto& [shape, dim] : shapes)
      for (bool reverse : {false, true}) add(row.dtypes[0], shape, dim, reverse);
    add(row.dtypes[0], {4, 8}, 1, false).truth = true;
  }
}

struct DotRow {
  Shape lhs, rhs;
  PairedDims contract, batch;
  double terms;
  bool truth = false;
};

const DotRow kDots[] = {
    {{8, 12}, {12, 24}, {{1}, {0}}, {}, 12},
    {{12, 8}, {24, 8}, {{1}, {1}}, {}, 8},
    {{24, 8}, {24, 12}, {{0}, {0}}, {}, 24},
    {{24}, {24}, {{0}, {0}}, {}, 24},
    {{8, 12}, {12}, {{1}, {0}}, {}, 12},
    {{3}, {8}, {}, {}, 1},
    {{24, 12}, {}, {}, {}, 1},
    {{4, 6, 8}, {4, 8, 12}, {{2}, {1}}, {{0}, {0}}, 8},
    {{6, 4, 8}, {8, 12, 4}, {{2}, {0}}, {{1}, {2}}, 8},
    {{4, 6, 8}, {6, 8, 12}, {{1, 2}, {0, 1}}, {}, 48},
    {{0, 8}, {8, 12}, {{1}, {0}}, {}, 8},
    {{12, 0}, {0, 8}, {{1}, {0}}, {}, 0},
    {{1, 24}, {24, 1}, {{1}, {0}}, {}, 24},
    {{7, 12}, {12, 9}, {{1}, {0}}, {}, 12},
    {{7, 5}, {5, 24}, {{1}, {0}}, {}, 5},
    {{4, 8}, {8, 4}, {{1}, {0}}, {}, 8, true},
    {{4, 2, 4}, {4, 4, 2}, {{2}, {1}}, {{0}, {0}}, 4, true},
    {{4, 4}, {4}, {{1}, {0}}, {}, 4, true},
};

void AddDots(Table& table) {
  auto add = [&](const DotRow& row, DType dtype) -> Sample& {
    Sample& s = Add(table, kDotGeneral, ir::MakeParams(DotParams{row.contract, row.batch}),
                    {{row.lhs, dtype, Range(-2, 2)}, {row.rhs, dtype, Range(-2, 2)}});
    s.forward = s.sharded = SumOf(dtype, row.terms, 4);
    return s;
  };
  for (const DotRow& row : kDots) add(row, f32).truth = row.truth;
  for (DType dtype : kNumbers) add(kDots[0], dtype);
  add(kDots[0], bf16).wanted = {{8, 24}, f32};
  add(kDots[0], i8).wanted = {{8, 24}, i32};
}

// The ranges of the diagonals keep the matrices away from singular ones.
void AddSolves(Table& table) {
  auto add = [&](DType dtype, const Shape& b) -> Sample& {
    const Shape diagonal(b.begin(), b.end() - 1);
    Sample& s = Add(table, kTridiagonalSolve, {},
                    {{diagonal, dtype, Range(-1, 1)},
                     {diagonal, dtype, Range(3, 4)},
                     {diagonal, dtype, Range(-1, 1)},
                     {b, dtype, Range(-4, 4)}});
    s.forward = {16, 4};
    return s;
  };
  for (const Shape& b : {Shape{24, 8}, {1, 3}, {0, 2}, {5, 0}, {4, 12, 8}, {7, 24, 1}})
    for (DType dtype : {f32, f64, c64, c128}) add(dtype, b);
  add(f32, {4, 8, 4}).truth = true;
  add(c64, {4, 8, 4}).truth = true;
}

void AddReshards(Table& table) {
  for (DType dtype : {f32, bf16, i64, u8})
    Add(table, kReshard, {}, {{{24, 8}, dtype, Whole(-3, 3)}});
  for (const Shape& shape : {Shape{}, {24}, {0, 12}, {1, 24}, {12, 24}, {4, 6, 8}})
    Add(table, kReshard, {}, {{shape, f32, Whole(-3, 3)}}).truth = shape.size() == 2;
}

}  // namespace

void AddContractions(Table& table) {
  AddReductions(table);
  AddArgs(table);
  AddCumulative(table);
  AddDots(table);
  AddSolves(table);
  AddReshards(table);
}

}  // namespace tessera::suite
