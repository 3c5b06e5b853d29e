// Faults planted in one layout of train_lm: first_difference names the line of each.
#include <gmock/gmock.h>
#include <tessera/first_difference.h>

#include <atomic>

#include "document.h"
#include "samples/train_lm/train.h"

namespace train_lm {
namespace {

enum class Fault : uint8_t { kNone, kMissingSum, kWrongScale, kRace };

std::string Line(int line) { return "planted_faults_test.cc:" + std::to_string(line); }

// Divides by the norm over the columns of all devices. The fault: a device takes the norm of its
// own.
const int kNormLine = __LINE__ + 5;
Array OfNormOne(Array weight, bool is_wrong) {
  const PartitionSpec columns = P(None, "model");
  const auto inverse = [=](Array own) {
    const Array part = sum(square(own));
    return rsqrt(is_wrong ? assume_invariant(part, "model") : psum(part, "model"));
  };
  const Array laid_out = reshard(weight, columns);
  return laid_out *
         shard_map(inverse, {.in_specs = columns, .out_specs = P()})(stop_gradient(laid_out));
}

// Returns twice the weight. The fault: its derivative counts the devices along "model".
const int kScaleLine = __LINE__ + 5;
Array Twice(Array weight, bool is_wrong) {
  const double scale = is_wrong ? 2.0 * 2 : 2.0;
  const auto twice =
      custom_vjp([](Array v) { return v * 2; }, [](Array v) { return std::pair(v * 2, v); },
                 [scale](Array, Array g) { return g * scale; });
  return twice(weight);
}

// Clips on the host. The fault: the result depends on how often it was called.
std::atomic<int> calls{0};
const int kCallbackLine = __LINE__ + 4;
Array ClippedOnHost(Array g, bool is_wrong) {
  return pure_callback(
      [is_wrong](Array whole) {
        return clip(whole, -1.0, 1.0) * (is_wrong ? 1.0 + 0.01 * ++calls : 1.0);
      },
      abstract_array("f32[24,16]"), g);
}

Model ModelIn(const std::string& layout) {
  return {
      .sizes = {.characters = 24, .width = 16, .heads = 2, .hidden = 32, .layers = 2, .context = 8},
      .layout = Layout::named(layout)};
}

// A step of training in a layout, with a fault.
void Step(const std::string& layout, const Mesh& mesh, Fault fault) {
  MeshScope scope(mesh);
  const Model model = ModelIn(layout);
  const Params stored = model.init(random::key(0));
  const Array text =
      reshard(random::randint(random::key(1), {4, 9}, 0, 24), P(model.layout.batch, None));
  const auto loss = [&](Params p) {
    p.head = OfNormOne(p.head, fault == Fault::kMissingSum);
    p.layers.up = Twice(p.layers.up, fault == Fault::kWrongScale);
    return model.loss(p, text, random::key(2), 0);
  };
  jit([&](Params p) {
    const Params weights = tree_map([&](Array w) { return model.layout.for_use(w); }, p);
    Params g = grad(loss)(weights);
    g = tree_map([](Array a, Array w) { return reshard(a, type_of(w).spec()); }, g, p);
    g.embedding =
        reshard(ClippedOnHost(g.embedding, fault == Fault::kRace), type_of(p.embedding).spec());
    return tree_map([](Array w, Array own) { return w - 0.1 * own; }, p, g);
  })(stored);
}

FirstDifference Compare(Fault fault, DifferenceOptions options = {}) {
  SetDeviceCount(4);
  const Mesh alone = make_mesh({{"data", 1}, {"model", 1}}),
             four = make_mesh({{"data", 2}, {"model", 2}});
  return first_difference([&] { Step("dp", alone, Fault::kNone); },
                          [&] { Step("dp+tp", four, fault); }, options);
}

TEST(PlantedFaults, WithoutOneLayoutsAgree) {
  const FirstDifference d = Compare(Fault::kNone);
  EXPECT_FALSE(d.found) << d;
  EXPECT_GT(d.compared, 20) << d;
}

TEST(PlantedFaults, AMissingSumIsNamed) {
  const FirstDifference d = Compare(Fault::kMissingSum);
  ASSERT_TRUE(d.found);
  EXPECT_EQ(d.where, Line(kNormLine)) << d;
}

TEST(PlantedFaults, AWrongScaleOfAGradientIsNamed) {
  const FirstDifference d = Compare(Fault::kWrongScale);
  ASSERT_TRUE(d.found);
  EXPECT_EQ(d.b.where, Line(kScaleLine)) << d;
  EXPECT_EQ(d.b.number, "4") << d;
  EXPECT_THAT(tessera::testing_documents::TextOf("/docs/finding_differences.md"),
              testing::HasSubstr(d.text()));
}

TEST(PlantedFaults, ARaceInACallbackIsNamed) {
  const FirstDifference d = Compare(Fault::kRace);
  ASSERT_TRUE(d.found);
  EXPECT_EQ(d.where, Line(kCallbackLine)) << d;
}

}  // namespace
}  // namespace train_lm
