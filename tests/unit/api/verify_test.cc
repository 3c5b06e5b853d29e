// The verifier accepts the programs of traces and transforms. Each test was a program that it
// refused, or failed on.
#include "ir/verify.h"

#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera {
namespace {

class Verified : public testing::Test {
 protected:
  Verified() { SetDeviceCount(4); }
  ~Verified() override { SetDeviceCount(1); }
  void Expect(const Program& traced) {
    EXPECT_NO_THROW(ir::Verify(*traced.program())) << traced.text();
  }
};

TEST_F(Verified, ProductOfUnreducedAndReducedArrays) {
  const MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  const Array lhs = reshard(ones({4, 4}), P(None, "x").unreduced("y")),
              rhs = reshard(ones({4, 4}), P(None, None).reduced("y"));
  const auto derived = jit([](Array a, Array b) { return matmul(a, b); });
  const Program product = derived.trace(lhs, rhs);
  EXPECT_EQ(product.outputs()[0].text(), "f32[4,4]{U:y}");
  Expect(product);
  const auto stated =
      jit([](Array a, Array b) { return matmul(a, b, {.out_sharding = P("x", None)}); });
  const Program rows = stated.trace(lhs, rhs);
  EXPECT_EQ(rows.outputs()[0].text(), "f32[4@x,4]{U:y}");
  Expect(rows);
}

TEST_F(Verified, OpOfSeveralResults) {
  static const CustomOp both = register_op(
      {.name = "test_twice_and_square", .rule = "i -> i, i", .kernel = [](const KernelCall& call) {
         const auto x = call.in[0].data<float>(), y = call.out[0].data<float>(),
                    z = call.out[1].data<float>();
         for (size_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i], z[i] = x[i] * x[i];
       }});
  Expect(jit([](Array x) { return both.results({x}); }).trace(ones({4})));
}

TEST_F(Verified, ArrayOnNoMeshThatEntersAutoAxes) {
  const Array x = ones({8});
  const MeshScope scope(make_mesh({{"x", 4, Auto}}));
  const auto f =
      jit(shard_map([](Array a) { return psum(a, "x"); }, {.in_specs = P("x"), .out_specs = P()}));
  Expect(f.trace(x));
}

TEST_F(Verified, GradientOfAnArrayOnNoMeshUsedInsideShardMap) {
  const Array w = ones({4});
  const MeshScope scope(make_mesh({{"x", 4}}));
  const auto f = [](Array w, Array x) {
    const auto inside = shard_map(
        [w](Array part) {
          return part * w.reshape({1, 4});
        },
        {.in_specs = P("x"), .out_specs = P("x")});
    return sum(inside(x));
  };
  Expect(jit(grad(f)).trace(w, reshard(ones({4, 4}), P("x"))));
}

// The mask of the padding is the same on all devices, but its type says that it varies.
TEST_F(Verified, PadByAValueThatDiffersByBatchElementInsideShardMap) {
  const MeshScope scope(make_mesh({{"x", 4}}));
  const auto f = jit(shard_map(
      [](Array fill) {
        return vmap([](Array x, Array own) { return pad(x, {{1, 1}}, own); })(ones({2, 3}), fill);
      },
      {.in_specs = P("x"), .out_specs = P("x")}));
  Expect(f.trace(reshard(ones({8}), P("x"))));
}

// The host function gets whole arrays, so they are gathered before it.
TEST_F(Verified, OneCallOfAllBatchElements) {
  const MeshScope scope(make_mesh({{"x", 4}}));
  const auto same = [](Array x) {
    return pure_callback([](Array a) { return a; }, zeros(Shape(x.shape())), x,
                         {.vmap_method = VmapMethod::kBroadcastAll});
  };
  const Program f = jit(vmap(same)).trace(reshard(ones({8, 4}), P("x")));
  Expect(f);
  EXPECT_THAT(f.text(), testing::HasSubstr(": f32[8,4] = pure_callback"));
  EXPECT_EQ(f.outputs()[0].text(), "f32[8@x,4]");
}

}  // namespace
}  // namespace tessera
