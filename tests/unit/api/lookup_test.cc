// Lookups of sharded arrays: what is sent, and that the bits do not depend on who computes.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <random>

namespace tessera {
namespace {

using testing::ElementsAre;

std::vector<std::string> Sent(const CommReport& report) {
  std::vector<std::string> sent;
  for (const CommEvent& e : report.events()) {
    std::string axes;
    for (const std::string& axis : e.axes) axes += " " + axis;
    sent.push_back(std::string(e.kind == CommKind::kAllReduce ? "all_reduce" : "other") + axes +
                   " " + std::to_string(e.bytes));
  }
  return sent;
}

constexpr int64_t kVocabulary = 4096, kWidth = 64, kTokens = 128;

Array Embed(Array table, Array tokens) {
  return table.at({tokens, All}).get({.out_sharding = P("data", None)});
}

TEST(Lookups, AnEmbeddingSendsItsResultAlone) {
  MeshScope scope(abstract_mesh({{"data", 2}, {"a", 2}, {"b", 2}}));
  Array table = abstract_array("f32[4096@(a,b),64]"), tokens = abstract_array("i32[128@data]");
  EXPECT_THAT(
      Sent(jit(Embed).lower(table, tokens).comm()),
      ElementsAre("all_reduce a b " + std::to_string(2 * 3 * (kTokens / 2 * kWidth * 4) / 4)));
}

// The gradient of the table: rows are added where they are held, tokens' parts are summed.
TEST(Lookups, TheGradientOfAnEmbeddingSendsPartialSumsAlone) {
  MeshScope scope(abstract_mesh({{"data", 2}, {"a", 2}, {"b", 2}}));
  auto gradient = [](PartitionSpec out) {
    return jit([out](Array rows, Array tokens) {
      Array zero = zeros({kVocabulary, kWidth}, {.out_sharding = P({"a", "b"}, None)});
      return zero.at({tokens, All}).add(rows, {.out_sharding = out});
    });
  };
  Array rows = abstract_array("f32[128@data,64]"), tokens = abstract_array("i32[128@data]");
  auto comm = [&](PartitionSpec out) { return Sent(gradient(out).lower(rows, tokens).comm()); };
  EXPECT_THAT(comm(P({"a", "b"}, None).unreduced("data")), ElementsAre());
  EXPECT_THAT(Sent(gradient(P({"a", "b"}, None))
                       .lower(abstract_array("f32[8192@data,64]"), abstract_array("i32[8192@data]"))
                       .comm()),
              ElementsAre("all_reduce data " + std::to_string(kVocabulary / 4 * kWidth * 4)));
  // Or the tokens and their rows are gathered, if these are fewer bytes.
  EXPECT_THAT(comm(P({"a", "b"}, None)), ElementsAre("other data 256", "other data 16384"));
}

// Over Auto axes a constraint on the table is all that it takes.
TEST(Lookups, AnEmbeddingOverAutoAxesSendsItsResultAlone) {
  MeshScope scope(abstract_mesh({{"data", 2, AxisMode::Auto}, {"model", 4, AxisMode::Auto}}));
  auto embed = jit([](Array table, Array tokens) {
    table = with_sharding_constraint(table, P("model", None));
    tokens = with_sharding_constraint(tokens, P("data"));
    return with_sharding_constraint(take(table, tokens, 0), P("data", None));
  });
  CommReport comm = embed.lower(abstract_array("f32[4096,64]"), abstract_array("i32[128]")).comm();
  EXPECT_EQ(comm.count(CommKind::kAllReduce, "model"), 1) << comm;
  EXPECT_EQ(comm.count(CommKind::kAllGather), 0) << comm;
}

// Sums of floats, with many updates of one row.
std::vector<float> Counted(int workers, const PartitionSpec& where) {
  SetWorkerCount(workers);
  std::mt19937 random(3);
  std::vector<int32_t> rows;
  std::vector<float> values;
  for (int i = 0; i < 5000; ++i) rows.push_back(static_cast<int32_t>(random() % 90) - 5);
  for (int i = 0; i < 5000 * 24; ++i) values.push_back(static_cast<float>(random() % 10007) / 977);
  Array x = reshard(ones({96, 24}), where);
  Array updates = reshard(array(values, {.shape = Shape(5000, 24)}),
                          P(None, DimSharding(where.rank() > 1 ? where.dims()[1] : None)));
  return x.at({array(rows), All}).add(updates).to_vector<float>();
}

TEST(Lookups, UpdatesAreAddedInOneOrderWhoeverAddsThem) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 4}, {"y", 2}}));
  const std::vector<float> want = Counted(1, P(None, None));
  for (int workers : {1, 2, 4})
    for (const PartitionSpec& where :
         {P(None, None), P("x", None), P({"y", "x"}, None), P(None, "x"), P("y", "x")})
      EXPECT_EQ(Counted(workers, where), want) << workers << " workers, " << where;
  SetWorkerCount(2);
}

TEST(Lookups, AnUpdateMayReadWhatItChanges) {
  auto f = jit([](Array x, Array i) {
    Array y = x * 2;
    Array z = y.at({i, All}).add(y);
    return z.at({i, All}).set(y);
  });
  Array x = arange(12.0f).reshape({4, 3}), i = array({3, 3, 0, 9});
  EXPECT_THAT(f(x, i).to_vector<float>(), ElementsAre(12, 14, 16, 6, 8, 10, 12, 14, 16, 6, 8, 10));
}

// A loop of appends, as of a cache of keys.
TEST(Lookups, ALoopUpdatesInPlace) {
  auto f = jit([](Array x) {
    return fori_loop(
        0, 4, [](Array i, Array c) { return c.at(i).set(i * i); }, x);
  });
  EXPECT_THAT(f(zeros({5}, i32)).to_vector<int32_t>(), ElementsAre(0, 1, 4, 9, 0));
}

}  // namespace
}  // namespace tessera
