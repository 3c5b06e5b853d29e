// The communication of large models and their gradients under the classic plans, on 64 devices. It
// must match the literature exactly, without further collectives.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera::auto_communication_test {
namespace {

constexpr int64_t kTokens = 65536, kModel = 4096, kHidden = 16384, kFloat = 4;

struct Plan {
  bool megatron = false, zero = false;
  bool keeps = true;  // gathered weights, for the backward pass
};

Array Block(Plan plan, Array x, Array w1, Array w2) {
  x = with_sharding_constraint(x, P(Closed("data").priority(0), Open()));
  if (plan.zero) {
    w1 = with_sharding_constraint(w1, P(Open("data").priority(2), Open()));
    w2 = with_sharding_constraint(w2, P(Open(), Open("data").priority(2)));
  }
  Array h = relu(matmul(layer_norm(x, 1.0f, 0.0f), w1));
  if (plan.megatron) h = with_sharding_constraint(h, P(Open(), Open("model").priority(1)));
  return x + matmul(h, w2);
}

const char *const kX = "f32[65536,4096]", *const kUp = "f32[4096,16384]",
                  *const kDown = "f32[16384,4096]";

CommReport Sent(Plan plan) {
  MeshScope scope(abstract_mesh({{"data", 8, Auto}, {"model", 8, Auto}}));
  auto block = jit([plan](Array x, Array w1, Array w2) { return Block(plan, x, w1, w2); });
  return block.lower(abstract_array(kX), abstract_array(kUp), abstract_array(kDown)).comm();
}

// Returns the communication of the gradients of two consecutive blocks, in their weights and input.
CommReport SentByGradients(Plan plan) {
  MeshScope scope(abstract_mesh({{"data", 8, Auto}, {"model", 8, Auto}}));
  auto loss = [plan](Array x, std::vector<Array> ws) {
    for (size_t i = 0; i < ws.size(); i += 2) {
      auto block = [plan](Array h, Array w1, Array w2) { return Block(plan, h, w1, w2); };
      x = plan.keeps ? block(x, ws[i], ws[i + 1]) : checkpoint(block)(x, ws[i], ws[i + 1]);
    }
    return mean(square(x));
  };
  const Array up = abstract_array(kUp), down = abstract_array(kDown);
  return jit(grad<0, 1>(loss)).lower(abstract_array(kX), std::vector{up, down, up, down}).comm();
}

struct Expected {
  CommKind kind;
  const char* axis;
  int64_t bytes;
  bool backward = false;
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
    EXPECT_EQ(event.backward, expected[i].backward) << i;
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

// ---- gradients: of two blocks, the second one first ----

const int64_t kAll = kModel * kHidden;  // elements of a weight

Expected Backward(Expected e) {
  e.backward = true;
  return e;
}
// The all_reduce of the gradient of a weight. Each device computes one of `part` parts of it.
Expected WeightSums(int64_t part) {
  return {CommKind::kAllReduce, "data", kAll / part * kFloat * 2 * 7 / 8, true};
}
Expected WeightShards(int64_t part) {
  return {CommKind::kReduceScatter, "data", kAll / part * kFloat * 7 / 8, true};
}
Expected Gathered(int64_t part) {
  return {CommKind::kAllGather, "data", kAll / part * kFloat * 7 / 8};
}

TEST(AutoCommunication, GradientsOfBatchParallelReduceEachWeight) {
  Expect(SentByGradients({}), {WeightSums(1), WeightSums(1), WeightSums(1), WeightSums(1)});
}
TEST(AutoCommunication, GradientsOfMegatronReduceOnceMorePerBlock) {
  Expect(SentByGradients({.megatron = true}),
         {kSums, kSums, WeightSums(8), WeightSums(8), Backward(kSums), WeightSums(8), WeightSums(8),
          Backward(kSums)});
}
TEST(AutoCommunication, GradientsOfZeroScatterEachWeight) {
  const Expected gather = Gathered(1), again = Backward(gather), scatter = WeightShards(1);
  Expect(SentByGradients({.zero = true}),
         {gather, gather, gather, gather, scatter, scatter, scatter, scatter});
  // Weights that are not kept are gathered again, block by block.
  Expect(SentByGradients({.zero = true, .keeps = false}),
         {gather, gather, gather, gather, again, scatter, again, scatter, again, scatter, again,
          scatter});
}
TEST(AutoCommunication, GradientsOfBothDoBoth) {
  const Expected gather = Gathered(8), scatter = WeightShards(8);
  Expect(SentByGradients({.megatron = true, .zero = true}),
         {gather, gather, kSums, gather, gather, kSums, scatter, scatter, Backward(kSums), scatter,
          scatter, Backward(kSums)});
}

// A table that is stored in parts is gathered for its lookups, and its gradient scattered. The
// zeros that the gradient is added to are made where they are needed: 7/8 of a table each way.
TEST(AutoCommunication, GradientsOfLookupsScatterTheTable) {
  MeshScope scope(abstract_mesh({{"data", 8, Auto}}));
  const auto step = jit([](Array table, Array ids) {
    const auto stored = [](Array v) { return with_sharding_constraint(v, P("data", None)); };
    const auto loss = [&](Array t) { return sum(square(take(t, stored(ids), 0))); };
    return stored(grad(loss)(stored(table)));
  });
  constexpr int64_t kTable = 256 * 128 * kFloat * 7 / 8;
  Expect(step.lower(abstract_array("f32[256,128]"), abstract_array("i32[64,16]")).comm(),
         {{CommKind::kAllGather, "data", kTable},
          {CommKind::kReduceScatter, "data", kTable, /*backward=*/true}});
}

// The norm of all gradients is one number, for any sharding: 2 * 63/64 of it leave a device.
TEST(AutoCommunication, AClipByTheGlobalNormReducesOnce) {
  for (AxisMode mode : {Explicit, Auto}) {
    MeshScope scope(abstract_mesh({{"data", 8, mode}, {"model", 8, mode}}));
    const PartitionSpec specs[] = {P("data", "model"), P("model", None), P(), P(None, "data")};
    const auto place = [&](Array v, const PartitionSpec& spec) {
      return mode == Auto ? with_sharding_constraint(v, spec) : reshard(v, spec);
    };
    const auto clip = jit([&](std::vector<Array> leaves) {
      Array norm = 0.0f;
      for (size_t i = 0; i < leaves.size(); ++i)
        norm = norm + sum(square(leaves[i] = place(leaves[i], specs[i % 4])));
      const Array shrink = minimum(1.0, 1.0 / (sqrt(norm) + 1e-6));
      return tree_map([&](Array g) { return g * shrink; }, leaves);
    });
    std::vector<Array> leaves;
    for (int64_t i = 1; i <= 8; ++i)
      leaves.push_back(abstract_array("f32[" + std::to_string(64 * i) + ",64]"));
    const CommReport comm = clip.lower(leaves).comm();
    EXPECT_EQ(comm.count(CommKind::kAllReduce, {"data", "model"}), 1) << comm;
    EXPECT_EQ(comm.events().size(), 1u) << comm;
    EXPECT_EQ(comm.bytes(), (2 * 4 * 63 + 63) / 64) << comm;
  }
}

}  // namespace
}  // namespace tessera::auto_communication_test
