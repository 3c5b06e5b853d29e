// Text of meshes and shardings: accepted forms, and refusals with their place.
#include "sharding/text.h"

#include "tessera/error.h"
#include "unit/sharding/testing.h"

namespace tessera::sharding {
namespace {

using testing::MeshOf;

template <class F>
std::string ReasonOf(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.reason();
  }
  return "nothing was refused";
}

TEST(ShardingText, TheVerifierRefusesOneByOne) {
  const MeshDef* mesh = MeshOf("x=4 y=2 z=8");
  struct {
    const char *text, *reason;
  } const cases[] = {
      {R"(<@mesh, [{"a"}]>)", "a"},
      {R"(<@mesh, [{"x", "x"}]>)", "\"x\" appears twice"},
      {R"(<@mesh, [{"x"}, {"x"}]>)", "\"x\" appears twice"},
      {R"(<@mesh, [{"z":(1)2, "z":(2)2}]>)", "are adjacent parts"},
      {R"(<@mesh, [{"x"}], replicated={"x"}>)", "\"x\" appears twice"},
      {R"(<@mesh, [{"z":(2)2}], replicated={"z":(1)4}>)", "overlap"},
      {R"(<@mesh, [{}], replicated={"z":(1)8}>)", "equal to the full axis size"},
      {R"(<@mesh, [{}], replicated={"z":(2)2, "z":(1)2}>)", "are adjacent parts"},
      {R"(<@mesh, [{}p1]>)", "empty and closed but has a priority"},
      {R"(<@mesh, [{"z"}, {"z":(1)2}]>)", "overlap"},
      {R"(<@mesh, [{"z":(0)2}]>)", "must be between 1 and"},
      {R"(<@mesh, [{"z":(2)1}]>)", "not above 1"},
      {R"(<@mesh, [{"z":(2)3}]>)", "does not divide the axis"},
      {R"(<@mesh, [{"x":(1)4}]>)", "equal to the full axis size"},
      {R"(<@mesh, [{"z":(1)4}, {"z":(2)4}]>)", "overlap"},
      {R"(<@mesh, [{?, "x"}]>)", "'?' must come last"},
      {R"(<@mesh, [{"x"}q1]>)", "expected a priority"},
      {R"(<@mesh, [{"x"}p01]>)", "leading zeros"},
      {R"(<@mesh, [{"x"}], sharded={"y"}>)", "expected replicated, unreduced, reduced or varying"},
      {R"(<@mesh, [{"x"])", "expected"},
      {R"(<@mesh, [{"x"}]> more)", "unexpected"},
  };
  for (const auto& c : cases)
    EXPECT_THAT(ReasonOf([&] { ParseSharding(c.text, mesh, Loc::Unknown()); }),
                ::testing::HasSubstr(c.reason))
        << c.text;
}

TEST(ShardingText, SetsComeInAnyOrder) {
  const MeshDef* mesh = MeshOf("x=4 y=2 z=8");
  for (const char* text : {R"(<@mesh, [{}], unreduced=sum{"y"}, replicated={"x"}>)",
                           R"(<@mesh, [{}], replicated={"x"}, unreduced{"y"}>)"})
    EXPECT_EQ(Text(ParseSharding(text, mesh, Loc::Unknown())),
              R"(<@mesh, [{}], replicated={"x"}, unreduced={"y"}>)");
}

TEST(ShardingText, SetsAreInTheOrderOfTheMesh) {
  const MeshDef* mesh = MeshOf("x=4 y=2 z=8");
  EXPECT_EQ(Text(ParseSharding(R"(<@mesh, [{}], replicated={"z":(4)2, "y", "z":(1)2}>)", mesh,
                               Loc::Unknown())),
            R"(<@mesh, [{}], replicated={"y", "z":(1)2, "z":(4)2}>)");
  EXPECT_EQ(Text(ParseSharding(R"(<@mesh, [{}], unreduced=max{"y", "x"}>)", mesh, Loc::Unknown())),
            R"(<@mesh, [{}], unreduced=max{"x", "y"}>)");
}

// ---- specs ----

std::string ThroughSpec(std::string_view text, const MeshDef* mesh) {
  return Sharding::Parse(text, Mesh(mesh)).text();
}

TEST(Spec, KeepsPartsOfAxesInSets) {
  const MeshDef* mesh = MeshOf("x=4 y=4 z=8");
  for (const char* text : {R"(<@mesh, [{}, {?}], replicated={"y":(1)2}>)",
                           R"(<@mesh, [{"x"}, {"y":(2)2}], replicated={"y":(1)2}>)",
                           R"(<@mesh, [{"x"}], replicated={"y"}, unreduced=max{"z":(2)2}>)",
                           R"(<@mesh, [{}], unreduced={"y":(1)2, "z":(4)2}, reduced={"z":(1)2}>)"})
    EXPECT_EQ(ThroughSpec(text, mesh), text);
}

TEST(Spec, PrintsTheCodeThatMakesIt) {
  PartitionSpec mixed = P({"x", SubAxis("y", 2, 2)})
                            .unreduced({SubAxis("y", 1, 2), "z"}, Reduction::kMin)
                            .reduced({"u", "v"})
                            .replicated(SubAxis("w", 1, 2));
  EXPECT_EQ(mixed.text(),
            R"(P({"x", SubAxis("y", 2, 2)}).unreduced({SubAxis("y", 1, 2), "z"}, Reduction::kMin))"
            R"(.reduced({"u", "v"}).replicated(SubAxis("w", 1, 2)))");
  EXPECT_EQ(mixed.replicated_axes(), std::vector{SubAxis("w", 1, 2)});
  EXPECT_THAT(mixed.reduced_axes(), ::testing::ElementsAre("u", "v"));
  EXPECT_EQ(P().unreduced(AxisNames{"x"}), P().unreduced("x"));
  EXPECT_EQ(P().unreduced(std::vector<std::string>{"x"}), P().unreduced(mixed.dims()[0].axes()[0]));
}

TEST(Spec, SetsAreCheckedAsTextIs) {
  Mesh mesh(MeshOf("x=4 y=8 one=1"));
  struct {
    PartitionSpec spec;
    const char* reason;
  } const cases[] = {
      {P("x").replicated(SubAxis("x", 1, 2)), "overlap"},
      {P(SubAxis("y", 2, 2)).replicated(SubAxis("y", 1, 4)), "overlap"},
      {P().replicated(SubAxis("y", 2, 3)), "does not divide the axis"},
      {P().reduced(SubAxis("y", 2, 1)), "not above 1"},
      {P().unreduced({SubAxis("y", 2, 2), SubAxis("y", 1, 2)}), "are adjacent parts"},
      {P(SubAxis("one", 1, 2)), "does not divide the axis"},
  };
  for (const auto& c : cases)
    EXPECT_THAT(ReasonOf([&] { Sharding(mesh, c.spec); }), ::testing::HasSubstr(c.reason))
        << c.spec.text();
}

TEST(ShardingText, AxesOfSizeOneAreNowhere) {
  EXPECT_EQ(Text(ParseSharding(R"(<@mesh, [{"x", "y"}]>)", MeshOf("x=1 y=2"), Loc::Unknown())),
            R"(<@mesh, [{"y"}]>)");
}

TEST(MeshText, PrintsAndParses) {
  for (const char* text :
       {R"(<["x"=2, "y"=4]>)", R"(<["x"=2, "y"=2], device_ids=[3, 1, 2, 0]>)", "<[]>"})
    EXPECT_EQ(ParseMesh(text, Loc::Unknown())->text(), text);
  EXPECT_EQ(ParseMesh(R"(<["a"=2], device_ids=[0, 1]>)", Loc::Unknown())->text(), R"(<["a"=2]>)");
}

TEST(MeshText, EqualMeshesAreOne) {
  EXPECT_EQ(ParseMesh(R"(<["x"=2]>)", Loc::Unknown()), MeshOf("x=2"));
  EXPECT_NE(ParseMesh(R"(<["x"=2], device_ids=[1, 0]>)", Loc::Unknown()), MeshOf("x=2"));
}

TEST(MeshText, RefusesWhatIsNoMesh) {
  struct {
    const char *text, *reason;
  } const cases[] = {
      {R"(<["x"=0]>)", "has size 0"},
      {R"(<["x"=-2]>)", "has size -2"},
      {R"(<["x"=2, "x"=2]>)", "given twice"},
      {R"(<[""=2]>)", "not a valid name"},
      {R"(<["x"=2], device_ids=[0]>)", ""},
      {R"(<["x"=2], device_ids=[0, 0]>)", ""},
      {R"(<["x"=2], device_ids=[-1, 0]>)", ""},
      {R"(<["x"=1099511627776, "y"=2]>)", "more than 2^40"},
      {R"(<["x"=99999999999999999999]>)", ""},
      {R"(<["x"=2]> x)", "unexpected"},
      {R"(<["x")", "expected"},
      {"", "expected"},
  };
  for (const auto& c : cases) {
    std::string reason = ReasonOf([&] { ParseMesh(c.text, Loc::Unknown()); });
    EXPECT_THAT(reason, ::testing::HasSubstr(c.reason)) << c.text;
    EXPECT_NE(reason, "nothing was refused") << c.text;
  }
}

}  // namespace
}  // namespace tessera::sharding
