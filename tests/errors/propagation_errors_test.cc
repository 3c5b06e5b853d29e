// Graphs of other compilers that are wrong: one clear error each, at the op's own line.
#include <gmock/gmock.h>
#include <tessera/propagation.h>

#include <functional>

#include "golden.h"

namespace tessera::propagation {
namespace {

constexpr const char* kWhere = "model.f90:12";

struct Case {
  const char* name;
  std::function<void(Graph&)> fill;
};

ValueId Of(Graph& g, std::vector<int64_t> shape, std::string sharding = {}) {
  return g.value({.shape = std::move(shape), .sharding = std::move(sharding), .where = kWhere});
}

void Op(Graph& g, std::string rule, std::vector<ValueId> operands, std::vector<ValueId> results) {
  g.op({.name = "dot",
        .rule = std::move(rule),
        .operands = std::move(operands),
        .results = std::move(results),
        .where = kWhere});
}

// An op with a region over x, and an edge into it.
void Enter(Graph& g, std::vector<int64_t> outside, std::vector<int64_t> inside, std::string outer) {
  OpId map = g.op({.name = "map", .operands = {Of(g, std::move(outside))}, .where = kWhere});
  ValueId part = g.value({.shape = std::move(inside), .region = g.region(map, {"x"})});
  g.edge({.sources = {{map, 0}}, .owner = part, .outer = std::move(outer), .where = kWhere});
}

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"text", [](Graph& g) { Of(g, {8}, "<@mesh, [{\"x\""); }},
      {"unknown_axis", [](Graph& g) { Of(g, {8}, "<@mesh, [{\"z\"}]>"); }},
      {"axis_twice",
       [](Graph& g) {
         Of(g, {8, 8}, "<@mesh, [{\"x\"}, {\"x\"}]>");
       }},
      {"sub_axes_overlap",
       [](Graph& g) {
         Of(g, {8, 8}, R"(<@mesh, [{"y":(1)2}, {"y":(1)2}]>)");
       }},
      {"sub_axis_size", [](Graph& g) { Of(g, {8}, R"(<@mesh, [{"y":(1)3}]>)"); }},
      {"sharding_rank", [](Graph& g) { Of(g, {8}, "<@mesh, [{}, {}]>"); }},
      {"negative_size", [](Graph& g) { Of(g, {-8}); }},
      {"rule_text",
       [](Graph& g) {
         Op(g, "([i, j)->([i])", {Of(g, {8, 8})}, {Of(g, {8})});
       }},
      {"rule_sizes",
       [](Graph& g) {
         Op(g, "([ij])->([i, j]) {i=2, j=3}", {Of(g, {8})}, {Of(g, {2, 3})});
       }},
      {"rule_rank",
       [](Graph& g) {
         Op(g, "([i])->([i]) {i=8}", {Of(g, {8, 2})}, {Of(g, {8})});
       }},
      {"einsum_text",
       [](Graph& g) {
         Op(g, "b h - b", {Of(g, {8, 8})}, {Of(g, {8})});
       }},
      {"einsum_sizes", [](Graph& g) { Op(g, "b -> b", {Of(g, {8})}, {Of(g, {4})}); }},
      {"dangling_value", [](Graph& g) { Op(g, "b -> b", {ValueId{17}}, {Of(g, {4})}); }},
      {"dangling_use",
       [](Graph& g) {
         g.edge({.sources = {{OpId{3}, 0}}, .owner = Of(g, {4})});
       }},
      {"edge_without_source", [](Graph& g) { g.edge({.owner = Of(g, {4})}); }},
      {"made_twice",
       [](Graph& g) {
         ValueId a = Of(g, {8}), b = Of(g, {8});
         Op(g, "b -> b", {a}, {b});
         Op(g, "b -> b", {a}, {b});
       }},
      {"group_shapes",
       [](Graph& g) {
         g.group({Of(g, {8}), Of(g, {8, 8})});
       }},
      {"constraint_of_nothing",
       [](Graph& g) {
         g.op({.name = "pin",
               .operands = {Of(g, {8})},
               .results = {Of(g, {8})},
               .constraint = true,
               .where = kWhere});
       }},
      {"constraint_of_two",
       [](Graph& g) {
         g.op({.name = "pin",
               .operands = {Of(g, {8}), Of(g, {8})},
               .results = {Of(g, {8})},
               .constraint = true,
               .where = kWhere});
       }},
      {"constraint_and_barrier",
       [](Graph& g) {
         g.op({.name = "pin", .constraint = true, .barrier = true, .where = kWhere});
       }},
      {"priority", [](Graph& g) { g.op({.name = "dot", .priority = 1000, .where = kWhere}); }},
      {"elementwise_shapes",
       [](Graph& g) {
         g.op({.name = "add",
               .operands = {Of(g, {8}), Of(g, {4})},
               .results = {Of(g, {8})},
               .elementwise = true,
               .where = kWhere});
       }},
      {"returns_count",
       [](Graph& g) {
         g.returns({Of(g, {8})}, {"", ""});
       }},
      {"result_unknown", [](Graph& g) { propagate(g).sharding(ValueId{5}); }},
      {"returned_unknown", [](Graph& g) { propagate(g).returned(0); }},
      {"not_recorded",
       [](Graph& g) {
         ValueId a = Of(g, {8});
         propagate(g, {.explain = false}).explain(a);
       }},
      {"region_of_no_op", [](Graph& g) { g.region(OpId{3}); }},
      {"region_unknown",
       [](Graph& g) { g.value({.shape = {8}, .where = kWhere, .region = RegionId{2}}); }},
      {"region_unknown_axis",
       [](Graph& g) { g.region(g.op({.name = "map", .where = kWhere}), {"z"}); }},
      {"region_manual_already",
       [](Graph& g) {
         RegionId outer = g.region(g.op({.name = "map"}), {"x"});
         g.region(g.op({.name = "map", .region = outer}), {"x"});
       }},
      {"region_mentions_manual",
       [](Graph& g) {
         RegionId in = g.region(g.op({.name = "map"}), {"x"});
         g.value({.shape = {8}, .sharding = "<@mesh, [{\"x\"}]>", .where = kWhere, .region = in});
       }},
      {"border_rank", [](Graph& g) { Enter(g, {8}, {4}, R"(<@mesh, [{"x"}, {}]>)"); }},
      {"border_sizes", [](Graph& g) { Enter(g, {8}, {8}, R"(<@mesh, [{"x"}]>)"); }},
      {"border_manual_behind", [](Graph& g) { Enter(g, {8}, {4}, R"(<@mesh, [{"y", "x"}]>)"); }},
      {"border_of_no_region",
       [](Graph& g) {
         OpId op = g.op({.name = "map", .operands = {Of(g, {8})}, .where = kWhere});
         g.edge({.sources = {{op, 0}},
                 .owner = Of(g, {8}),
                 .outer = R"(<@mesh, [{"x"}]>)",
                 .where = kWhere});
       }},
      {"no_mesh", [](Graph&) { Graph empty{Mesh()}; }},
  };
  return cases;
}

TEST(ForeignGraphs, EachFaultIsOneError) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    Graph graph(abstract_mesh({{"x", 2}, {"y", 8}}));
    try {
      c.fill(graph);
      propagate(graph);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& e) {
      ExpectGolden(std::string("propagation_") + c.name, e.what());
    }
  }
}

TEST(ForeignGraphs, ARefusedOpLeavesTheGraphUsable) {
  Graph graph(abstract_mesh({{"x", 2}}));
  ValueId a = Of(graph, {8}, "<@mesh, [{\"x\"}]>"), b = Of(graph, {8});
  EXPECT_THROW(Op(graph, "b c -> b", {a}, {b}), RuntimeError);
  EXPECT_THROW(graph.group({a, ValueId{9}}), ShardingError);
  Op(graph, "b -> b", {a}, {b});
  EXPECT_EQ(propagate(graph).sharding(b), R"(<@mesh, [{"x", ?}]>)");
}

}  // namespace
}  // namespace tessera::propagation
