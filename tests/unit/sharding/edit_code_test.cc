// Edits in the words of this library, and in those of JAX.
#include "sharding/edit_code.h"

#include <gtest/gtest.h>

#include "tessera/sharding.h"
#include "unit/sharding/testing.h"

namespace tessera::sharding {
namespace {

using testing::MeshOf;

TEST(EditCode, HasTheWordsOfTheReader) {
  const PartitionSpec spec = P({"x", "y"}, None).reduced("z");
  EXPECT_EQ(ReshardCode("lhs", spec), R"(reshard(lhs, P({"x", "y"}, None).reduced("z")))");
  EXPECT_EQ(OutShardingCode(P("x", None)), R"(.out_sharding = P("x", None))");
  const MeshDef* const mesh = MeshOf("x=2 y=2");
  const AxisList both = {{0, 1, 2}, {1, 1, 2}};
  EXPECT_EQ(PsumCode("a", mesh, both), R"(psum(a, {"x", "y"}))");
  EXPECT_EQ(PcastCode("a", mesh, {{1, 1, 2}}, true), R"(pcast(a, "y", Variance::kVarying))");
  {
    const JaxEditScope jax;
    EXPECT_EQ(ReshardCode("lhs", spec), R"(jax.reshard(lhs, P(("x", "y"), None, reduced={"z"})))");
    EXPECT_EQ(OutShardingCode(P("x", None)), R"(out_sharding=P("x", None))");
    EXPECT_EQ(PsumCode("a", mesh, both), R"(jax.lax.psum(a, ("x", "y")))");
    EXPECT_EQ(PcastCode("a", mesh, {{1, 1, 2}}, false), R"(jax.lax.pcast(a, "y", to="reduced"))");
    EXPECT_TRUE(IsOptionCode(OutShardingCode(spec)));
    EXPECT_FALSE(IsOptionCode(ReshardCode("lhs", spec)));
    EXPECT_EQ(OutShardingCode(P(Open(), "x")), R"(out_sharding=P(P.UNCONSTRAINED, "x"))");
    EXPECT_TRUE(CanWrite(spec));
    EXPECT_FALSE(CanWrite(P(SubAxis("x", 1, 2))));
    EXPECT_FALSE(CanWrite(P().reduced(SubAxis("x", 2, 2))));
  }
  EXPECT_FALSE(EditsAreOfJax());
  EXPECT_TRUE(CanWrite(P(SubAxis("x", 1, 2))));
  EXPECT_TRUE(IsOptionCode(OutShardingCode(spec)));
}

}  // namespace
}  // namespace tessera::sharding
