// Small programs whose meshes have two devices of every process, for any number of processes.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tessera/processes.h"
#include "tessera/tessera.h"

namespace tessera {
namespace {

class AnyCount : public testing::Test {
 protected:
  void SetUp() override { SetDeviceCount(2 * process_count()); }

  int n() const { return 2 * process_count(); }
  std::vector<float> UpTo(int count) const {
    std::vector<float> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 0.0f);
    return values;
  }
};

TEST_F(AnyCount, HostsTwoDevicesOnEachProcess) {
  EXPECT_EQ(local_devices(), (std::vector<int64_t>{2 * process_index(), 2 * process_index() + 1}));
}

TEST_F(AnyCount, SumsOverAllDevices) {
  MeshScope scope(make_mesh({{"x", n()}}));
  const Array x = reshard(arange(n()), P("x"));
  EXPECT_EQ(sum(x).item<int32_t>(), n() * (n() - 1) / 2);
  EXPECT_EQ(max(x).item<int32_t>(), n() - 1);
}

TEST_F(AnyCount, GathersAndTransposes) {
  MeshScope scope(make_mesh({{"x", n()}}));
  const Array x = reshard(arange(3 * n()).reshape({n(), 3}), P("x", None));
  const Array y = reshard(concatenate({x, x}, 1)[{All, Slice(0, 3)}], P(None, None));
  std::vector<int32_t> want(static_cast<size_t>(3 * n()));
  std::iota(want.begin(), want.end(), 0);
  EXPECT_EQ(y.to_vector<int32_t>(), want);
}

TEST_F(AnyCount, PermutesInARing) {
  MeshScope scope(make_mesh({{"x", n()}}));
  std::vector<std::pair<int, int>> ring;
  for (int i = 0; i < n(); ++i) ring.push_back({i, (i + 1) % n()});
  auto shift = shard_map([&](Array x) { return ppermute(x, "x", ring); }, {.out_specs = P("x")});
  std::vector<int32_t> want(static_cast<size_t>(n()));
  for (int i = 0; i < n(); ++i) want[static_cast<size_t>((i + 1) % n())] = i;
  EXPECT_EQ(shift(reshard(arange(n()), P("x"))).to_vector<int32_t>(), want);
}

TEST_F(AnyCount, ExchangesBlocksOfEachPair) {
  MeshScope scope(make_mesh({{"x", n()}}));
  const Array x = reshard(arange(n() * n()).reshape({n(), n()}), P("x", None));
  const Array y = reshard(x, P(None, "x"));  // every device sends to every other
  std::vector<int32_t> want(static_cast<size_t>(n() * n()));
  std::iota(want.begin(), want.end(), 0);
  EXPECT_EQ(y.to_vector<int32_t>(), want);
}

// A training step: the batch is sharded over one axis, the weights over the other.
TEST_F(AnyCount, HasGradients) {
  const Array x = array(UpTo(4 * n())).reshape({n(), 4}) / (4.0f * static_cast<float>(n()));
  const Array w = array(UpTo(8)).reshape({4, 2}) / 8.0f;
  auto loss = [](Array w, Array x) { return sum(square(matmul(x, w))); };
  const std::vector<float> want = grad(loss)(w, x).to_vector<float>();
  MeshScope scope(make_mesh({{"data", n() / 2}, {"model", 2}}));
  const Array g = jit(grad(loss))(reshard(w, P(None, "model")), reshard(x, P("data", None)));
  EXPECT_EQ(type_of(g).text(), "f32[4,2@model]");
  const std::vector<float> got = g.to_vector<float>();
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4f * std::abs(want[i]));
}

TEST_F(AnyCount, LoopsUntilAllDevicesAgree) {
  MeshScope scope(make_mesh({{"x", n()}}));
  const Array x = reshard(arange(n()), P("x"));
  const Array steps = while_loop([&](Array i) { return sum(x) > i * n(); },
                                 [](Array i) { return i + 1; }, Array(0));
  EXPECT_EQ(steps.item<int32_t>(), n() / 2);
}

// A mesh may have devices of process 0 alone. Results without a mesh are on every process all the
// same.
TEST_F(AnyCount, SharesResultsOfAMeshOnOneProcess) {
  const Array w = array(UpTo(4));
  auto loss = [](Array w) { return sum(reshard(w, P("x")) * arange(4) * 1.0f); };
  MeshScope scope(make_mesh({{"x", 2}}));
  const std::vector<float> want = UpTo(4);
  EXPECT_EQ(grad(loss)(w).to_vector<float>(), want);
  EXPECT_EQ(jit(grad(loss))(w).to_vector<float>(), want);
}

// Some processes have all of such an array, and others nothing. They must gather it alike, or later
// reads meet the wrong data.
TEST_F(AnyCount, ReadsWhatOnlyOneProcessHas) {
  MeshScope scope(make_mesh({{"x", 2}}));
  const Array x = reshard(arange(4), P("x"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sum(x * i).item<int32_t>(), 6 * i);
    EXPECT_EQ((x + i).to_vector<int32_t>(), (std::vector<int32_t>{i, i + 1, i + 2, i + 3}));
  }
}

}  // namespace
}  // namespace tessera
