// Lookups in sharded arrays: communication, and results that do not depend on the sharding.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>
#include <random>

namespace tessera::lookup_test {
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

// An embedding that is reduced over an axis, and tokens that are sharded over it. Each device looks
// up the rows of its tokens, and the gradient is a partial sum. Nothing is sent.
TEST(Lookups, OfReducedTablesLeavePartialSums) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 4}, {"model", 2}}));
  const Array rows = iota({16, 8}, 0, {.dtype = f32}) + 1,
              tokens = array({3, 1, 3, 5, 7, 7, 7, 15});
  const auto loss = [](Array table, Array i) { return sum(square(take(table, i, 0))); };
  const auto asked = [](Array table, Array i) {
    return sum(square(take(table, i, 0, {.out_sharding = P("data", None)})));
  };
  const auto want = grad(loss)(rows, tokens).to_vector<float>();
  const Array i = reshard(tokens, P("data"));
  const auto check = [&](const std::function<Array(Array, Array)>& f, const PartitionSpec& where,
                         size_t events) {
    const Array table = reshard(rows, where);
    auto g = jit(grad(f));
    EXPECT_THAT(type_of(g(table, i)).text(), testing::EndsWith("{U:data}"));
    const Array sums = reshard(g(table, i), P(None, None));
    EXPECT_THAT(sums.to_vector<float>(), testing::ElementsAreArray(want));
    EXPECT_EQ(g.lower(table, i).comm().events().size(), events) << g.lower(table, i).comm().text();
  };
  const PartitionSpec whole = P(None, None).reduced("data");
  EXPECT_EQ(type_of(take(reshard(rows, whole), i, 0)).text(), "f32[8@data,8]");
  check(loss, whole, 0);
  check(asked, whole, 0);
  // Of a vocabulary in parts the rows are summed, and the gradient is partial all the same.
  check(asked, P("model", None).reduced("data"), 1);
}

// Rows are compared by their numbers, one per row: where several updates name a row, the last one
// has the derivative.
TEST(Updates, GradientsOfRowsHoldOneNumberPerRow) {
  constexpr int64_t kRows = 4096, kUpdates = 2048, kSize = 256;
  const auto total = [](Array x, Array i, Array rows) { return sum(x.at(i).set(rows) * 2.0); };
  const Lowered lowered = jit(grad<2>(total))
                              .lower(abstract_array("f32[4096,256]"), abstract_array("i32[2048]"),
                                     abstract_array("f32[2048,256]"));
  // The operand and its cotangent, the updates and their gradient.
  EXPECT_LE(lowered.peak_bytes(), (2 * kRows + 2 * kUpdates) * kSize * 4 + 64 * kRows);
}

TEST(Updates, TheLastOfTwoHasTheGradient) {
  const Array x = zeros({4, 3, 2}), i = array({1, 3, 1, 7, -1});
  const Array rows = reshape(arange(30.0), {5, 3, 2}), by = reshape(arange(24.0), {4, 3, 2});
  const auto gradient = [&](const std::function<Array(Array)>& f) {
    return grad([&](Array r) { return sum(f(r) * by); })(rows).to_vector<float>();
  };

  // Index -1 is 3, after the update of row 3; 7 is dropped.
  std::vector<float> want(30, 0);
  for (int k = 0; k < 6; ++k) want[12 + k] = 6.0f + k, want[24 + k] = 18.0f + k;
  EXPECT_EQ(gradient([&](Array r) { return x.at(i).set(r); }), want);
  // Along the middle dim, where rows are columns of the array.
  const Array columns = reshape(arange(16.0), {4, 2, 2}), twice = array({2, 2});
  const Array made = grad([&](Array c) { return sum(x.at({All, twice}).set(c) * by); })(columns);
  const Array first = made[{0, All}];
  EXPECT_THAT(first.reshape({4}).to_vector<float>(), ElementsAre(0, 0, 4, 5));
  // A part of each row.
  const auto part = [&](Array r) { return x.at({i, Slice(1, 3)}).set(r); };
  const Array parts = grad([&](Array r) { return sum(part(r) * by); })(rows[{All, Slice(1, 3)}]);
  const Array third = parts[{2, All}], none = parts[{0, All}];
  EXPECT_THAT(third.reshape({4}).to_vector<float>(), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(none.reshape({4}).to_vector<float>(), ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace tessera::lookup_test
