// Another compiler's graph through the public header: both forms of rules, flags, edges, groups,
// priorities, returned values, copies of constants, explanations.
#include <gmock/gmock.h>

#include "tessera/propagation.h"

namespace tessera::propagation {
namespace {

using ::testing::HasSubstr;

Mesh TwoAxes() { return abstract_mesh({{"x", 2}, {"y", 4}}); }

TEST(Foreign, ProductGetsTheAxesOfItsOperands) {
  for (const char* rule :
       {"b h, h k -> b k", "([i, j], [j, k])->([i, k]) {i=8, j=16, k=32} reduction={j}"}) {
    Graph graph(TwoAxes());
    auto a = graph.value({.shape = {8, 16}, .sharding = R"(<@mesh, [{"x"}, {}]>)", .name = "a"});
    auto b = graph.value({.shape = {16, 32}, .sharding = R"(<@mesh, [{?}, {"y", ?}]>)"});
    auto c = graph.value({.shape = {8, 32}, .name = "c"});
    graph.op(
        {.name = "dot", .rule = rule, .operands = {a, b}, .results = {c}, .where = "model.f90:12"});
    Result result = propagate(graph, {.stop_after = Stage::kAggressive});
    EXPECT_EQ(result.sharding(c), R"(<@mesh, [{"x", ?}, {"y", ?}]>)");
    EXPECT_EQ(result.explain(c),
              "c: <@mesh, [{\"x\", ?}, {\"y\", ?}]>\n"
              "  dim 0 has \"x\", given by the declared sharding of a\n"
              "    forward through dot at model.f90:12 to dim 0 of c\n"
              "  dim 1 has \"y\", given by the declared sharding of value 1\n"
              "    forward through dot at model.f90:12 to dim 1 of c\n");
  }
}

TEST(Foreign, ValuesWithoutShardingAreOpen) {
  Graph graph(TwoAxes());
  auto a = graph.value({.shape = {8, 16}}), scalar = graph.value({.shape = {}});
  Result result = propagate(graph);
  EXPECT_EQ(result.sharding(a), "<@mesh, [{?}, {?}]>");
  EXPECT_EQ(result.sharding(scalar), "<@mesh, []>");
}

// Two operands with different axes meet in an op: the one that goes first wins.
struct Meeting {
  Graph graph{TwoAxes()};
  ValueId a = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"x"}]>)"});
  ValueId b = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"y"}]>)"});
  ValueId c = graph.value({.shape = {8}}), d = graph.value({.shape = {8}}),
          e = graph.value({.shape = {8}});
  explicit Meeting(int first = -1, int second = -1) {
    graph.op({.name = "f", .rule = "i -> i", .operands = {a}, .results = {c}, .priority = first});
    graph.op({.name = "g", .rule = "i -> i", .operands = {b}, .results = {d}, .priority = second});
    graph.op({.name = "h", .rule = "i, i -> i", .operands = {c, d}, .results = {e}, .priority = 0});
  }
};

TEST(Foreign, AnOpsPrioritySaysWhenItsTurnComes) {
  Meeting x_first(0, 7), y_first(7, 0);
  EXPECT_EQ(propagate(x_first.graph).sharding(x_first.e), R"(<@mesh, [{"x", ?}]>)");
  EXPECT_EQ(propagate(y_first.graph).sharding(y_first.e), R"(<@mesh, [{"y", ?}]>)");
}

TEST(Foreign, PredicatesSayWhichOpsGoFirst) {
  for (std::string first : {"f", "g"}) {
    Meeting meeting;
    auto is_first = [&](const OpFacts& op) {
      EXPECT_TRUE(op.shared && op.single_use && !op.elementwise && !op.expands) << op.name;
      return op.name == first ? Direction::kForward : Direction::kNone;
    };
    Result result = propagate(meeting.graph, {.op_priorities = {is_first}});
    EXPECT_EQ(result.sharding(first == "f" ? meeting.c : meeting.d),
              first == "f" ? R"(<@mesh, [{"x", ?}]>)" : R"(<@mesh, [{"y", ?}]>)");
    EXPECT_THAT(result.explain(first == "f" ? meeting.c : meeting.d),
                HasSubstr("(round 1: the caller's)"));
  }
}

TEST(Foreign, DimsHaveTheirTurnByPriority) {
  Graph graph(TwoAxes());
  auto a = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"x"}p1]>)"});
  auto b = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"y"}p0]>)"});
  auto c = graph.value({.shape = {8}});
  graph.op({.rule = "i, i -> i", .operands = {a, b}, .results = {c}});
  EXPECT_EQ(propagate(graph).sharding(c), R"(<@mesh, [{"y", ?}]>)");
  // Without priorities the two disagree.
  EXPECT_EQ(propagate(graph, {.stop_after = Stage::kOpPriority}).sharding(c), "<@mesh, [{?}]>");
}

TEST(Foreign, EveryUserOfAConstantHasItsCopy) {
  Graph graph(TwoAxes());
  auto zero = graph.value({.shape = {8}, .name = "zero"}), one = graph.value({.shape = {8}});
  auto a = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"x"}]>)"});
  auto b = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"y"}]>)"});
  auto c = graph.value({.shape = {8}}), d = graph.value({.shape = {8}});
  graph.op({.name = "constant", .results = {zero}, .constant = true});
  OpId next = graph.op({.name = "next",
                        .operands = {zero},
                        .results = {one},
                        .elementwise = true,
                        .foldable = true});
  OpId f = graph.op({.name = "f", .operands = {a, one}, .results = {c}, .elementwise = true});
  OpId g = graph.op({.name = "g", .operands = {b, one}, .results = {d}, .elementwise = true});
  Result result = propagate(graph);
  ASSERT_EQ(result.copies().size(), 4u);
  auto copy_for = [&](OpId op, int operand, int which) {
    for (const Copy& copy : result.copies())
      if (copy.use.op == op && copy.use.operand == operand && which-- == 0) return copy;
    ADD_FAILURE() << "there is no such copy";
    return result.copies()[0];
  };
  EXPECT_EQ(copy_for(f, 1, 0).original, one);
  EXPECT_EQ(result.sharding(copy_for(f, 1, 0).copy), R"(<@mesh, [{"x", ?}]>)");
  EXPECT_EQ(result.sharding(copy_for(g, 1, 0).copy), R"(<@mesh, [{"y", ?}]>)");
  // Each copy has its own copies of its operands.
  EXPECT_EQ(copy_for(next, 0, 1).made, copy_for(g, 1, 0).copy);
  EXPECT_EQ(result.sharding(copy_for(next, 0, 1).copy), R"(<@mesh, [{"y", ?}]>)");
  EXPECT_THAT(result.explain(copy_for(next, 0, 1).copy), HasSubstr("a copy of zero: "));
}

TEST(Foreign, LongChainsAndDiamondsOfConstantsAreCopiedOncePerUse) {
  Graph graph(TwoAxes());
  ValueId last = graph.value({.shape = {8}});
  graph.op({.results = {last}, .constant = true});
  for (int i = 0; i < 100000; ++i) {
    ValueId next = graph.value({.shape = {8}});
    graph.op({.operands = {last, last}, .results = {next}, .elementwise = true, .foldable = true});
    last = next;
  }
  auto sink = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"x"}]>)"});
  graph.op({.operands = {last}, .results = {sink}, .elementwise = true});
  EXPECT_EQ(propagate(graph, {.explain = false}).sharding(last), R"(<@mesh, [{"x", ?}]>)");
}

TEST(Foreign, EdgesCarryAcrossALoop) {
  Graph graph(TwoAxes());
  auto init = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"x"}]>)"});
  auto carry = graph.value({.shape = {8}}), next = graph.value({.shape = {8}});
  auto result = graph.value({.shape = {8}});
  OpId loop = graph.op({.name = "loop", .operands = {init}, .results = {result}});
  graph.op({.name = "body", .rule = "i -> i", .operands = {carry}, .results = {next}});
  OpId end = graph.op({.name = "end", .operands = {next}});
  graph.edge({.sources = {{loop, 0}, {end, 0}}, .targets = {carry, result}, .owner = carry});
  Result done = propagate(graph);
  for (ValueId v : {carry, next, result}) EXPECT_EQ(done.sharding(v), R"(<@mesh, [{"x", ?}]>)");
}

// Values have no types here, and an edge is no op.
TEST(Foreign, ExplanationsSpeakOfWhatAGraphHas) {
  Graph graph(TwoAxes());
  auto init = graph.value({.shape = {8}, .name = "init"});
  auto carry = graph.value({.shape = {8},
                            .sharding = R"(<@mesh, [{"x", ?}]>)",
                            .name = "carry",
                            .where = "model.f90:3"});
  auto next = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"y", ?}]>)", .name = "next"});
  auto result = graph.value({.shape = {8}, .name = "result"});
  OpId loop = graph.op({.name = "loop", .operands = {init}, .results = {result}});
  graph.op({.name = "body", .operands = {carry}, .results = {next}});
  OpId end = graph.op({.name = "end", .operands = {next}});
  graph.edge({.sources = {{loop, 0}, {end, 0}},
              .targets = {result},
              .owner = carry,
              .where = "model.f90:5"});
  Result done = propagate(graph);
  EXPECT_EQ(done.explain(result),
            "result: <@mesh, [{\"x\", ?}]>\n"
            "  dim 0 has \"x\", given by the declared sharding of carry at model.f90:3\n");
  EXPECT_EQ(done.explain(carry),
            "carry: <@mesh, [{\"x\", ?}]>\n"
            "  dim 0 has \"x\", given by the declared sharding of carry at model.f90:3\n"
            "  dim 0 of carry did not get \"y\" from next through the data-flow edge to "
            "carry at model.f90:5\n"
            "    next has it, given by the declared sharding of next\n"
            "    \"x\" already shards this dim, given by the declared sharding of carry at "
            "model.f90:3\n"
            "    no other priorities would let it in\n");
}

// A shard_map: inside, each device has its own part over x, and y propagates as usual.
TEST(Foreign, AxesCrossTheBorderOfAManualRegionBehindTheManualOnes) {
  Graph graph(TwoAxes());
  auto a = graph.value({.shape = {8, 16}}), r = graph.value({.shape = {8, 16}});
  OpId map = graph.op({.name = "shard_map", .operands = {a}, .results = {r}});
  RegionId body = graph.region(map, {"x"});
  auto part = graph.value({.shape = {4, 16}, .region = body});
  graph.edge({.sources = {{map, 0}}, .owner = part, .outer = R"(<@mesh, [{"x", ?}, {?}]>)"});
  auto out =
      graph.value({.shape = {4, 16}, .sharding = R"(<@mesh, [{"y", ?}, {?}]>)", .region = body});
  graph.op(
      {.name = "tanh", .operands = {part}, .results = {out}, .elementwise = true, .region = body});
  OpId end = graph.op({.name = "end", .operands = {out}, .region = body});
  graph.edge({.sources = {{end, 0}}, .owner = r, .outer = R"(<@mesh, [{"x", ?}, {?}]>)"});
  graph.returns({r});
  Result result = propagate(graph, {.border = Border::kKeep});
  EXPECT_EQ(result.sharding(part), R"(<@mesh, [{"y", ?}, {?}]>)");
  for (ValueId v : {a, r}) EXPECT_EQ(result.sharding(v), R"(<@mesh, [{"x", "y", ?}, {?}]>)");
}

// The constraint in the branch is on the loop's argument: it holds from the start of the body.
TEST(Foreign, ABranchInALoopUsesTheLoopsValues) {
  Graph graph(TwoAxes());
  auto init = graph.value({.shape = {8}}), last = graph.value({.shape = {8}});
  auto on = graph.value({.shape = {}});
  OpId loop = graph.op({.name = "loop", .operands = {init}, .results = {last}});
  RegionId body = graph.region(loop);
  auto carry = graph.value({.shape = {8}, .region = body});
  auto next = graph.value({.shape = {8}, .region = body});
  OpId choose = graph.op({.name = "if", .operands = {on}, .results = {next}, .region = body});
  RegionId branch = graph.region(choose);
  auto pinned = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"y"}]>)", .region = branch});
  graph.op({.name = "pin",
            .operands = {carry},
            .results = {pinned},
            .constraint = true,
            .region = branch});
  OpId chosen = graph.op({.name = "chosen", .operands = {pinned}, .region = branch});
  graph.edge({.sources = {{chosen, 0}}, .owner = next});
  OpId end = graph.op({.name = "end", .operands = {next}, .region = body});
  graph.edge({.sources = {{loop, 0}, {end, 0}}, .targets = {carry}, .owner = last});
  graph.returns({last});
  Result result = propagate(graph);
  for (ValueId v : {init, carry, next, last})
    EXPECT_EQ(result.sharding(v), R"(<@mesh, [{"y", ?}]>)");
}

TEST(Foreign, ConstraintsBarriersAndGroups) {
  Graph graph(TwoAxes());
  auto a = graph.value({.shape = {8}});
  auto pinned = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"x"}]>)"});
  auto behind = graph.value({.shape = {8}}), like = graph.value({.shape = {8}});
  graph.op({.name = "pin", .operands = {a}, .results = {pinned}, .constraint = true});
  graph.op({.name = "wall",
            .operands = {pinned},
            .results = {behind},
            .barrier = true,
            .crosses = Direction::kBackward});
  graph.group({a, like});
  Result result = propagate(graph);
  EXPECT_EQ(result.sharding(a), R"(<@mesh, [{"x"}]>)");
  EXPECT_EQ(result.sharding(behind), "<@mesh, [{?}]>");
  EXPECT_EQ(result.sharding(like), R"(<@mesh, [{"x"}]>)");
}

TEST(Foreign, GroupsThatDisagreeAreWarnedOf) {
  Graph graph(TwoAxes());
  auto a = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"x"}]>)"});
  auto b = graph.value({.shape = {8}, .sharding = R"(<@mesh, [{"y"}]>)"});
  graph.group({a, b});
  EXPECT_EQ(propagate(graph).warnings().size(), 1u);
}

TEST(Foreign, TheBorderIsCleanedUpAsAsked) {
  Graph graph(TwoAxes());
  auto a = graph.value({.shape = {6}, .sharding = R"(<@mesh, [{"y", ?}]>)"});
  auto b = graph.value({.shape = {6}});
  graph.op({.operands = {a}, .results = {b}, .elementwise = true});
  graph.returns({b});
  struct {
    Border border;
    const char* expected;
  } const cases[] = {{Border::kWholeAxes, "<@mesh, [{?}]>"},
                     {Border::kEven, R"(<@mesh, [{"y":(1)2, ?}]>)"},
                     {Border::kKeep, R"(<@mesh, [{"y", ?}]>)"}};
  for (const auto& c : cases) {
    Result result = propagate(graph, {.border = c.border});
    EXPECT_EQ(result.returned(0), c.expected);
    EXPECT_EQ(result.sharding(a), c.expected);
    EXPECT_EQ(result.sharding(b), R"(<@mesh, [{"y", ?}]>)");
  }
}

TEST(Foreign, ReturnsArePropagatedInto) {
  Graph graph(TwoAxes());
  auto a = graph.value({.shape = {8}}), b = graph.value({.shape = {8}});
  graph.op({.operands = {a}, .results = {b}, .elementwise = true});
  graph.returns({b}, {R"(<@mesh, [{"x"}]>)"});
  Result result = propagate(graph);
  EXPECT_EQ(result.sharding(a), R"(<@mesh, [{"x", ?}]>)");
  EXPECT_EQ(result.returned(0), R"(<@mesh, [{"x"}]>)");
}

}  // namespace
}  // namespace tessera::propagation
