// Values that are made or repeated unreduced or reduced, and the sums that they stand for.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera::unreduced_test {
namespace {

class Unreduced : public testing::Test {
 protected:
  Unreduced() { SetDeviceCount(4); }
  ~Unreduced() override { SetDeviceCount(1); }
  // Expects a type with partial sums, and the value that they add up to.
  void Expect(const Array& x, const std::string& type, const Array& sum) {
    EXPECT_EQ(type_of(x).text(), type);
    EXPECT_TRUE(all(reshard(x, P()) == sum).item<bool>()) << reshard(x, P());
  }
};

TEST_F(Unreduced, CountedNumbers) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  PartitionSpec parts = P(None).unreduced("x");
  Array eight = reshard(arange(8), P());
  Expect(arange(8, {.out_sharding = parts}), "i32[8]{U:x}", eight);
  Expect(arange(3, 19, 2, {.out_sharding = parts}), "i32[8]{U:x}", 3 + 2 * eight);
  Expect(iota({8}, 0, {.out_sharding = P(None).reduced("y")}), "i32[8]{R:y}", eight);
  Expect(eye(8, {.out_sharding = P("y", None).unreduced("x")}), "f32[8@y,8]{U:x}", eye(8));
}

TEST_F(Unreduced, LikeAnUnreducedArray) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  Array a = zeros({4}, {.out_sharding = P(None).unreduced("x")});
  Expect(ones_like(a), "f32[4]{U:x}", ones({4}));
  Expect(full_like(a, 3), "f32[4]{U:x}", full({4}, 3.f));
}

TEST_F(Unreduced, Repeated) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  Array four = arange(4), parts = reshard(four, P(None).unreduced("x"));
  Array twice = array({0, 0, 1, 1, 2, 2, 3, 3});
  Expect(repeat(four, 2, 0, {P(None).unreduced("x")}), "i32[8]{U:x}", twice);
  Expect(repeat(parts, 2, 0, {P("y")}), "i32[8@y]", twice);
  Expect(repeat(parts, 0, 0), "i32[0]{U:x}", zeros({0}, i32));
}

TEST_F(Unreduced, DiagonalsOfAnEinsum) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  Array square = reshard(arange(16).reshape({4, 4}), P(None, None).unreduced("x"));
  Expect(einsum("ii->i", {square}), "i32[4]{U:x}", 5 * arange(4));
  Array sharded = reshard(square, P("x", "y")), other = reshard(square, P("y", None));
  Expect(
      einsum("ii,jk,kl->il", {sharded, other, square}, {.out_sharding = P("x", None)}),
      "i32[4@x,4]",
      einsum("ii,jk,kl->il", {reshard(square, P()), reshard(square, P()), reshard(square, P())}));
}

TEST_F(Unreduced, RolledAlongAShardedDim) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  Array x = reshard(arange(8), P("x"));
  Expect(roll(x, 2, 0), "i32[8@x]", array({6, 7, 0, 1, 2, 3, 4, 5}));
  Expect(roll(x, 3, 0), "i32[8@x]", array({5, 6, 7, 0, 1, 2, 3, 4}));
  Expect(roll(x, -1, 0), "i32[8@x]", array({1, 2, 3, 4, 5, 6, 7, 0}));
}

TEST_F(Unreduced, ProductsForgetWhatIsReduced) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  Array a = reshard(arange(4), P(None).reduced("x")), b = reshard(arange(2), P("y"));
  Expect(tensordot(a, b, 0), "i32[4,2@y]", arange(4).reshape({4, 1}) * arange(2));
}

TEST(Dot, OfBoolsAndNumbers) {
  Array mask = array({{true, false}, {true, true}}), x = array({{1.5, 2.0}, {3.0, 4.0}});
  DotDims inner{.lhs_contract = {1}, .rhs_contract = {0}};
  EXPECT_TRUE(all(dot_general(mask, x, inner) == array({{1.5, 2.0}, {4.5, 6.0}})).item<bool>());
  EXPECT_EQ(type_of(dot_general(x, mask, inner)).text(), "f32[2,2]");
  EXPECT_TRUE(all(einsum("ij->i", {mask})).item<bool>());
}

TEST(Pow, RefusesNegativePowersOfIntegers) {
  EXPECT_THROW(pow(arange(3), -1), DTypeError);
  EXPECT_THROW(integer_pow(arange(3), -2), DTypeError);
  EXPECT_EQ(type_of(pow(arange(3), -1.0)).text(), "f32[3]");
}

}  // namespace
}  // namespace tessera::unreduced_test
