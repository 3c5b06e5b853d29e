// NumPy's functions that are composed of ops return the numbers of one device for any sharding of
// their operands: over Explicit axes, unless refused, and over Auto axes, eagerly and under jit.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <limits>

namespace tessera::numpy_functions_test {
namespace {

using Operands = const std::vector<Array>&;

struct Row {
  const char* name;
  std::vector<Shape> shapes;  // of the operands
  Array (*run)(Operands);
  // Explicit placements that are refused: the dims do not divide, or the spec of the result is
  // open.
  std::vector<std::string> refused = {};
};
void PrintTo(const Row& row, std::ostream* os) { *os << row.name; }

// The placement of a result, which only Explicit axes let one ask for.
std::optional<PartitionSpec> Asked(PartitionSpec spec) {
  if (current_mesh().empty() || current_mesh().mode("x") == Auto) return std::nullopt;
  return spec;
}

// Shardings of operands. A spec that is too long for an operand, or does not divide it, is cut.
const char* const kRows = "rows";
const char* const kColumns = "columns";
const char* const kBoth = "both";

// Ids from -1 to 4. There are four segments, so the first and the last are dropped.
Array Ids(const Array& x) { return astype(abs(x), i32) % 6 - 1; }
SegmentOptions Segments(PartitionSpec layout) {
  return {.num_segments = 4, .out_sharding = Asked(layout)};
}

const Row kTable[] = {
    {"tril", {{8, 16}}, [](Operands a) { return tril(a[0], 2); }},
    {"triu", {{8, 16}}, [](Operands a) { return triu(a[0], -1); }},
    {"tril_batch", {{2, 8, 4}}, [](Operands a) { return tril(a[0]); }},
    {"trace", {{8, 16}}, [](Operands a) { return matrix_trace(a[0], {.offset = 3}); }},
    {"trace_dims",
     {{8, 4, 8}},
     [](Operands a) { return matrix_trace(a[0], {.dim1 = 2, .dim2 = 0}); }},
    {"diagonal_sharded",
     {{8, 16}},
     [](Operands a) { return diagonal(a[0], {.offset = -2, .out_sharding = Asked(P(None))}); }},
    {"diagonal_tall",
     {{16, 8}},
     [](Operands a) { return diagonal(a[0], {.out_sharding = Asked(P("x"))}); }},
    {"diagonal", {{8, 8}}, [](Operands a) { return diagonal(a[0]); }, {kRows, kColumns, kBoth}},
    {"diagonal_batch",
     {{8, 4, 8}},
     [](Operands a) { return diagonal(a[0], {.offset = 1, .dim1 = 1, .dim2 = 2}); },
     {kColumns, kBoth}},
    {"diag_of", {{8}}, [](Operands a) { return diag(a[0]); }},
    {"diag_below", {{8}}, [](Operands a) { return diag(a[0], -8); }},
    {"outer",
     {{8}, {4, 4}},
     [](Operands a) { return outer(a[0], a[1]); },
     {kRows, kColumns, kBoth}},
    {"outer_asked",
     {{8}, {4, 4}},
     [](Operands a) { return outer(a[0], a[1], {.out_sharding = Asked(P("x", None))}); },
     {kColumns}},
    {"inner", {{4, 8}, {3, 8}}, [](Operands a) { return inner(a[0], a[1]); }, {kColumns, kBoth}},
    {"inner_asked",
     {{4, 8}, {3, 8}},
     [](Operands a) { return inner(a[0], a[1], {.out_sharding = Asked(P("x", None))}); }},
    {"vdot",
     {{8, 16}, {8, 16}},
     [](Operands a) { return vdot(a[0], a[1]); },
     {kRows, kColumns, kBoth}},
    {"vdot_asked",
     {{8, 16}, {8, 16}},
     [](Operands a) { return vdot(a[0], a[1], {.out_sharding = Asked(P())}); }},
    {"kron", {{8, 4}, {3, 3}}, [](Operands a) { return kron(a[0], a[1]); }},
    {"moveaxis",
     {{8, 4, 6}},
     [](Operands a) {
       return moveaxis(a[0], {0, 1}, {-1, 0});
     }},
    {"swapaxes", {{8, 4, 6}}, [](Operands a) { return swapaxes(a[0], 0, -1); }},
    {"flip", {{8, 16}}, [](Operands a) { return flip(a[0]); }},
    {"ravel", {{8, 16}}, [](Operands a) { return ravel(a[0]); }, {kColumns}},
    {"ravel_asked", {{8, 16}}, [](Operands a) { return ravel(a[0], {Asked(P("x"))}); }},
    {"atleast_2d", {{8}}, [](Operands a) { return atleast_2d(a[0]); }},
    {"append", {{8, 4}, {8, 4}}, [](Operands a) { return append(a[0], a[1], 0); }},
    {"unstack", {{8, 4}}, [](Operands a) { return unstack(a[0], 1)[2]; }, {kColumns, kBoth}},
    {"diff", {{8, 16}}, [](Operands a) { return diff(a[0], 0); }, {kRows, kBoth}},
    {"diff_columns",
     {{8, 6}},
     [](Operands a) { return diff(a[0], 1, {.n = 2}); },
     {kColumns, kBoth}},
    {"ptp", {{8, 16}}, [](Operands a) { return ptp(a[0], 0); }},
    {"count_nonzero", {{8, 16}}, [](Operands a) { return count_nonzero(a[0], 1); }},
    {"average",
     {{8, 16}, {8}},
     [](Operands a) { return average(a[0], 0, {.weights = abs(a[1]) + 1}); }},
    {"norm", {{8, 16}}, [](Operands a) { return norm(a[0]); }},
    {"norm_of_columns", {{8, 16}}, [](Operands a) { return norm(a[0], 0, {.ord = 3}); }},
    {"norm_1", {{8, 16}}, [](Operands a) { return norm(a[0], All, {.ord = 1}); }},
    {"norm_inf",
     {{8, 16}},
     [](Operands a) {
       double inf = std::numeric_limits<double>::infinity();
       return norm(a[0], {1, 0}, {.ord = -inf, .keepdims = true});
     }},
    {"isclose", {{8, 16}, {8, 16}}, [](Operands a) { return isclose(a[0], a[1], {.atol = 9}); }},
    {"allclose", {{8, 16}, {8, 16}}, [](Operands a) { return allclose(a[0], a[0] + a[1] * 0); }},
    {"array_equal", {{8, 16}}, [](Operands a) { return array_equal(a[0], a[0]); }},
    {"array_equal_shapes", {{8, 16}, {8, 4}}, [](Operands a) { return array_equal(a[0], a[1]); }},
    {"logaddexp", {{8, 16}, {8, 16}}, [](Operands a) { return logaddexp(a[0], a[1]); }},
    {"nan_to_num", {{8, 16}}, [](Operands a) { return nan_to_num(log(a[0]), {.nan = 7}); }},
    {"rint", {{8, 16}}, [](Operands a) { return rint(a[0] / 4); }},
    {"round", {{8, 16}}, [](Operands a) { return round(a[0] / 7, {.decimals = 2}); }},
    {"round_tens",
     {{8, 16}},
     [](Operands a) { return round(astype(a[0], i32), {.decimals = -1}); }},
    {"meshgrid",
     {{8}, {4}},
     [](Operands a) {
       return meshgrid({a[0], a[1]})[1];
     }},
    {"meshgrid_asked",
     {{8}, {3}},
     [](Operands a) {
       return meshgrid({a[0], a[1]}, {.out_sharding = Asked(P(None, "x"))})[0];
     }},
    {"logspace", {{8}, {8}}, [](Operands a) { return logspace(a[0] / 9, a[1] / 9, 3); }},
    {"segment_sum",
     {{8, 4}, {8}},
     [](Operands a) { return segment_sum(a[0], Ids(a[1]), Segments(P(None, None))); }},
    {"segment_sum_cut",
     {{8, 4}, {8}},
     [](Operands a) { return segment_sum(a[0], Ids(a[1]), Segments(P("x", None))); }},
    {"segment_sum_of_numbers",
     {{16}, {16}},
     [](Operands a) { return segment_sum(a[0], Ids(a[1]), Segments(P(None))); }},
    {"segment_prod",
     {{8, 4}, {8}},
     [](Operands a) { return segment_prod(a[0], Ids(a[1]), Segments(P(None, None))); }},
    {"segment_max",
     {{8, 4}, {8}},
     [](Operands a) { return segment_max(a[0], Ids(a[1]), Segments(P(None, None))); }},
    {"segment_min_cut",
     {{8, 4}, {8}},
     [](Operands a) { return segment_min(a[0], Ids(a[1]), Segments(P("x", None))); }},
    {"segment_sum_gradient",
     {{8, 4}, {8}},
     [](Operands a) {
       const Array ids = Ids(a[1]);
       return grad([ids](Array x) {
         return sum(square(segment_sum(x, ids, Segments(P(None, None)))));
       })(a[0]);
     }},
    // Messages along edges, as in a graph network: rows are taken, and added up where edges end.
    {"messages_gradient",
     {{8, 4}, {16}},
     [](Operands a) {
       const Array from = Ids(a[1]), to = 3 - from;
       return grad([from, to](Array x) {
         const PartitionSpec whole = P(None, None);
         Array all = Asked(whole) ? reshard(x, whole) : x;
         return sum(square(segment_sum(take(all, from, 0), to, Segments(whole))));
       })(a[0]);
     }},
};

PartitionSpec Cut(const Shape& shape, bool rows, bool columns, const Mesh& mesh) {
  std::vector<DimSharding> dims(shape.dims().size(), None);
  auto cut = [&](size_t d, const char* axis) {
    if (d < dims.size() && shape.dims()[d] % mesh.axis_size(axis) == 0) dims[d] = axis;
  };
  if (rows) cut(0, "x");
  if (columns) cut(1, "y");
  return PartitionSpec(dims);
}

class NumpyFunctions : public testing::TestWithParam<Row> {
 protected:
  static std::vector<double> Numbers(const Array& x) { return astype(x, f64).to_vector<double>(); }

  // Runs the row with operands that `place` puts where the program begins.
  template <class Place>
  void ExpectSame(const Array& want, Place place, const std::vector<Array>& data) {
    auto program = [&](std::vector<Array> a) {
      for (Array& x : a) x = place(x);
      return GetParam().run(a);
    };
    for (const Array& got : {program(data), jit(program)(data)}) {
      EXPECT_EQ(got.shape(), want.shape());
      EXPECT_EQ(got.dtype().name(), std::string(want.dtype().name()));
      EXPECT_THAT(Numbers(got),
                  testing::Pointwise(testing::NanSensitiveDoubleNear(1e-4), Numbers(want)));
    }
  }
};

TEST_P(NumpyFunctions, WhereverOperandsLie) {
  SetDeviceCount(8);
  std::vector<Array> data;
  for (const Shape& shape : GetParam().shapes) {
    int64_t n = 1;
    for (int64_t d : shape.dims()) n *= d;
    data.push_back(reshape(arange(static_cast<double>(n)) * 5.0 % 13.0 - 4.0, shape));
  }
  const Array want = GetParam().run(data);
  for (auto [x, y] : {std::pair(2, 1), {4, 2}})
    for (const char* how : {kRows, kColumns, kBoth}) {
      SCOPED_TRACE(testing::Message() << x << " x " << y << ", " << how << " cut");
      bool rows = how != kColumns, columns = how != kRows;
      if (y == 1 && columns) continue;
      {
        MeshScope scope(make_mesh({{"x", x}, {"y", y}}));
        auto place = [&](const Array& a) {
          return reshard(a, Cut(a.shape(), rows, columns, current_mesh()));
        };
        const auto& refused = GetParam().refused;
        if (std::count(refused.begin(), refused.end(), how))
          EXPECT_THROW(ExpectSame(want, place, data), ShardingError);
        else
          ExpectSame(want, place, data);
      }
      MeshScope scope(make_mesh({{"x", x, Auto}, {"y", y, Auto}}));
      auto place = [&](const Array& a) {
        return with_sharding_constraint(a, Cut(a.shape(), rows, columns, current_mesh()));
      };
      ExpectSame(want, place, data);
    }
}

INSTANTIATE_TEST_SUITE_P(Table, NumpyFunctions, testing::ValuesIn(kTable),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(MatrixFunctions, LeaveMatricesWhereTheyAre) {
  for (AxisMode mode : {Explicit, Auto}) {
    MeshScope scope(abstract_mesh({{"x", 4, mode}, {"y", 2, mode}}));
    Array a = abstract_array(mode == Auto ? "f32[64,128]" : "f32[64@x,128@y]");
    auto bytes = [&](Array (*f)(Array)) {
      auto program = [&](Array x) {
        return f(mode == Auto ? with_sharding_constraint(x, P("x", "y")) : x);
      };
      return jit(program).lower(a).comm().bytes();
    };
    EXPECT_EQ(bytes([](Array x) { return tril(x); }), 0);
    EXPECT_EQ(bytes([](Array x) { return triu(x, 3); }), 0);
    EXPECT_LE(bytes([](Array x) { return matrix_trace(x); }), 8);
    // The matrix has 32 KiB, its diagonal 256 bytes.
    EXPECT_LE(bytes([](Array x) { return diagonal(x, {.out_sharding = Asked(P("x"))}); }), 256);
  }
}

// Quotients and remainders of all numbers of T near 0 and the ends, by numbers of the program and
// by arrays, which run different ops.
template <class T>
void CheckFloorDivision() {
  constexpr int64_t kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  std::vector<T> xs;
  for (int64_t i = -70; i <= 70; ++i) xs.push_back(static_cast<T>(i));
  for (int64_t i = 0; i < 20; ++i)
    xs.push_back(static_cast<T>(kLow + i)), xs.push_back(static_cast<T>(kHigh - i));
  const Array x = array(xs);
  for (const int64_t y : {int64_t{1}, int64_t{2}, int64_t{7}, int64_t{64}, int64_t{100}, kHigh,
                          int64_t{-1}, int64_t{-2}, int64_t{-7}, -kHigh, kLow}) {
    const auto quotient = [y](Array v) { return floor_divide(v, y); };
    const auto rest = [y](Array v) { return v % y; };
    const Array all = array(std::vector<T>(xs.size(), static_cast<T>(y)));
    const auto q = jit(quotient)(x).template to_vector<T>(),
               r = jit(rest)(x).template to_vector<T>();
    EXPECT_EQ(floor_divide(x, all).template to_vector<T>(), q) << y;
    EXPECT_EQ((x % all).template to_vector<T>(), r) << y;
    for (size_t i = 0; i < xs.size(); ++i) {
      const __int128 wide = xs[i], by = y;
      const __int128 below = wide / by - (wide % by != 0 && (wide < 0) != (by < 0) ? 1 : 0);
      ASSERT_EQ(q[i], static_cast<T>(below)) << int64_t{xs[i]} << " / " << y;
      ASSERT_EQ(r[i], static_cast<T>(wide - below * by)) << int64_t{xs[i]} << " % " << y;
    }
  }
}

TEST(NumpyFunctions, IntegersAreDividedDownwards) {
  CheckFloorDivision<int8_t>();
  CheckFloorDivision<int16_t>();
  CheckFloorDivision<int32_t>();
  CheckFloorDivision<int64_t>();
}

}  // namespace
}  // namespace tessera::numpy_functions_test
