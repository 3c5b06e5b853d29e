// What large models send under the classic plans, on 64 devices: exactly what the plans are known
// to send, no collective more.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera {
namespace {

constexpr int64_t kTokens = 65536, kModel = 4096, kHidden = 16384, kFloat = 4;

struct Plan {
  bool megatron = false, zero = false;
};

CommReport Sent(Plan plan) {
  MeshScope scope(abstract_mesh({{"data", 8, Auto}, {"model", 8, Auto}}));
  auto block = jit([plan](Array x, Array w1, Array w2) {
    x = with_sharding_constraint(x, P(Closed("data").priority(0), Open()));
    if (plan.zero) {
      w1 = with_sharding_constraint(w1, P(Open("data").priority(2), Open()));
      w2 = with_sharding_constraint(w2, P(Open(), Open("data").priority(2)));
    }
    Array h = relu(matmul(layer_norm(x, 1.0f, 0.0f), w1));
    if (plan.megatron) h = with_sharding_constraint(h, P(Open(), Open("model").priority(1)));
    return x + matmul(h, w2);
  });
  Array x = abstract_array("f32[65536,4096]"), w1 = abstract_array("f32[4096,16384]"),
        w2 = abstract_array("f32[16384,4096]");
  return block.lower(x, w1, w2).comm();
}

struct Expected {
  CommKind kind;
  const char* axis;
  int64_t bytes;
};

void Expect(const CommReport& comm, const std::vector<Expected>& expected) {
  SCOPED_TRACE(comm.text());
  ASSERT_EQ(comm.events().size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const CommEvent& event = comm.events()[i];
    EXPECT_EQ(event.kind, expected[i].kind) << i;
    EXPECT_THAT(event.axes, testing::ElementsAre(expected[i].axis)) << i;
    EXPECT_EQ(event.bytes, expected[i].bytes) << i;
    EXPECT_EQ(event.times, 1) << i;
  }
}

// Partial sums of the block's rows on this device: twice 7/8 of them leave it.
const Expected kSums = {CommKind::kAllReduce, "model", kTokens / 8 * kModel* kFloat * 2 * 7 / 8};
// Seven shards of 64 come to each device, of the eighth of a weight that it works with.
const Expected kWeight = {CommKind::kAllGather, "data", kModel* kHidden / 64 * 7 * kFloat};

TEST(AutoCommunication, BatchParallelSendsNothing) { Expect(Sent({}), {}); }
TEST(AutoCommunication, MegatronReducesOncePerBlock) { Expect(Sent({.megatron = true}), {kSums}); }
TEST(AutoCommunication, ZeroGathersEachWeightOverData) {
  Expect(Sent({.zero = true}), {{CommKind::kAllGather, "data", kModel * kHidden / 8 * 7 * kFloat},
                                {CommKind::kAllGather, "data", kModel * kHidden / 8 * 7 * kFloat}});
  Expect(Sent({.megatron = true, .zero = true}), {kWeight, kWeight, kSums});
}

}  // namespace
}  // namespace tessera
