// The bytes that every function of the table sends where one dim of an operand is sharded: over
// Explicit axes no more than the same program over Auto axes, or it is refused.
#include <gtest/gtest.h>

#include <optional>
#include <sstream>

#include "functions/rows.h"

namespace tessera::functions {
namespace {

// Sizes of the rows are small, so that a gather sends little: dims are longer here.
constexpr int64_t kScale = 8;

// Returns operands of the row's types with longer dims, without its data.
std::vector<Array> OperandsOf(const Row& row) {
  std::vector<Array> operands;
  std::istringstream text{std::string(row.operands)};
  for (std::string word; text >> word;) {
    const ArrayType type = ArrayType::Parse(word.substr(0, word.find(']') + 1));
    std::vector<int64_t> shape = type.shape();
    if (shape.size() < 4)  // others would have millions of elements
      for (int64_t& size : shape) size *= kScale;
    operands.push_back(zeros(Shape(shape), {.dtype = type.dtype()}));
  }
  return operands;
}

// Returns the bytes that a device sends in the call with operand k sharded along dim d; nothing if
// the call is refused.
std::optional<int64_t> BytesOf(const Row& row, const std::vector<Array>& operands, size_t k, int d,
                               AxisMode mode) {
  MeshScope scope(make_mesh({{"x", 2, mode}}));
  std::vector<DimSharding> dims(static_cast<size_t>(d) + 1);
  dims.back() = "x";
  std::vector<Array> placed;
  for (size_t i = 0; i < operands.size(); ++i)
    placed.push_back(jit([](Array x) { return x; },
                         {.out_shardings = i == k ? PartitionSpec(dims) : P()})(operands[i]));
  try {
    return jit([&](A v) { return row.call(v); }).lower(placed).comm().bytes();
  } catch (const Error&) {
    return std::nullopt;  // refused, or its size depends on data
  }
}

// Functions of a long sharded dim that send its edges, or sums, and keep it where it is.
TEST(FunctionBytes, OfALongDimAreThoseOfItsEdgesAndSums) {
  struct Case {
    const char* name;
    R (*call)(A);
    int64_t most;  // bytes that a device sends
    bool keeps = true;
  };
  const Case cases[] = {
      {"histogram", [](A v) { return R{histogram(v[0]).counts}; }, 64, false},
      {"histogram of rows", [](A v) { return R{histogram(v[1]).counts}; }, 64, false},
      {"histogram2d", [](A v) { return R{histogram2d(v[0], v[0]).counts}; }, 640, false},
      {"put",
       [](A v) {
         return R{put(v[1], array({1, 5, -7}), array({1.F, 2.F}))};
       },
       0},
      {"place",
       [](A v) {
         return R{place(v[1], v[1] > 3, array({1.F, 2.F}))};
       },
       4},
      {"resize",
       [](A v) {
         return R{resize(v[1], {128, 128})};
       },
       0},
      {"ediff1d", [](A v) { return R{ediff1d(v[0], {.before = array({1.F})})}; }, 4},
      {"isin",
       [](A v) {
         return R{isin(array({1.F, 5.F}), v[0])};
       },
       2, false},
      {"gradient", [](A v) { return gradient(v[0]); }, 8},
      {"gradient of rows", [](A v) { return gradient(v[1]); }, 2 * 64 * 4},
      {"trapezoid", [](A v) { return R{trapezoid(v[0])}; }, 8, false},
      {"unwrap", [](A v) { return R{unwrap(v[0])}; }, 8},
  };
  for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto}) {
    MeshScope scope(make_mesh({{"x", 2, mode}}));
    const auto placed = [](const Array& a) {
      return jit([](Array x) { return x; }, {.out_shardings = P("x")})(a);
    };
    const Array line = placed(arange(65536, {.dtype = f32})), rows = placed(ones({256, 64}));
    for (const Case& c : cases) {
      SCOPED_TRACE(c.name);
      const Lowered lowered = jit([&](A v) { return c.call(v); }).lower(std::vector{line, rows});
      EXPECT_LE(lowered.comm().bytes(), c.most) << lowered.comm().text();
      const Array made = jit([&](A v) { return c.call(v); })(std::vector{line, rows})[0];
      if (c.keeps && mode == AxisMode::Explicit) {
        EXPECT_NE(type_of(made).text().find("@x"), std::string::npos) << type_of(made).text();
      }
    }
  }
}

TEST(FunctionBytes, OverExplicitAxesAreNoMoreThanOverAutoAxes) {
  DefaultDtypes wide{i64, f64};
  for (const Row* row : AllRows()) {
    const std::vector<Array> operands = OperandsOf(*row);
    for (size_t k = 0; k < operands.size(); ++k)
      for (int d = 0; d < operands[k].rank(); ++d) {
        if (operands[k].shape()[static_cast<size_t>(d)] % 2 != 0) continue;
        const auto given = BytesOf(*row, operands, k, d, AxisMode::Explicit);
        const auto chosen = BytesOf(*row, operands, k, d, AxisMode::Auto);
        if (!given || !chosen) continue;
        EXPECT_LE(*given, *chosen) << row->name << ": operand " << k << ", dim " << d;
      }
  }
}

}  // namespace
}  // namespace tessera::functions
