// x.at(index).get({.out_sharding = ...}) of a sharded dim whose shards do not divide the slice.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera {
namespace {

using testing::ElementsAre;

class ShardedSlices : public testing::Test {
 protected:
  ShardedSlices() {
    SetDeviceCount(8);
    scope.emplace(make_mesh({{"x", 2}, {"y", 4}}));
    whole = arange(32.0).reshape({8, 4});
    x = reshard(whole, P("x", None));
  }
  ~ShardedSlices() override { scope.reset(); }

  std::optional<MeshScope> scope;
  Array whole, x;
};

Array Row(Array x) { return x.at({5}).get({.out_sharding = P(None)}); }
Array Rows(Array x) { return x.at({Slice(3, 6)}).get({.out_sharding = P(None, None)}); }
Array Backwards(Array x) {
  return x.at({Slice(6, 0, -2), Slice(1, None)}).get({.out_sharding = P()});
}

TEST_F(ShardedSlices, HaveTheOutSharding) {
  const auto expect = [&](Array (*f)(Array), const char* type) {
    const std::vector<float> want = f(reshard(whole, P())).to_vector<float>();
    for (const Array& y : {f(x), jit(f)(x)}) {
      EXPECT_EQ(type_of(y).text(), type);
      EXPECT_EQ(y.to_vector<float>(), want);
    }
  };
  expect(Row, "f32[4]");
  expect(Rows, "f32[3,4]");
  expect(Backwards, "f32[3,3]");
  EXPECT_THAT(Row(x).to_vector<float>(), ElementsAre(20, 21, 22, 23));
  expect([](Array a) { return a.at({5}).get({.out_sharding = P("y")}); }, "f32[4@y]");
  expect([](Array a) { return a.at({5, None}).get({.out_sharding = P(None, "x")}); }, "f32[1,4@x]");
}

TEST_F(ShardedSlices, OfUnreducedArraysStayUnreduced) {
  const Array terms = sum(reshard(arange(64.0).reshape({4, 8, 2}), P("y", "x", None)), 0,
                          {.out_sharding = P("x", None).unreduced("y")});
  const Array y = terms.at({3}).get({.out_sharding = P(None).unreduced("y")});
  EXPECT_EQ(type_of(y).text(), "f32[2]{U:y}");
  EXPECT_THAT(reshard(y, P(None)).to_vector<float>(), ElementsAre(120, 124));
}

TEST_F(ShardedSlices, OfBoolsAndKeys) {
  const Array row = reshard(whole > 20, P("x", None)).at({5}).get({.out_sharding = P(None)});
  EXPECT_THAT(row.to_vector<bool>(), ElementsAre(false, true, true, true));
  const Array keys = random::split(random::key(0), 8);
  const Array some = reshard(keys, P("x")).at({Slice(3, 6)}).get({.out_sharding = P(None)});
  EXPECT_EQ(random::key_data(some).to_vector<uint32_t>(),
            random::key_data(keys[{Slice(3, 6)}]).to_vector<uint32_t>());
}

TEST_F(ShardedSlices, HaveGradients) {
  const auto loss = [](Array a) { return sum(Row(a) * Row(a)) + sum(Rows(a)); };
  const std::vector<float> want = grad(loss)(reshard(whole, P())).to_vector<float>();
  for (const Array& g : {grad(loss)(x), jit(grad(loss))(x)}) {
    EXPECT_EQ(type_of(g).text(), "f32[8@x,4]");
    EXPECT_EQ(g.to_vector<float>(), want);
  }
}

TEST_F(ShardedSlices, AreMapped) {
  const Array stack = reshard(arange(96.0).reshape({3, 8, 4}), P(None, "x", None));
  for (const auto& f : {Row, Rows}) {
    const Array y = vmap(f)(stack), z = jit(vmap(f))(stack);
    const Array want = vmap(f)(reshard(stack, P()));
    EXPECT_EQ(y.to_vector<float>(), want.to_vector<float>());
    EXPECT_EQ(z.to_vector<float>(), want.to_vector<float>());
    EXPECT_EQ(type_of(y).text(), type_of(want).text());
  }
}

TEST_F(ShardedSlices, SendOnlyTheirElements) {
  const auto bytes = [&](Array (*f)(Array)) { return jit(f).lower(x).comm().bytes(); };
  EXPECT_EQ(bytes(Row), 4 * 4);
  EXPECT_EQ(bytes(Rows), 3 * 4 * 4);
}

TEST_F(ShardedSlices, AreOfferedForASubscript) {
  try {
    x[{5}];
    FAIL();
  } catch (const ShardingError& e) {
    EXPECT_THAT(e.what(),
                testing::HasSubstr("operand.at(5).get({.out_sharding = P(None)})   sends 16 B"));
  }
}

}  // namespace
}  // namespace tessera
