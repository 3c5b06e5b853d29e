// Attention whose heads the devices do not divide: grouped heads over parts of an axis.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>
#include <string>
#include <vector>

namespace tessera::attention_heads_test {
namespace {

struct Case {
  const char* name;
  int64_t heads, key_heads;
  PartitionSpec query, keys;
  // Of the gradient: reductions over the devices that share key heads, and gathers of key heads to
  // the devices that have them whole. The forward pass sends nothing.
  int64_t reductions, gathers;
};

PartitionSpec Over(DimSharding heads) { return P(None, None, heads); }

std::vector<Case> Cases() {
  const AxisRef two = SubAxis("model", 1, 2), four = SubAxis("model", 1, 4);
  return {
      {"equal_heads", 12, 12, Over(four), Over(four), 0, 0},
      {"two_on_two", 8, 2, Over("model"), Over(two), 2, 0},
      {"two_whole", 8, 2, Over("model"), Over(None), 2, 2},
      {"one_whole", 8, 1, Over("model"), Over(None), 2, 0},
      {"several_per_device", 16, 2, Over("model"), Over(two), 2, 0},
      {"twelve_on_four", 12, 2, Over(four), Over(two), 2, 0},
      {"four_per_part", 12, 4, Over(four), Over(four), 0, 0},
      // A device has heads of two groups, so it repeats their keys.
      {"groups_cut", 12, 6, Over(four), Over(two), 0, 2},
      {"groups_cut_whole", 12, 6, Over(four), Over(None), 0, 4},
  };
}

using Arrays = std::vector<Array>;

// With a bias and a mask per head, which are grouped like the query.
Array Attend(const Arrays& x) {
  return dot_product_attention(x[0], x[1], x[2],
                               {.bias = x[3], .mask = x[3] > -1.0, .is_causal = true});
}
Arrays Gradient(const Arrays& x) {
  return grad([](Arrays y) { return sum(square(Attend(y))); })(x);
}

void ExpectClose(const Array& a, const Array& b) {
  EXPECT_THAT(a.to_vector<float>(),
              testing::Pointwise(testing::FloatNear(1e-5f), b.to_vector<float>()));
}

class HeadsThatDoNotDivide : public testing::TestWithParam<Case> {};

TEST_P(HeadsThatDoNotDivide, HaveTheValuesOfOneDevice) {
  const Case& c = GetParam();
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"model", 8}}));
  const auto random = [](int64_t seed, Shape shape) {
    return random::normal(random::key(static_cast<uint64_t>(seed)), shape);
  };
  const Arrays whole = {random(0, {2, 6, c.heads, 4}), random(1, {2, 6, c.key_heads, 4}),
                        random(2, {2, 6, c.key_heads, 4}), random(3, {c.heads, 1, 6})};
  const PartitionSpec bias = P(c.query.dims()[2]);
  const Arrays shards = {reshard(whole[0], c.query), reshard(whole[1], c.keys),
                         reshard(whole[2], c.keys), reshard(whole[3], bias)};
  const auto attend = jit([](Arrays x) { return Attend(x); });
  const auto gradient = jit([](Arrays x) { return Gradient(x); });

  const Array made = attend(shards);
  EXPECT_EQ(type_of(made).spec(), type_of(shards[0]).spec());
  ExpectClose(made, Attend(whole));
  const Arrays derived = gradient(shards), expected = Gradient(whole);
  for (size_t i = 0; i < shards.size(); ++i) {
    EXPECT_EQ(type_of(derived[i]), type_of(shards[i])) << i;
    ExpectClose(derived[i], expected[i]);
  }
}

TEST_P(HeadsThatDoNotDivide, SendOnlyGradientsOfSharedKeys) {
  const Case& c = GetParam();
  MeshScope scope(abstract_mesh({{"model", 8}}));
  const Arrays shards = {zeros({2, 6, c.heads, 4}, {.out_sharding = c.query}),
                         zeros({2, 6, c.key_heads, 4}, {.out_sharding = c.keys}),
                         zeros({2, 6, c.key_heads, 4}, {.out_sharding = c.keys}),
                         zeros({c.heads, 1, 6}, {.out_sharding = P(c.query.dims()[2])})};
  EXPECT_TRUE(jit(Attend).lower(shards).comm().empty());
  const CommReport sent = jit(Gradient).lower(shards).comm();
  EXPECT_EQ(sent.count(CommKind::kAllReduce), c.reductions) << sent;
  EXPECT_EQ(sent.count(CommKind::kAllGather), c.gathers) << sent;
  EXPECT_EQ(static_cast<int64_t>(sent.events().size()), c.reductions + c.gathers) << sent;
}

INSTANTIATE_TEST_SUITE_P(All, HeadsThatDoNotDivide, testing::ValuesIn(Cases()),
                         [](const auto& info) { return std::string(info.param.name); });

// From the projection to the output: no head is sent.
TEST(HeadsThatDoNotDivide, ComeFromProjectionsOverPartsOfAnAxis) {
  MeshScope scope(abstract_mesh({{"model", 8}}));
  const auto f = [](Array x, Array w, Array o) {
    const Array q = einsum("btd,df->btf", {x, w}).reshape({2, 6, 12, 4});
    return einsum("bthk,hkd->btd", {dot_product_attention(q, q, q), o}, {.out_sharding = P()});
  };
  const AxisRef four = SubAxis("model", 1, 4);
  const Array x = zeros({2, 6, 16}), w = zeros({16, 48}, {.out_sharding = P(None, four)}),
              o = zeros({12, 4, 16}, {.out_sharding = P(four)});
  const CommReport sent = jit(f).lower(x, w, o).comm();
  EXPECT_EQ(sent.events().size(), 1u) << sent;
  EXPECT_EQ(sent.count(CommKind::kAllReduce), 1) << sent;
}

// Blocks of scores that the mask hides are not computed: 9/16 of the products are left.
TEST(AttentionInBlocks, SkipsWhatACausalMaskHides) {
  SetDeviceCount(1);
  const Array x = abstract_array("f32[1,4096,8,64]");
  const auto flops = [&](AttentionOptions options) {
    return jit([=](Array q, Array k, Array v) { return dot_product_attention(q, k, v, options); })
        .lower(x, x, x)
        .flops();
  };
  const auto all = static_cast<double>(flops({}));
  EXPECT_LT(static_cast<double>(flops({.is_causal = true})), 0.58 * all);
}

}  // namespace
}  // namespace tessera::attention_heads_test
