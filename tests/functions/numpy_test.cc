// NumPy's functions beside options: weights, dtypes of results, and sharded dims.
#include <gmock/gmock.h>
#include <tessera/pieces.h>
#include <tessera/sets.h>
#include <tessera/statistics.h>
#include <tessera/tessera.h>

#include <cmath>
#include <string>
#include <utility>

namespace tessera::numpy_test {
namespace {

using Numbers = std::vector<double>;

TEST(Numpy, HistogramsOfUnsignedWeights) {
  const Array x = array({1.0, 2.0, 3.0}), weights = array(std::vector<uint32_t>{1, 2, 3});
  const Histogram ranged =
      histogram(x, {.bins = 2, .range = std::pair(0.0, 4.0), .weights = weights});
  EXPECT_EQ(ranged.counts.to_vector<uint32_t>(), (std::vector<uint32_t>{1, 5}));
  const Histogram given = histogram(x, {.edges = array({0.0, 2.0, 4.0}), .weights = weights});
  EXPECT_EQ(given.counts.to_vector<uint32_t>(), (std::vector<uint32_t>{1, 5}));
  const auto own = [&](Array v) { return histogram(v, {.bins = 2, .weights = weights}).counts; };
  EXPECT_EQ(own(x).to_vector<uint32_t>(), (std::vector<uint32_t>{1, 5}));
  const Array nan = array({1.0, NAN, 3.0});
  EXPECT_EQ(jit(own)(nan).to_vector<uint32_t>(), (std::vector<uint32_t>{~0U, ~0U}));
  const auto counts = [](Array v) { return histogram(v, {.bins = 2}).counts; };
  EXPECT_EQ(jit(counts)(nan).to_vector<int32_t>(), (std::vector<int32_t>{-1, -1}));
}

// Options that are arrays promote with the operand.
TEST(Numpy, OptionsPromote) {
  const Array narrow = astype(array({1.0, 2.0, 4.0}), f16), wide = array({1.0, 2.0, 4.0});
  const Array widest = astype(wide, f64), ints = array({1, 2, 1});
  EXPECT_EQ(gradient(narrow, All, {.coordinates = {wide}})[0].dtype(), f32);
  EXPECT_EQ(gradient(narrow, All, {.coordinates = {widest}})[0].dtype(), f64);
  EXPECT_EQ(gradient(wide, All, {.coordinates = {narrow}})[0].dtype(), f32);
  EXPECT_EQ(gradient(narrow, All, {.coordinates = {narrow}})[0].dtype(), f16);
  EXPECT_EQ(trapezoid(narrow, {.x = wide}).dtype(), f32);
  EXPECT_EQ(cov(wide, {.aweights = widest}).dtype(), f64);
  EXPECT_EQ(cov(narrow, {.fweights = ints}).dtype(), f16);
  EXPECT_EQ(cov(narrow).dtype(), f16);
  EXPECT_EQ(standardize(wide, 0, {.mean = widest}).dtype(), f64);
  EXPECT_EQ(standardize(narrow, 0, {.variance = wide}).dtype(), f32);
  EXPECT_EQ(standardize(narrow, 0).dtype(), f16);
}

TEST(Numpy, GeomspaceOfIntsHasThePowers) {
  EXPECT_EQ(geomspace(1, 1000, 4, {.dtype = i32}).to_vector<int32_t>(),
            (std::vector<int32_t>{1, 10, 100, 1000}));
  EXPECT_EQ(geomspace(2, 2000, 4, {.dtype = i32}).to_vector<int32_t>(),
            (std::vector<int32_t>{2, 20, 200, 2000}));
  EXPECT_EQ(geomspace(1, 256, 9, {.dtype = i32}).to_vector<int32_t>(),
            (std::vector<int32_t>{1, 2, 4, 8, 16, 32, 64, 128, 256}));
  EXPECT_EQ(geomspace(1, 10, 3, {.dtype = i32}).to_vector<int32_t>(),
            (std::vector<int32_t>{1, 3, 10}));
}

TEST(Numpy, InterpAtTheLastPointIsItsValue) {
  const Array xp = astype(array({0.5, 1.5, 3.5, 4.0}), f64);
  const Array fp = astype(array(Numbers{-3, 1, 1e38, 1}), f64);
  const Array x = full({}, 4.0, {.dtype = f64});
  EXPECT_EQ(interp(x, xp, fp).item<double>(), 1);
  // The slope of the last line.
  EXPECT_EQ(grad([&](Array v) { return interp(v, xp, xp * 2); })(x).item<double>(), 2);
}

TEST(Numpy, PadModesOfAShardedDim) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array whole = astype(arange(8), f32), a = reshard(whole, P("x"));
  for (PadMode mode :
       {PadMode::kEdge, PadMode::kReflect, PadMode::kSymmetric, PadMode::kWrap,
        PadMode::kLinearRamp, PadMode::kMaximum, PadMode::kMinimum, PadMode::kMean}) {
    const Array made = pad(a, {{2, 2}}, mode);
    EXPECT_EQ(type_of(made).text(), "f32[12@x]");
    EXPECT_EQ(made.to_vector<float>(), pad(whole, {{2, 2}}, mode).to_vector<float>());
    EXPECT_EQ(pad(a, {{4, 0}}, mode).to_vector<float>(),
              pad(whole, {{4, 0}}, mode).to_vector<float>());
    const auto loss = [mode](Array v) {
      return sum(square(reshard(pad(v, {{2, 2}}, mode), P(None))));
    };
    EXPECT_EQ(grad(loss)(a).to_vector<float>(), grad(loss)(whole).to_vector<float>());
  }
}

TEST(Numpy, ComposedFunctionsKeepTheirOutSharding) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array x = reshard(arange(8), P("x")), y = reshard(arange(8) + 1, P("x"));
  const OutOptions whole{.out_sharding = P(None)};
  for (DType t : {i32, u32, f32}) {
    const Array a = astype(x, t), b = astype(y, t);
    const std::string text = std::string(t.name()) + "[8]";
    EXPECT_EQ(type_of(floor_divide(a, b, whole)).text(), text) << t.name();
    EXPECT_EQ(type_of(remainder(a, b, whole)).text(), text) << t.name();
    EXPECT_EQ(type_of(floor_divide(a, 3, whole)).text(), text) << t.name();
    EXPECT_EQ(type_of(remainder(a, 3, whole)).text(), text) << t.name();
    EXPECT_EQ(type_of(hypot(a, b, whole)).text(), t == f32 ? text : "f32[8]") << t.name();
  }
  const Array a = astype(x, f32), b = astype(y, f32);
  const auto slopes = [&](const OutOptions& options) {
    const auto loss = [&](Array u, Array v) { return sum(hypot(u, v, options) * arange(8)); };
    return grad<0, 1>(loss)(a, b);
  };
  const auto [du, dv] = slopes(whole);
  const auto [wanted_du, wanted_dv] = slopes({});
  EXPECT_EQ(du.to_vector<float>(), wanted_du.to_vector<float>());
  EXPECT_EQ(dv.to_vector<float>(), wanted_dv.to_vector<float>());
}

}  // namespace
}  // namespace tessera::numpy_test
