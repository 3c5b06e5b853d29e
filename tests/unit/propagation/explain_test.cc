// Explanations of the programs in tests/propagation/explain.txt: the origin of each axis, the ops
// that carried it, axes that lost, and an edit that was tried.
#include "propagation/explain.h"

#include <gmock/gmock.h>

#include "propagation/propagate.h"
#include "unit/propagation/golden.h"

namespace tessera::propagation::engine {
namespace {

using testing::GoldenCase;

// Ops are called by their number in the case.
std::string Explained(const std::string& name, const std::string& value,
                      EngineOptions options = {}) {
  std::string path = std::string(TESSERA_SOURCE_DIR) + "/tests/propagation/explain.txt";
  for (GoldenCase& c : testing::ReadCases(path)) {
    if (c.name != name) continue;
    options.record = true;
    EngineResult result = Propagate(c.graph, options);
    Naming names;
    names.value = [&](ValueId v) {
      for (const auto& [text, id] : c.values)
        if (id == v) return text;
      return std::string("?");
    };
    names.op = [](OpId i) { return "op " + std::to_string(Number(i)); };
    names.where = [](OpId) { return std::string(); };
    names.rounds = {"early, used once", "early", "dims of operands and results"};
    return "\n" + Explainer(result, names).Explain(c.values.at(value));
  }
  return "no such case";
}

constexpr const char* kTravels = "an axis travels forward, sideways and backward";

TEST(Explain, FollowsAnAxisBackToItsConstraint) {
  EXPECT_EQ(Explained(kTravels, "t"), R"(
t: <@mesh, [{"a", ?}, {?}]>
  dim 0 has "a", given by op 0
    sideways through op 1 to dim 0 of y (round 2: early)
    forward through op 2 to dim 0 of t (round 2: early)
)");
  EXPECT_EQ(Explained(kTravels, "x"), R"(
x: <@mesh, [{"a", ?}, {?}]>
  dim 0 has "a", given by op 0
    backward through op 0 to dim 0 of x (round 1: early, used once)
)");
}

TEST(Explain, NamesTheBasicStrategy) {
  EngineOptions basic;
  basic.stop_after = Stage::kBasic;
  EXPECT_THAT(Explained(kTravels, "t", basic),
              ::testing::HasSubstr("forward through op 2 to dim 0 of t (basic)"));
}

TEST(Explain, TellsOfAxesThatLostOnTheWay) {
  EXPECT_EQ(Explained("the larger source wins a dim of the product", "z"), R"(
z: <@mesh, [{?}, {"a", ?}]>
  dim 1 has "a", given by op 1
    forward through op 2 to dim 1 of y (round 3: dims of operands and results)
    forward through op 3 to dim 1 of z (round 3: dims of operands and results)
  dim 0 of y did not get "a" from c through op 2
    c has it, given by op 0
    "a" already shards dim 1, given by op 1
    to let "a" in: write .priority(1) for dim 1 in op 1
)");
}

TEST(Explain, OffersPrioritiesThatWork) {
  EXPECT_EQ(Explained("a priority that comes too late", "z"), R"(
z: <@mesh, [{"a", ?}, {?}]>
  dim 0 has "a", given by op 0
    forward through op 2 to dim 0 of z (round 1: early, used once)
  dim 1 of z did not get "a" from d through op 2
    d has it, given by op 1, priority 2
    "a" already shards dim 0, given by op 0
    to let "a" in: write .priority(3) for dim 0 in op 0
)");
  EXPECT_EQ(Explained("two dims in the way", "z"), R"(
z: <@mesh, [{"a", ?}, {"b", ?}]>
  dim 0 has "a", given by op 0
    forward through op 2 to dim 0 of z (round 1: early, used once)
  dim 1 has "b", given by op 0
    forward through op 2 to dim 1 of z (round 1: early, used once)
  dim 1 of z did not get "a" from d through op 2
    d has it, given by op 1, priority 1
    "a" already shards dim 0, given by op 0
    "b" already shards this dim, given by op 0
    to let "a" in: write .priority(2) for dim 0 in op 0 and .priority(2) for dim 1 in op 0
)");
}

TEST(Explain, ArgumentsHaveNoPriorityToChange) {
  EXPECT_EQ(Explained("arguments stay where they are", "z"), R"(
z: <@mesh, [{"a", ?}, {?}]>
  dim 0 has "a", given by the declared sharding of x
    forward through op 0 to dim 0 of z (round 1: early, used once)
  dim 1 of z did not get "a" from y through op 0
    y has it, given by the declared sharding of y
    "a" already shards dim 0, given by the declared sharding of x
    no other priorities would let it in
)");
}

// Explaining all values of a long program costs no more than writing its text.
TEST(Explain, ALongWayIsCutShort) {
  EXPECT_EQ(Explained("a long way", "x12"), R"(
x12: <@mesh, [{"a", ?}]>
  dim 0 has "a", given by the declared sharding of x0
    forward through op 0 to dim 0 of x1 (round 1: early, used once)
    forward through op 1 to dim 0 of x2 (round 1: early, used once)
    forward through op 2 to dim 0 of x3 (round 1: early, used once)
    forward through op 3 to dim 0 of x4 (round 1: early, used once)
    ... 4 more ops
    forward through op 8 to dim 0 of x9 (round 1: early, used once)
    forward through op 9 to dim 0 of x10 (round 1: early, used once)
    forward through op 10 to dim 0 of x11 (round 1: early, used once)
    forward through op 11 to dim 0 of x12 (round 1: early, used once)
)");
}

// If both constraints are open, the first one's axis gets the dim.
TEST(Explain, OffersToOpenADimOnlyToWhomThatHelps) {
  EXPECT_EQ(Explained("a closed dim that two want", "c"), R"(
c: <@mesh, [{}, {?}]>
  dim 0 of c did not get "a" from x through op 0
    x has it, given by the declared sharding of x
    the dim is closed by op 0
    to let "a" in: write Open(...) for dim 0 in op 0
  dim 0 of c did not get "b" from u through op 1
    u has it, given by the declared sharding of u
    the dim is closed by op 0
)");
}

// z has no sharding at all.
TEST(Explain, SaysWhatAValueWithoutAShardingLacks) {
  EngineOptions basic;
  basic.stop_after = Stage::kBasic;
  EXPECT_EQ(Explained("one that is closed holds all back", "z", basic), R"(
z: not sharded: whole on every device
  dim 0 of z did not get "a" from x through op 0
    x has it, given by the declared sharding of x
    the neighbours of this dim disagree: a constraint on it would decide
)");
}

TEST(Explain, WarnsOfAClosedConstraintOnOneOfSeveralUses) {
  EXPECT_EQ(Explained("one use is closed", "y"), R"(
y: <@mesh, [{}, {}]>
  op 1 is one of 3 uses; because it is closed it fixes the value's own sharding; with Open(...) it would only be a preference
  dim 0 of y did not get "a" from x through op 0
    x has it, given by the declared sharding of x
    the dim is closed by op 1
    to let "a" in: write Open(...) for dim 0 in op 1
)");
}

TEST(Explain, ClosedDimsAndReplicatedAxesSayHowToOpenThem) {
  EXPECT_EQ(Explained("a closed dim and a replicated axis", "c"), R"(
c: <@mesh, [{}, {?}], replicated={"b"}>
  dim 0 of c did not get "a" from y through op 1
    y has it, given by the declared sharding of x
    the dim is closed by op 1
    to let "a" in: write Open(...) for dim 0 in op 1
  dim 1 of c did not get "b" from y through op 1
    y has it, given by the declared sharding of x
    c must stay replicated over "b": leave it out of replicated(...)
)");
}

}  // namespace
}  // namespace tessera::propagation::engine
