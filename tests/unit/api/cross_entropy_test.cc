// Cross entropy over a vocabulary that is sharded: no device sees the logits of another.
#include <gmock/gmock.h>
#include <tessera/tessera.h>
#include <tessera/testing.h>

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
// `shards` of its part of the logits, and some numbers per row and per class.
void ExpectSharded(const Lowered& lowered, int64_t shards) {
  for (const CommEvent& e : lowered.comm().events()) {
    EXPECT_EQ(e.kind, CommKind::kAllReduce) << lowered.comm();
    EXPECT_LE(e.bytes, 4 * kRows * 4) << lowered.comm();
  }
  EXPECT_PEAK_AT_MOST(lowered, shards * kShard + 16 * kRows * 4 + kVocabulary / kDevices * 4);
}

class CrossEntropyOfShards : public testing::TestWithParam<AxisMode> {
 protected:
  template <class F>
  Lowered Lower(F f) const {
    return LowerFor(f, "f32[32,128000", "i32[32]", P());
  }
  // With probabilities for labels.
  template <class F>
  Lowered LowerSoft(F f) const {
    const char* labels = GetParam() == AxisMode::Auto ? "f32[32,128000]" : "f32[32,128000@x]";
    return LowerFor(f, "f32[32,128000", labels, P(None, "x"));
  }
  // The logits are `dtype[rows,classes`, without their axis.
  template <class F>
  Lowered LowerFor(F f, const std::string& logits, const char* labels,
                   PartitionSpec of_labels) const {
    const Mesh mesh = abstract_mesh({{"x", kDevices, GetParam()}});
    MeshScope scope(mesh);
    if (GetParam() == AxisMode::Auto)
      return jit(f, {.in_shardings = {P(None, "x"), of_labels}})
          .lower(abstract_array(logits + "]"), abstract_array(labels));
    return jit(f).lower(abstract_array(logits + "@x]"), abstract_array(labels));
  }
};

TEST_P(CrossEntropyOfShards, HoldsTheLogitsAlone) {
  ExpectSharded(Lower([](Array x, Array y) { return Loss(x, y); }), 1);
  ExpectSharded(Lower([](Array x, Array y) { return Smoothed(x, y); }), 1);
}

TEST_P(CrossEntropyOfShards, HoldsTheLogitsAndTheLabelsAlone) {
  ExpectSharded(LowerSoft([](Array x, Array y) { return Loss(x, y); }), 2);
  ExpectSharded(LowerSoft([](Array x, Array y) { return Smoothed(x, y); }), 2);
}

TEST_P(CrossEntropyOfShards, AddsTheResultAloneForTheGradient) {
  ExpectSharded(Lower([](Array x, Array y) { return grad(Loss)(x, y); }), 2);
  ExpectSharded(Lower([](Array x, Array y) { return value_and_grad(Loss)(x, y); }), 2);
  ExpectSharded(Lower([](Array x, Array y) { return grad(Smoothed)(x, y); }), 2);
  ExpectSharded(LowerSoft([](Array x, Array y) { return grad(Loss)(x, y); }), 3);
  ExpectSharded(LowerSoft([](Array x, Array y) { return grad(Smoothed)(x, y); }), 3);
}

TEST_P(CrossEntropyOfShards, AddsTheResultAloneForTheGradientsOfMappedRows) {
  ExpectSharded(Lower([](Array x, Array y) { return vmap(grad(Loss))(x, y); }), 2);
}

TEST(CrossEntropy, HasDerivativesOfAnyOrder) {
  const Array x = cos(reshape(arange(24, {.dtype = f64}), {4, 6})) * 3.0;
  const Array classes = array({0, 5, 2, 9}), p = softmax(sin(x), -1);
  const auto hard = [&](Array a) { return sum(square(cross_entropy(a, classes))); };
  const auto soft = [&](Array a, Array b) {
    return sum(square(cross_entropy(a, b, {.smoothing = 0.1})));
  };
  check_grads(hard, x, {.order = 3});
  check_grads(soft, std::tuple(x, p), {.order = 3});
}

INSTANTIATE_TEST_SUITE_P(Modes, CrossEntropyOfShards,
                         testing::Values(AxisMode::Explicit, AxisMode::Auto), [](const auto& info) {
                           return info.param == AxisMode::Auto ? "Auto" : "Explicit";
                         });

}  // namespace
}  // namespace tessera::cross_entropy_test
