// Sample table: products of ragged groups of rows, and rounding to formats of fewer bits.
#include "suite/table.h"

namespace tessera::suite {
namespace {

using namespace ops;
using base::Shape;

// Some sizes reach beyond the last row, and some leave rows without a group.
struct RaggedRow {
  Shape batch;
  int64_t m, k, n, groups;
  double largest_size;
  bool truth = false;
};
const RaggedRow kRagged[] = {
    {{}, 24, 8, 12, 4, 9},    {{}, 24, 8, 12, 3, 5},     {{}, 7, 5, 3, 2, 4},
    {{4}, 12, 8, 6, 4, 5},    {{2, 2}, 6, 4, 4, 3, 3},   {{}, 0, 8, 4, 2, 3},
    {{}, 12, 0, 4, 2, 3},     {{}, 12, 8, 0, 2, 3},      {{}, 12, 8, 4, 0, 3},
    {{}, 400, 8, 24, 3, 300}, {{}, 4, 4, 4, 4, 2, true}, {{2}, 2, 1, 2, 2, 2, true},
};

Shape With(Shape shape, std::initializer_list<int64_t> last) {
  shape.insert(shape.end(), last);
  return shape;
}

void AddRaggedDots(Table& table, const OpDef& op) {
  const bool contracts = &op == &kRaggedContract;
  const auto add = [&](const RaggedRow& row, DType dtype, DType sizes) -> Sample& {
    const Shape rhs =
        contracts ? With(row.batch, {row.m, row.n}) : With(row.batch, {row.groups, row.k, row.n});
    Sample& s = Add(table, op, {},
                    {{With(row.batch, {row.m, row.k}), dtype, Range(-2, 2)},
                     {rhs, dtype, Range(-2, 2)},
                     {With(row.batch, {row.groups}), sizes, Whole(0, row.largest_size)}});
    const auto terms = static_cast<double>(contracts ? row.m : row.k);
    if (dtype.is_inexact()) s.forward = s.sharded = {4, 4 * terms};
    return s;
  };
  for (const RaggedRow& row : kRagged) add(row, f32, i32).truth = row.truth;
  for (DType dtype : kNumbers) add(kRagged[0], dtype, i32);
  for (DType sizes : {i8, i64, u8, u16, u64}) add(kRagged[1], f32, sizes);
  for (DType dtype : {bf16, f16, c64}) add(kRagged[9], dtype, i32);
  const RaggedRow& row = kRagged[0];
  add(row, bf16, i32).wanted = {
      {contracts ? Shape{row.groups, row.k, row.n} : Shape{row.m, row.n}, f32}};
}

void AddRoundings(Table& table) {
  const auto add = [&](DType dtype, const Shape& shape, int64_t exponent, int64_t mantissa) {
    Add(table, kReducePrecision, ir::MakeParams(PrecisionParams{exponent, mantissa}),
        {{shape, dtype, kWild}});
  };
  const std::pair<int64_t, int64_t> formats[] = {{5, 10}, {8, 7}, {4, 3},   {5, 2},  {1, 0},
                                                 {8, 0},  {2, 5}, {11, 52}, {20, 3}, {3, 60}};
  for (DType dtype : kFloats)
    for (const auto& [exponent, mantissa] : formats) add(dtype, {24, 9}, exponent, mantissa);
  for (const Shape& shape : {Shape{}, {0, 8}, {4, 6, 8}}) add(f32, shape, 5, 2);
  // Terms of a sum are rounded one by one, so that only whole numbers give its values.
  Add(table, kReducePrecision, ir::MakeParams(PrecisionParams{8, 10}),
      {{{4, 8}, f32, Whole(-3, 3)}})
      .truth = true;
}

}  // namespace

void AddRagged(Table& table) {
  AddRaggedDots(table, kRaggedDot);
  AddRaggedDots(table, kRaggedContract);
  AddRoundings(table);
  // One position sends rows 2 and 3 to itself, where they become rows 2 and 3: random lists would
  // be mistakes.
  for (const Shape& batch : {Shape{}, {3}, {4}})
    Add(table, kRaggedRows, ir::MakeParams(RaggedRowsParams{4, 6}),
        {{With(batch, {1, 4, 1}), i64, Whole(2, 2)}, {{}, i32, Whole(0, 0)}})
        .truth = batch == Shape{4};
}

}  // namespace tessera::suite
