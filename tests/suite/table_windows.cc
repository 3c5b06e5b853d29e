// Sample table: windows and convolutions.
#include "ops/windows.h"
#include "suite/table.h"

namespace tessera::suite {
namespace {

using namespace ops;
using base::Shape;

struct WindowRow {
  Shape shape;
  std::vector<DimWindow> windows;
  bool truth = false;
};

// Spatial dims that divide by the numbers of shards, and that do not.
const std::vector<WindowRow>& WindowRows() {
  static const std::vector<WindowRow> rows = {
      {{24}, {{.size = 3, .low = 1, .high = 1}}},
      {{24}, {{.size = 3}}},
      {{25}, {{.size = 2}}},
      {{24, 3}, {{.size = 2, .stride = 2}, {}}},
      {{24, 3}, {{.size = 3, .stride = 2, .low = 1}, {.size = 2}}},
      {{3, 24}, {{}, {.size = 4, .low = 5, .high = -2}}},
      {{24}, {{.size = 4, .low = -3, .high = 2}}},
      {{12}, {{.size = 3, .low = 2, .high = 2, .base_dilation = 2}}},
      {{24}, {{.size = 3, .low = 3, .high = 3, .window_dilation = 3}}},
      {{12},
       {{.size = 2, .stride = 3, .low = 4, .high = 1, .base_dilation = 3, .window_dilation = 2}}},
      {{24}, {{.size = 1, .stride = 2}}},
      {{24}, {{.size = 2, .stride = 5, .high = 7}}},
      {{6, 12, 2}, {{.size = 2, .stride = 2}, {.size = 3, .low = 1, .high = 1}, {}}},
      {{4}, {{.size = 7}}},
      {{0, 4}, {{}, {.size = 2}}},
      {{0}, {{.size = 2, .low = 1, .high = 2}}},
      {{}, {}},
      {{8}, {{.size = 3, .low = 1, .high = 1}}, true},
      {{8, 2}, {{.size = 2, .stride = 2}, {}}, true},
  };
  return rows;
}

struct WindowOps {
  const OpDef* op;
  absl::Span<const DType> dtypes;
  Fill fill;
  bool rounds = false;
};

const WindowOps kReductions[] = {
    {&kReduceWindowSum, kNumbers, Range(-4, 4), true},
    {&kReduceWindowProd, kNumbers, Range(0.8, 1.25), true},
    {&kReduceWindowMax, kEvery, kWild},
    {&kReduceWindowMin, kEvery, kWild},
    {&kReduceWindowAnd, kBits, kWild},
    {&kReduceWindowOr, kBits, kWild},
    {&kReduceWindowXor, kBits, kWild},
};

double ElementsOf(const std::vector<DimWindow>& windows) {
  double elements = 1;
  for (const DimWindow& w : windows) elements *= static_cast<double>(w.size);
  return elements;
}

void AddReductions(Table& table) {
  for (const WindowOps& row : kReductions) {
    const auto add = [&](const WindowRow& w, DType dtype) {
      Sample& s = Add(table, *row.op, ParamsOf(w.windows), {{w.shape, dtype, row.fill}});
      if (row.rounds && dtype.is_floating()) s.forward = s.sharded = {4, 2 * ElementsOf(w.windows)};
      s.truth = w.truth && dtype == row.dtypes[0];
    };
    for (const WindowRow& w : WindowRows()) add(w, row.dtypes[0]);
    for (DType dtype : row.dtypes.subspan(1))
      add({{24, 9}, {{.size = 3, .stride = 2, .low = 1, .high = 1}, {.size = 2}}}, dtype);
  }
}

// Returns the shape of the windows.
Shape WindowsOf(const WindowRow& row) {
  Shape shape;
  for (size_t d = 0; d < row.shape.size(); ++d) {
    const DimWindow& w = row.windows[d];
    const int64_t room = w.spread(row.shape[d]) + w.low + w.high - w.reach();
    shape.push_back(room < 0 ? 0 : room / w.stride + 1);
  }
  return shape;
}

// Whole numbers: several elements of a window are its extreme.
void AddWindowChoices(Table& table) {
  for (const OpDef* op : {&kWindowTakeMax, &kWindowTakeMin, &kWindowPutMax, &kWindowPutMin}) {
    const bool takes = op == &kWindowTakeMax || op == &kWindowTakeMin;
    const auto add = [&](const WindowRow& w, DType dtype) {
      Sample& s = Add(
          table, *op, ParamsOf(w.windows),
          {{w.shape, dtype, Whole(-3, 3)}, {takes ? w.shape : WindowsOf(w), dtype, Range(-4, 4)}});
      if (!takes && dtype.is_floating()) s.forward = s.sharded = {4, 4 * ElementsOf(w.windows)};
      // Windows that stay in their shards: each operand has a halo exchange of its own.
      s.truth = w.truth && dtype == f32 && w.shape.size() == 2;
    };
    for (const WindowRow& w : WindowRows())
      if (!w.shape.empty()) add(w, f32);
    for (DType dtype : kNumbers)
      if (dtype != f32) add({{24, 9}, {{.size = 3, .stride = 2, .low = 1}, {.size = 2}}}, dtype);
  }
}

struct ConvolutionRow {
  Shape lhs, rhs;
  ConvolutionParams params;
  bool truth = false;
};

// Returns params of one group without padding and dilation.
ConvolutionParams Plain(OperandDims<0> lhs, OperandDims<1> rhs, ResultDims out) {
  const size_t spatial = lhs.size() - 2;
  const std::vector<int64_t> ones(spatial, 1), zeros(spatial, 0);
  return {.lhs = std::move(lhs),
          .rhs = std::move(rhs),
          .out = std::move(out),
          .strides = ones,
          .low = zeros,
          .high = zeros,
          .lhs_dilation = ones,
          .rhs_dilation = ones};
}
// [batch, features, W], [output, input, W].
ConvolutionParams Line() { return Plain({0, 1, 2}, {0, 1, 2}, {0, 1, 2}); }
// [batch, H, W, features], [H, W, input, output].
ConvolutionParams Image() { return Plain({0, 3, 1, 2}, {3, 2, 0, 1}, {0, 3, 1, 2}); }
template <class F>
ConvolutionParams With(ConvolutionParams p, F change) {
  change(p);
  return p;
}

std::vector<ConvolutionRow> ConvolutionRows() {
  using P = ConvolutionParams;
  return {
      {{2, 3, 24}, {4, 3, 3}, Line()},
      {{2, 3, 24}, {4, 3, 3}, With(Line(), [](P& p) { p.low = p.high = {1}; })},
      {{4, 2, 24}, {3, 2, 2}, With(Line(), [](P& p) { p.strides = {2}; })},
      {{2, 2, 12},
       {3, 2, 3},
       With(Line(), [](P& p) { p.lhs_dilation = {2}, p.low = {2}, p.high = {1}; })},
      {{2, 2, 24},
       {3, 2, 3},
       With(Line(), [](P& p) { p.rhs_dilation = {3}, p.low = {4}, p.high = {-1}; })},
      {{1, 2, 12},
       {2, 2, 4},
       With(Line(),
            [](P& p) {
              p.strides = {3}, p.low = {-2}, p.high = {5}, p.lhs_dilation = {2},
              p.rhs_dilation = {2};
            })},
      {{2, 4, 12}, {6, 2, 3}, With(Line(), [](P& p) { p.groups = 2; })},
      {{2, 4, 6}, {8, 1, 2}, With(Line(), [](P& p) { p.groups = 4; })},
      {{6, 2, 8}, {4, 2, 3}, With(Line(), [](P& p) { p.groups = 2, p.lhs_groups = 0; })},
      {{4, 2, 8},
       {3, 4, 3},
       With(Line(),
            [](P& p) { p.groups = 2, p.lhs_groups = 0, p.rhs_groups = 1, p.out_groups = 0; })},
      {{2, 6, 8, 3},
       {3, 3, 3, 4},
       With(Image(),
            [](P& p) {
              p.strides = {2, 1}, p.low = {1, 1}, p.high = {1, 1};
            })},
      {{2, 12, 5, 2}, {2, 3, 2, 2}, Image()},
      {{2, 4, 3, 4, 2}, {2, 2, 2, 2, 3}, Plain({0, 4, 1, 2, 3}, {4, 3, 0, 1, 2}, {4, 0, 1, 2, 3})},
      {{4, 6}, {6, 8}, Plain({0, 1}, {1, 0}, {0, 1})},
      {{2, 3, 8}, {4, 3, 1}, Line()},
      {{2, 0, 8}, {4, 0, 3}, Line()},
      {{0, 2, 8}, {4, 2, 3}, Line()},
      {{2, 2, 3}, {4, 2, 5}, Line()},
      {{2, 2, 8}, {4, 2, 0}, Line()},
      {{2, 4, 6},
       {2, 4, 2},
       With(Line(), [](P& p) { p.groups = 2, p.rhs_groups = 1, p.out_groups = 0; }),
       true},
      {{2, 2, 8}, {4, 2, 3}, With(Line(), [](P& p) { p.low = p.high = {1}; }), true},
      {{2, 4, 4}, {4, 2, 2}, With(Line(), [](P& p) { p.groups = 2; }), true},
      {{4, 2, 4}, {4, 2, 1}, With(Line(), [](P& p) { p.groups = 2, p.lhs_groups = 0; }), true},
  };
}

void AddConvolutions(Table& table) {
  const auto add = [&](const ConvolutionRow& row, DType dtype) {
    Sample& s = Add(table, kConvGeneralDilated, ir::MakeParams(row.params),
                    {{row.lhs, dtype, Range(-2, 2)}, {row.rhs, dtype, Range(-2, 2)}});
    double terms = 1;
    for (size_t i = 1; i < row.params.rhs.size(); ++i)
      terms *= static_cast<double>(row.rhs[static_cast<size_t>(row.params.rhs[i])]);
    if (dtype.is_floating()) s.forward = s.sharded = {4, terms * 4};
    s.truth = row.truth && dtype == f32;
  };
  const std::vector<ConvolutionRow> rows = ConvolutionRows();
  for (const ConvolutionRow& row : rows) add(row, f32);
  for (DType dtype : kNumbers)
    if (dtype != f32) add(rows[1], dtype);
}

}  // namespace

void AddWindows(Table& table) {
  AddReductions(table);
  AddWindowChoices(table);
  AddConvolutions(table);
}

}  // namespace tessera::suite
