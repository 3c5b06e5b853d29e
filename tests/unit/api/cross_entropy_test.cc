// Cross entropy over a vocabulary that is sharded: no device sees the logits of another.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera::cross_entropy_test {
namespace {

constexpr int64_t kVocabulary = 128'000, kRows = 32, kDevices = 8;
// Of f32: the logits that a device holds.
constexpr int64_t kShard = kRows * kVocabulary / kDevices * 4;

Array Loss(Array logits, Array labels) { return mean(cross_entropy(logits, labels)); }
Array Smoothed(Array logits, Array labels) {
  return mean(cross_entropy(logits, labels, {.smoothing = 0.1}));
}

// Expects that only numbers of rows are exchanged, and that no device has more memory than for
// `shards` of its part of the logits.
void ExpectSharded(const Lowered& lowered, int64_t shards) {
  for (const CommEvent& e : lowered.comm().events()) {
    EXPECT_EQ(e.kind, CommKind::kAllReduce) << lowered.comm();
    EXPECT_LE(e.bytes, 4 * kRows * 4) << lowered.comm();
  }
  EXPECT_LE(lowered.peak_bytes(), shards * kShard + kShard / 4) << lowered.memory();
}

class CrossEntropyOfShards : public testing::TestWithParam<AxisMode> {
 protected:
  template <class F>
  Lowered Lower(F f) const {
    const Mesh mesh = abstract_mesh({{"x", kDevices, GetParam()}});
    MeshScope scope(mesh);
    if (GetParam() == AxisMode::Auto)
      return jit(f, {.in_shardings = {P(None, "x"), P()}})
          .lower(abstract_array("f32[32,128000]"), abstract_array("i32[32]"));
    return jit(f).lower(abstract_array("f32[32,128000@x]"), abstract_array("i32[32]"));
  }
};

TEST_P(CrossEntropyOfShards, SendsNumbersOfRowsAlone) {
  ExpectSharded(Lower([](Array x, Array y) { return Loss(x, y); }), 2);
  ExpectSharded(Lower([](Array x, Array y) { return Smoothed(x, y); }), 2);
}

TEST_P(CrossEntropyOfShards, HasAGradientOfShards) {
  // The logits, their gradient, one copy for the backward pass, and two temporaries.
  ExpectSharded(Lower([](Array x, Array y) { return grad(Loss)(x, y); }), 5);
}

INSTANTIATE_TEST_SUITE_P(Modes, CrossEntropyOfShards,
                         testing::Values(AxisMode::Explicit, AxisMode::Auto), [](const auto& info) {
                           return info.param == AxisMode::Auto ? "Auto" : "Explicit";
                         });

}  // namespace
}  // namespace tessera::cross_entropy_test
