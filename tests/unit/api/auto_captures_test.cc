// Functions in auto_axes that capture arrays from outside.
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/tessera.h"

namespace tessera::auto_captures_test {
namespace {

constexpr int64_t kSize = 8;

double Distance(const Array& a, const Array& b) { return max(abs(a - b)).item<double>(); }

// By the spec of the captured array.
class AutoCaptures : public testing::TestWithParam<PartitionSpec> {
 protected:
  void SetUp() override { SetDeviceCount(4); }
  void TearDown() override { SetDeviceCount(1); }
  const Array plain_ = astype(arange(kSize), f32) + 1;
};

TEST_P(AutoCaptures, AreUsedAsArguments) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  const Array c = reshard(plain_, GetParam()), x = reshard(2 * ones({kSize}), P("x"));
  const auto captured = [&](Array v, Array w) {
    return auto_axes([=](Array u) { return u * w + reshard(w, P()) + sum(w); },
                     {.out_sharding = P("x")})(v);
  };
  const auto passed = [&](Array v, Array w) {
    return auto_axes([](Array u, Array t) { return u * t + t + sum(t); }, {.out_sharding = P("x")})(
        v, w);
  };
  const Array want = reshard(passed(x, c), P());
  EXPECT_EQ(type_of(captured(x, c)).text(), "f32[8@x]");
  EXPECT_EQ(Distance(reshard(captured(x, c), P()), want), 0);
  EXPECT_EQ(Distance(reshard(jit(captured)(x, c), P()), want), 0);
  // The program of a call that captures an outer value.
  const auto outer = [&](Array v) { return captured(v, c); };
  EXPECT_EQ(Distance(reshard(jit(outer)(x), P()), want), 0);
  EXPECT_EQ(
      Distance(
          reshard(auto_axes(
                      [&](Array u) { return jit([&](Array t) { return t * c + c + sum(c); })(u); },
                      {.out_sharding = P("x")})(x),
                  P()),
          want),
      0);
}

TEST_P(AutoCaptures, HaveDerivatives) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  const Array c = reshard(plain_, GetParam()), x = reshard(2 * ones({kSize}), P("x"));
  const auto loss = [&](Array w) {
    return sum(auto_axes([=](Array u) { return sin(u * w); }, {.out_sharding = P("x")})(x));
  };
  const Array want = 2 * cos(2 * plain_);
  for (const Array& slope : {grad(loss)(c), jit(grad(loss))(c)}) {
    EXPECT_EQ(type_of(slope).text(), type_of(c).text());
    EXPECT_LT(Distance(reshard(slope, P()), want), 1e-6);
  }
  const Array rows = stack({plain_, 2 * plain_});
  const Array mapped = vmap([&](Array w) { return loss(w); })(rows);
  EXPECT_LT(std::abs(mapped[1].item<double>() - sum(sin(4 * plain_)).item<double>()), 1e-5);
}

TEST_P(AutoCaptures, ReachLoopsAndInnerFunctions) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  const Array c = reshard(plain_, GetParam()), x = reshard(ones({kSize}), P("x"));
  const auto loop = [&](Array v) {
    return auto_axes(
        [&](Array u) {
          return fori_loop(
              0, 3, [&](Array, Array t) { return t + c; }, u);
        },
        {.out_sharding = P("x")})(v);
  };
  const Array want = 1 + 3 * plain_;
  EXPECT_EQ(Distance(reshard(loop(x), P()), want), 0);
  EXPECT_EQ(Distance(reshard(jit(loop)(x), P()), want), 0);
  // Only x is Auto in the outer function, and then y too.
  const auto nested = [&](Array v) {
    return auto_axes(
        [&](Array u) {
          return auto_axes([&](Array t) { return t + c; }, {.axes = {"y"}, .out_sharding = P()})(u);
        },
        {.axes = {"x"}, .out_sharding = P("x")})(v);
  };
  EXPECT_EQ(Distance(reshard(nested(x), P()), 1 + plain_), 0);
  EXPECT_EQ(Distance(reshard(jit(nested)(x), P()), 1 + plain_), 0);
}

INSTANTIATE_TEST_SUITE_P(Layouts, AutoCaptures, testing::Values(P(), P("x"), P("y")));

TEST(CapturesOfAnotherMesh, AreRefused) {
  SetDeviceCount(2);
  {
    const Mesh explicit_mesh = make_mesh({{"x", 2}}),
               auto_mesh = make_mesh({{"x", 2, AxisMode::Auto}});
    Array c;
    {
      MeshScope scope(explicit_mesh);
      c = reshard(ones({4}), P("x"));
    }
    MeshScope scope(auto_mesh);
    EXPECT_THROW(c + 1 + ones({4}), ShardingError);
  }
  SetDeviceCount(1);
}

}  // namespace
}  // namespace tessera::auto_captures_test
