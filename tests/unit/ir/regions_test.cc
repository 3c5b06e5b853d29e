// Data-flow edges of the ops with regions.
#include "ir/regions.h"

#include <gmock/gmock.h>

#include "ir/control_params.h"
#include "ops/ops.h"

namespace tessera::ir {
namespace {

RegionPtr RegionOf(std::vector<const Type*> inputs, std::vector<const Type*> outputs) {
  auto region = std::make_shared<Program>();
  for (const Type* t : inputs) region->inputs.push_back(region->AddValue(t, Loc::Unknown()));
  for (const Type* t : outputs) region->outputs.push_back(region->AddValue(t, Loc::Unknown()));
  return region;
}

struct Applied {
  const OpDef* op;
  ParamsPtr params;
  std::vector<const Type*> operands;
  std::vector<RegionPtr> regions;
  size_t results;
};

std::vector<Applied> Examples() {
  const Type *a = Type::Get({4}, f32), *b = Type::Get({2, 3}, i32), *rows = Type::Get({5, 4}, f32),
             *p = Type::Get({}, bool_), *i = Type::Get({}, i32);
  return {{&ops::kWhileLoop,
           MakeParams(WhileParams{1}),
           {b, a, i},
           {RegionOf({b, a, i}, {p}), RegionOf({b, a, i}, {a, i})},
           2},
          {&ops::kScan,
           MakeParams(ScanParams{1, 1, 5, false}),
           {b, i, rows},
           {RegionOf({b, i, a}, {i, a, b})},
           3},
          {&ops::kCond, nullptr, {p, a, b}, {RegionOf({a, b}, {b}), RegionOf({a, b}, {b})}, 1},
          {&ops::kSwitchCase,
           nullptr,
           {i, a},
           {RegionOf({a}, {a, i}), RegionOf({a}, {a, i}), RegionOf({a}, {a, i})},
           2}};
}

TEST(DataFlowEdges, ReachEveryRegionInputAndResultOnce) {
  for (const Applied& x : Examples()) {
    SCOPED_TRACE(std::string(x.op->name));
    auto edges =
        std::get<DataFlowEdges>(*x.op->dims).edges({x.params.get(), x.operands.size(), x.regions});
    std::vector<FlowEnd> targets;
    for (const FlowEdge& edge : edges) {
      EXPECT_FALSE(edge.sources.empty());
      targets.push_back(edge.owner);
      targets.insert(targets.end(), edge.targets.begin(), edge.targets.end());
    }
    size_t ends = x.results;
    for (const RegionPtr& region : x.regions) ends += region->inputs.size();
    EXPECT_EQ(targets.size(), ends);
    for (size_t i = 0; i < targets.size(); ++i)
      EXPECT_EQ(std::count(targets.begin(), targets.end(), targets[i]), 1) << i;
  }
}

TEST(DataFlowEdges, GiveTheResultTypes) {
  std::vector<std::vector<std::string>> wanted = {
      {"f32[4]", "i32[]"}, {"i32[]", "f32[5,4]", "i32[5,2,3]"}, {"i32[2,3]"}, {"f32[4]", "i32[]"}};
  std::vector<Applied> examples = Examples();
  for (size_t k = 0; k < examples.size(); ++k) {
    const Applied& x = examples[k];
    std::vector<std::string> came;
    for (const Type* t :
         InferRegionTypes({*x.op, x.params.get(), x.operands, x.regions, Loc::Unknown()}))
      came.push_back(t->text());
    EXPECT_EQ(came, wanted[k]) << x.op->name;
  }
}

TEST(DataFlowEdges, FindTheEndsThatDiffer) {
  const Type *a = Type::Get({4}, f32), *b = Type::Get({4}, f64), *p = Type::Get({}, bool_);
  std::vector<RegionPtr> regions = {RegionOf({a}, {p}), RegionOf({a}, {b})};
  std::vector<const Type*> operands = {a};
  ParamsPtr params = MakeParams(WhileParams{0});
  auto found = FindMismatch({ops::kWhileLoop, params.get(), operands, regions, Loc::Unknown()});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->from, (FlowEnd{FlowEnd::kOperand, 0, 0}));
  EXPECT_EQ(found->to, (FlowEnd{FlowEnd::kRegionOutput, 1, 0}));
  EXPECT_EQ(found->to_type, b);
}

}  // namespace
}  // namespace tessera::ir
