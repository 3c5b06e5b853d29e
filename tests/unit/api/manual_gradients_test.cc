// Gradients and values of manual computation equal those of the same function on whole arrays.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera::manual_gradients_test {
namespace {

class ManualGradients : public testing::Test {
 protected:
  ManualGradients() { SetDeviceCount(4); }
};

std::vector<float> Numbers(const Array& x) { return x.to_vector<float>(); }

TEST_F(ManualGradients, AChoiceBetweenWhatVariesAndAConstantStaysOnItsDevice) {
  MeshScope scope(make_mesh({{"x", 4}}));
  auto last = shard_map(
      [](Array part) { return psum(where(axis_index("x") == 3, sum(square(part)), 0.0f), "x"); },
      {.out_specs = P()});
  const Array x = reshard(arange(4.0), P("x"));
  EXPECT_THAT(Numbers(grad(last)(x)), testing::ElementsAre(0, 0, 0, 6));
  EXPECT_TRUE(jit(grad(last)).lower(x).comm().empty());
}

TEST_F(ManualGradients, WhatIsAssumedInvariantCountsOnce) {
  MeshScope scope(make_mesh({{"x", 4}}));
  auto twice = shard_map(
      [](Array w) { return assume_invariant(2 * pcast(w, "x", Variance::kVarying), "x"); },
      {.in_specs = P(), .out_specs = P()});
  EXPECT_EQ(grad(twice)(3.0f).item<float>(), 2);
}

TEST_F(ManualGradients, AnAllToAllMayCutAndJoinOneDim) {
  MeshScope scope(make_mesh({{"x", 4}}));
  auto exchanged =
      shard_map([](Array part) { return all_to_all(part, "x", 0, 0, {.tiled = true}); },
                {.out_specs = P("x")});
  const Array whole = arange(16.0), x = reshard(whole, P("x"));
  auto plain = [](Array x) { return x.reshape({4, 4}).T().reshape({-1}); };
  EXPECT_EQ(Numbers(exchanged(x)), Numbers(plain(whole)));
  auto weighted = [](auto f) {
    return [f](Array x) { return sum(f(x) * f(x) * reshard(arange(16.0), type_of(x).spec())); };
  };
  EXPECT_EQ(Numbers(grad(weighted(exchanged))(x)), Numbers(grad(weighted(plain))(whole)));
}

TEST_F(ManualGradients, AnExtremeIsComputedAgainInACheckpoint) {
  MeshScope scope(make_mesh({{"x", 4}}));
  auto extreme = [](Array part) { return pmax(part * part, "x"); };
  auto mapped = [](auto f) { return shard_map(f, {.out_specs = P()}); };
  const Array x = reshard(arange(4.0), P("x"));
  auto loss = [&](auto f) { return [=](Array x) { return sum(mapped(f)(x)); }; };
  EXPECT_THAT(Numbers(grad(loss(extreme))(x)), testing::ElementsAre(0, 0, 0, 6));
  auto again = [extreme](Array part) { return checkpoint(extreme)(part); };
  EXPECT_EQ(Numbers(grad(loss(again))(x)), Numbers(grad(loss(extreme))(x)));
}

// The first branch keeps values computed from constants; the first device does not take it.
TEST_F(ManualGradients, BranchesOfDevicesKeepConstantsOfTheirOwn) {
  MeshScope scope(make_mesh({{"x", 4}}));
  auto either = shard_map(
      [](Array part) {
        return cond(
            axis_index("x") > 0, [](Array u) { return u * (iota({1}, 0) + 5); },
            [](Array u) { return 3 * u; }, part);
      },
      {.out_specs = P("x")});
  const Array x = reshard(arange(4.0), P("x"));
  auto loss = [&](Array x) { return sum(either(x)); };
  EXPECT_THAT(Numbers(grad(loss)(x)), testing::ElementsAre(3, 5, 5, 5));
}

// After an odd number of trips the carry is in the storage of the other buffer.
TEST_F(ManualGradients, WhatALoopMadeMayBePermuted) {
  MeshScope scope(make_mesh({{"x", 4}}));
  auto mapped = shard_map(
      [](Array part) {
        Array c = fori_loop(
            0, 3, [](Array, Array c) { return rev(c, {0}); }, part);
        return pshift(c, "x", 1);
      },
      {.out_specs = P("x")});
  const Array x = reshard(arange(8.0), P("x"));
  EXPECT_THAT(Numbers(jit(mapped)(x)), testing::ElementsAre(7, 6, 1, 0, 3, 2, 5, 4));
}

}  // namespace
}  // namespace tessera::manual_gradients_test
