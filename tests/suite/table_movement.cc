// Sample table: ops that only move elements. Arbitrary bits, compared bit by bit.
#include "suite/table.h"

namespace tessera::suite {
namespace {

using namespace ops;
using base::Shape;

// A movement depends on the width of elements, not on their values.
constexpr DType kWidths[] = {i32, u8, bf16, f64, key_dtype};

void AddReshapes(Table& table) {
  struct {
    Shape from, to;
    bool truth = false;
  } const rows[] = {
      {{24}, {4, 6}},
      {{4, 6}, {24}},
      {{24}, {2, 12}, true},
      {{4, 8}, {32}, true},
      {{32}, {4, 8}, true},
      {{2, 4, 12}, {8, 12}},
      {{8, 12}, {2, 4, 12}},
      {{4, 2, 4}, {8, 4}, true},
      {{6, 4}, {4, 6}},
      {{24, 1}, {24}},
      {{24}, {1, 24, 1}},
      {{4, 1, 8}, {4, 8}, true},
      {{0, 12}, {0, 3, 4}},
      {{0, 12}, {4, 0}},
      {{}, {1, 1}},
      {{1}, {}},
      {{8, 8}, {4, 16}},
      {{12, 8}, {12, 2, 4}},
      {{4, 8}, {4, 2, 4}, true},
      {{7, 24}, {168}},
      {{8, 9}, {2, 4, 3, 3}},
      {{6, 4}, {4, 6}, true},
      {{4, 4, 4}, {64}, true},
      {{24, 24}, {576}},
      {{576}, {24, 24}},
      {{8, 3}, {24}},
      {{24, 6}, {8, 18}},
  };
  for (const auto& row : rows) {
    Sample& s = Add(table, kReshape, {}, {{row.from, i32, kWild}});
    s.wanted = {row.to, i32};
    s.truth = row.truth;
  }
  for (DType dtype : kWidths)
    Add(table, kReshape, {}, {{{24, 5}, dtype, kWild}}).wanted = {{4, 6, 5}, dtype};
}

void AddTransposes(Table& table) {
  struct {
    Shape shape;
    OperandDims<0> perm;
    bool truth = false;
  } const rows[] = {
      {{}, {}},
      {{24}, {0}},
      {{8, 12}, {1, 0}},
      {{4, 8}, {1, 0}, true},
      {{0, 24}, {1, 0}},
      {{7, 24}, {1, 0}},
      {{24, 25}, {1, 0}},
      {{4, 6, 8}, {2, 0, 1}},
      {{4, 6, 8}, {0, 2, 1}},
      {{3, 4, 8}, {2, 1, 0}},
      {{2, 12, 3, 8}, {3, 1, 0, 2}},
  };
  for (const auto& row : rows)
    Add(table, kTranspose, ir::MakeParams(TransposeParams{row.perm}), {{row.shape, i32, kWild}})
        .truth = row.truth;
  for (DType dtype : kWidths)
    Add(table, kTranspose, ir::MakeParams(TransposeParams{{1, 0}}), {{{24, 9}, dtype, kWild}});
}

void AddBroadcasts(Table& table) {
  struct {
    Shape from, to;
    ResultDims dims;
    bool truth = false;
  } const rows[] = {
      {{}, {24}, {}},
      {{}, {4, 8}, {}, true},
      {{12}, {8, 12}, {1}},
      {{8}, {4, 8}, {1}, true},
      {{12}, {12, 8}, {0}},
      {{1, 12}, {8, 12}, {0, 1}},
      {{4, 1}, {4, 8}, {0, 1}, true},
      {{7, 24}, {3, 7, 8, 24}, {1, 3}},
      {{0}, {24, 0}, {1}},
      {{1}, {1}, {0}},
      {{1}, {0}, {0}},
  };
  for (const auto& row : rows) {
    Sample& s = Add(table, kBroadcastInDim, ir::MakeParams(BroadcastParams{row.dims}),
                    {{row.from, i32, kWild}});
    s.wanted = {row.to, i32};
    s.truth = row.truth;
  }
  for (DType dtype : kWidths)
    Add(table, kBroadcastInDim, ir::MakeParams(BroadcastParams{{0}}), {{{24}, dtype, kWild}})
        .wanted = {{24, 9}, dtype};
}

void AddBitcasts(Table& table) {
  struct {
    Shape from, to;
    DType from_dtype, to_dtype;
    bool truth = false;
  } const rows[] = {
      {{8, 12}, {8, 12}, f32, i32}, {{4, 8}, {4, 8}, i32, f32, true},
      {{12}, {12, 2}, f32, i16},    {{4, 8}, {4, 8, 2}, i32, u16, true},
      {{12, 4}, {12}, u8, u32},     {{8, 4, 2}, {8, 4}, u16, f32, true},
      {{24, 8}, {24}, i8, f64},     {{24}, {24, 8}, u64, u8},
      {{0, 4}, {0}, u8, i32},       {{24}, {24}, bool_, bool_},
      {{7}, {7}, bf16, f16},        {{}, {4}, i32, i8},
  };
  for (const auto& row : rows) {
    Sample& s = Add(table, kBitcastConvertType, {}, {{row.from, row.from_dtype, kWild}});
    s.wanted = {row.to, row.to_dtype};
    s.truth = row.truth;
  }
}

void AddSlices(Table& table) {
  struct {
    Shape shape;
    SliceParams params;
    bool truth = false;
  } const rows[] = {
      {{24, 8}, {{0, 0}, {12, 8}, {1, 1}}},
      {{24, 8}, {{3, 2}, {23, 7}, {2, 3}}},
      {{8, 8}, {{2, 0}, {6, 8}, {1, 1}}, true},
      {{8, 8}, {{0, 0}, {8, 8}, {2, 1}}, true},
      {{8, 8}, {{1, 0}, {6, 8}, {1, 1}}, true},
      {{24, 7}, {{0, 1}, {24, 6}, {1, 1}}},
      {{24}, {{5}, {5}, {1}}},
      {{0, 12}, {{0, 0}, {0, 6}, {1, 1}}},
      {{1}, {{0}, {1}, {1}}},
      {{}, {{}, {}, {}}},
      {{24}, {{0}, {24}, {2}}},
      {{24, 24}, {{6, 6}, {18, 18}, {1, 1}}},
  };
  for (const auto& row : rows)
    Add(table, kSlice, ir::MakeParams(row.params), {{row.shape, i32, kWild}}).truth = row.truth;
  for (DType dtype : kWidths)
    Add(table, kSlice, ir::MakeParams(SliceParams{{0, 1}, {24, 5}, {1, 2}}),
        {{{24, 5}, dtype, kWild}});
}

void AddPads(Table& table) {
  struct {
    Shape shape;
    PadParams params;
    bool truth = false;
  } const rows[] = {
      {{24, 8}, {{0, 0}, {0, 4}, {0, 0}}},
      {{12, 8}, {{5, 0}, {7, 0}, {0, 0}}},
      {{4, 8}, {{2, 0}, {2, 0}, {0, 0}}, true},
      {{8, 4}, {{0, 0}, {1, 0}, {1, 0}}, true},
      {{24, 8}, {{-2, 0}, {-4, 0}, {0, 0}}},
      {{12, 3}, {{0, 1}, {0, 2}, {0, 1}}},
      {{7}, {{1}, {0}, {0}}},
      {{0, 12}, {{3, 0}, {3, 0}, {0, 0}}},
      {{1}, {{0}, {0}, {3}}},
      {{}, {{}, {}, {}}},
      {{8}, {{-3}, {2}, {2}}},
      {{24, 8}, {{0, 0}, {0, 0}, {0, 0}}},
      {{4, 8}, {{-2, 0}, {2, 0}, {0, 0}}, true},
  };
  for (const auto& row : rows)
    Add(table, kPad, ir::MakeParams(row.params), {{row.shape, i32, kWild}, {{}, i32, Whole(7, 7)}})
        .truth = row.truth;
  for (DType dtype : kWidths)
    Add(table, kPad, ir::MakeParams(PadParams{{0, 1}, {0, 0}, {0, 1}}),
        {{{24, 5}, dtype, kWild}, {{}, dtype, Whole(7, 7)}});
}

void AddReversalsAndJoins(Table& table) {
  struct {
    Shape shape;
    OperandDims<0> dims;
    bool truth = false;
  } const reversals[] = {{{24, 8}, {0}},
                         {{24, 9}, {1}},
                         {{4, 8}, {0}, true},
                         {{4, 8}, {0, 1}, true},
                         {{0, 8}, {1}},
                         {{1}, {0}},
                         {{}, {}},
                         {{7, 12, 3}, {0, 2}},
                         {{24}, {}}};
  for (const auto& row : reversals)
    Add(table, kRev, ir::MakeParams(DimsParams{row.dims}), {{row.shape, i32, kWild}}).truth =
        row.truth;
  struct {
    std::vector<Shape> shapes;
    int64_t dim;
    bool truth = false;
  } const joins[] = {
      {{{12, 8}, {12, 8}}, 0},
      {{{4, 8}, {8, 8}, {12, 8}}, 0},
      {{{4, 4}, {4, 4}}, 0, true},
      {{{4, 8}, {4, 4}}, 1, true},
      {{{24, 3}, {24, 9}}, 1},
      {{{0, 8}, {24, 8}}, 0},
      {{{24}}, 0},
      {{{1}, {7}}, 0},
      {{{7, 24}, {1, 24}}, 0},
  };
  for (const auto& row : joins) {
    std::vector<SampleOperand> operands;
    for (const Shape& shape : row.shapes) operands.push_back({shape, i32, kWild});
    Add(table, kConcatenate, ir::MakeParams(DimParams{{row.dim}}), operands).truth = row.truth;
  }
  struct {
    Shape shape;
    int64_t dim, shift;
    bool truth = false;
  } const rolls[] = {{{24, 8}, 0, 5}, {{24, 9}, 1, 8}, {{3, 24, 2}, 1, 17},
                     {{1}, 0, 0},     {{0, 3}, 0, 0},  {{8, 4}, 0, 3, true}};
  for (const auto& row : rolls)
    Add(table, kRoll, ir::MakeParams(RollParams{{row.dim}, row.shift}), {{row.shape, i32, kWild}})
        .truth = row.truth;
  for (DType dtype : kWidths) {
    Add(table, kRoll, ir::MakeParams(RollParams{{1}, 2}), {{{24, 9}, dtype, kWild}});
    Add(table, kRev, ir::MakeParams(DimsParams{{1}}), {{{24, 9}, dtype, kWild}});
    Add(table, kConcatenate, ir::MakeParams(DimParams{{1}}),
        {{{24, 3}, dtype, kWild}, {{24, 5}, dtype, kWild}});
  }
}

// Starts are out of range on both sides.
void AddDynamicSlices(Table& table) {
  struct {
    Shape shape, sizes;
    bool truth = false;
  } const rows[] = {
      {{24, 8}, {24, 4}},
      {{24, 8}, {8, 8}},
      {{8, 4}, {4, 4}, true},
      {{8, 4}, {8, 4}, true},
      {{12, 7}, {5, 3}},
      {{0, 12}, {0, 6}},
      {{1}, {1}},
      {{}, {}},
      {{24}, {0}},
      {{7}, {6}},
  };
  for (const auto& row : rows)
    for (DType index : {i32, i64, u8}) {
      std::vector<SampleOperand> slice{{row.shape, i32, kWild}},
          update{{row.shape, i32, kWild}, {row.sizes, i32, kWild}};
      for (size_t d = 0; d < row.shape.size(); ++d) {
        slice.push_back({{}, index, Whole(-9, 26)});
        update.push_back({{}, index, Whole(-9, 26)});
      }
      Sample& s = Add(table, kDynamicSlice, {}, slice);
      s.wanted = {row.sizes, i32};
      s.truth = row.truth && index == i32;
      Add(table, kDynamicUpdateSlice, {}, update).truth = row.truth && index == i32;
    }
}

void AddOrders(Table& table) {
  for (DType dtype : kEvery) {
    Add(table, kSort, ir::MakeParams(SortParams{{1}, 1, false}), {{{24, 9}, dtype, kWild}});
    if (dtype.is_bool()) continue;
    Add(table, kTopK, ir::MakeParams(TopKParams{3}), {{{24, 9}, dtype, kWild}});
  }
  for (bool descending : {false, true}) {
    Add(table, kSort, ir::MakeParams(SortParams{{0}, 1, descending}), {{{24, 8}, f32, kWild}});
    Add(table, kSort, ir::MakeParams(SortParams{{0}, 1, descending}),
        {{{25, 12}, i32, Whole(0, 3)}, {{25, 12}, i32, kWild}});
    Add(table, kSort, ir::MakeParams(SortParams{{1}, 2, descending}),
        {{{12, 24}, i32, Whole(0, 3)}, {{12, 24}, f32, kWild}, {{12, 24}, u8, kWild}});
  }
  for (const Shape& shape : {Shape{0, 12}, {12, 0}, {1}, {7, 1}})
    Add(table, kSort, ir::MakeParams(SortParams{{0}, 1, false}), {{shape, f32, kWild}});
  Add(table, kSort, ir::MakeParams(SortParams{{1}, 1, false}),
      {{{4, 4}, f32, kWild}, {{4, 4}, i32, kWild}})
      .truth = true;
  for (int64_t k : {0, 1, 4, 24})
    Add(table, kTopK, ir::MakeParams(TopKParams{k}), {{{8, 24}, f32, kWild}});
  Add(table, kTopK, ir::MakeParams(TopKParams{0}), {{{0}, f32, kWild}});
  Add(table, kTopK, ir::MakeParams(TopKParams{2}), {{{4, 4}, f32, kWild}}).truth = true;
}

void AddHints(Table& table) {
  for (const Shape& shape : {Shape{24, 5}, {}, {0, 12}})
    Add(table, kShardedLike, {}, {{shape, f32, kWild}, {shape, i32, kWild}});
  Add(table, kShardedLike, {}, {{{8, 12}, f32, kWild}, {{8, 12}, f32, kWild}});
  Add(table, kShardedLike, {}, {{{4, 4}, f32, kWild}, {{4, 4}, i32, kWild}}).truth = true;
  for (const bool forward : {false, true})
    Add(table, kPropagationBarrier, ir::MakeParams(BarrierParams{forward, !forward}),
        {{{24, 5}, f32, kWild}});
  Add(table, kPropagationBarrier, ir::MakeParams(BarrierParams{}), {{{4, 8}, f32, kWild}}).truth =
      true;
}

}  // namespace

void AddMovement(Table& table) {
  AddHints(table);
  AddReshapes(table);
  AddTransposes(table);
  AddBroadcasts(table);
  AddBitcasts(table);
  AddSlices(table);
  AddPads(table);
  AddReversalsAndJoins(table);
  AddDynamicSlices(table);
  AddOrders(table);
}

}  // namespace tessera::suite
