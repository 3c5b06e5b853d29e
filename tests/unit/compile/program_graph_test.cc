// The graphs of programs, as propagation reads them.
#include "compile/auto/program_graph.h"

#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "compile/auto/propagate.h"
#include "ir/program_text.h"
#include "ir/verify.h"
#include "propagation/graph.h"
#include "propagation/propagate.h"
#include "sharding/text.h"

namespace tessera::compile {
namespace {

propagation::engine::FlatGraph OnlyGraph(const Program& program) {
  return GraphOf(*program.program()).graph;
}

TEST(ProgramGraph, ABitcastOfOneShapeIsElementwise) {
  Program p =
      jit([](Array x) { return bitcast_convert_type(x, i32); }).trace(abstract_array("f32[8]"));
  EXPECT_TRUE(OnlyGraph(p).ops[propagation::OpId{0}].elementwise);
}

TEST(ProgramGraph, ABitcastToWiderElementsIsNot) {
  Program p =
      jit([](Array x) { return bitcast_convert_type(x, i64); }).trace(abstract_array("f32[8,2]"));
  EXPECT_FALSE(OnlyGraph(p).ops[propagation::OpId{0}].elementwise);
}

// A barrier keeps its operand from being computed again, so its result is no constant.
TEST(ProgramGraph, ABarrierIsNoPartOfAConstant) {
  Program p = jit([](Array x) {
                return x + optimization_barrier(zeros({8}));
              }).trace(abstract_array("f32[8]"));
  for (const propagation::engine::Op& op : OnlyGraph(p).ops)
    EXPECT_TRUE(!op.foldable || op.elementwise || op.expands);
}

std::string Propagated(const Program& program) {
  return ir::Text(*PropagateProgram(*program.program()).program);
}

// As in Shardy: the result is the same value, and a constraint on one use does not bind it.
TEST(ProgramGraph, ABarrierIsAnEdge) {
  MeshScope scope(make_mesh({{"x", 1, Auto}}));
  Program p = jit([](Array x) {
                return with_sharding_constraint(optimization_barrier(x), P(None)) + 1;
              }).trace(zeros({8}));
  ProgramGraph built = GraphOf(*p.program());
  ASSERT_EQ(built.graph.edges.size(), 1u);
  EXPECT_EQ(built.graph.ops[propagation::OpId{1}].kind, propagation::engine::Op::kEdge);
  ir::Verify(*PropagateProgram(*p.program()).program);
}

// The first dim of f32[8,...] over "x", in the line of an op.
const std::string kSharded = R"(f32\[8[^\n]*\[\{"x"\}[^\n]*> = )";

// Propagated, y has the sharding of x, and the program has no op for the group.
TEST(ProgramGraph, ShardAlikeIsAGroup) {
  MeshScope scope(make_mesh({{"x", 1, Auto}}));
  Program p = jit([](Array x, Array y) {
                auto [a, b] = shard_alike(x, y * 2);
                return b + 1;
              }).trace(zeros({8, 4}), zeros({8, 4}));
  const propagation::engine::FlatGraph graph = OnlyGraph(p);
  ASSERT_EQ(graph.groups.size(), 2u);  // merged before propagation
  for (const auto& group : graph.groups) EXPECT_EQ(group.size(), 2u);
  const auto propagated = PropagateProgram(*p.program()).program;
  ir::Verify(*propagated);
  EXPECT_THAT(ir::Text(*propagated), testing::Not(testing::HasSubstr("sharded_like")));
}

TEST(ProgramGraph, AGroupGivesAnAxisToAllMembers) {
  MeshScope scope(abstract_mesh({{"x", 2, Auto}}));
  const auto text = [](bool alike) {
    return Propagated(jit([alike](Array x, Array y) {
                        Array b = y * 2;
                        if (alike) b = shard_alike(with_sharding_constraint(x, P("x")), b).second;
                        return sum(b, 0);
                      }).trace(abstract_array("f32[8,4]"), abstract_array("f32[8,4]")));
  };
  EXPECT_THAT(text(false), testing::Not(testing::ContainsRegex(kSharded + "mul")));
  EXPECT_THAT(text(true), testing::ContainsRegex(kSharded + "mul"));
}

TEST(ProgramGraph, APropagationBarrierIsCrossedInItsDirections) {
  MeshScope scope(abstract_mesh({{"x", 2, Auto}}));
  using propagation::Direction;
  const auto sharded = [](Direction crosses, bool at_operand) {
    const std::string text = Propagated(jit([=](Array x) {
                                          Array a = x * 2;
                                          if (at_operand) a = with_sharding_constraint(a, P("x"));
                                          Array b = propagation_barrier(a, crosses);
                                          if (!at_operand) b = with_sharding_constraint(b, P("x"));
                                          return at_operand ? b + 1 : b;
                                        }).trace(abstract_array("f32[8]")));
    return testing::Matches(testing::ContainsRegex(kSharded + (at_operand ? "add" : "mul")))(text);
  };
  EXPECT_TRUE(sharded(Direction::kForward, true));
  EXPECT_FALSE(sharded(Direction::kForward, false));
  EXPECT_FALSE(sharded(Direction::kBackward, true));
  EXPECT_TRUE(sharded(Direction::kBackward, false));
  EXPECT_FALSE(sharded(Direction::kNone, true));
  EXPECT_FALSE(sharded(Direction::kNone, false));
  EXPECT_TRUE(sharded(Direction::kBoth, true));
  EXPECT_TRUE(sharded(Direction::kBoth, false));
}

TEST(ProgramGraph, TheBranchForFalseComesFirst) {
  Program p = jit([](Array on, Array x) {
                return cond(
                    on, [](Array t) { return tanh(t); }, [](Array t) { return t * 2; }, x);
              }).trace(abstract_array("bool[]"), abstract_array("f32[8]"));
  ProgramGraph built = GraphOf(*p.program());
  for (const ProgramGraph::OpInfo& info : built.ops) {
    if (!info.instruction || info.instruction->op->name == "cond") continue;
    EXPECT_NE(info.instruction->op->name, "tanh");
    break;
  }
  std::string text = Propagated(p);
  EXPECT_LT(text.find("tanh"), text.find("mul")) << text;
}

// As in Shardy, where a branch has no arguments: with an edge between, a tie may go the other way.
TEST(ProgramGraph, ABranchUsesTheValuesOfTheOutside) {
  Program p = jit([](Array on, Array x) {
                return cond(
                    sum(on) > 0, [](Array t) { return tanh(t); }, [](Array t) { return t * 2; }, x);
              }).trace(abstract_array("f32[4]"), abstract_array("f32[8]"));
  ProgramGraph built = GraphOf(*p.program());
  ASSERT_EQ(built.regions.size(), 3u);
  using propagation::RegionId;
  const propagation::ValueId x = built.regions[RegionId::kOutermost].values[p.program()->inputs[1]];
  for (RegionId r : {RegionId{1}, RegionId{2}}) {
    const ProgramGraph::RegionInfo& region = built.regions[r];
    EXPECT_EQ(region.values[region.program->inputs[0]], x);
  }
}

TEST(ProgramGraph, AConstantThatBranchesUseIsMadeInThem) {
  MeshScope scope(abstract_mesh({{"x", 2, Auto}}));
  Program p =
      jit([](Array on, Array x, Array y) {
        Array one = ones({8});
        auto sum_of = [&](Array t) { return with_sharding_constraint(t + one, P("x")); };
        auto less = [&](Array t) { return t - one * 3; };
        return cond(sum(on) > 0, sum_of, less, x) + y;
      }).trace(abstract_array("f32[4]"), abstract_array("f32[8]"), abstract_array("f32[8]"));
  std::string text = Propagated(p);
  size_t branch = text.find(" = cond");
  ASSERT_NE(branch, std::string::npos) << text;
  EXPECT_EQ(text.substr(0, branch).find("broadcast_in_dim"), std::string::npos) << text;
  EXPECT_NE(text.find("broadcast_in_dim", branch), std::string::npos) << text;
  ir::Verify(*PropagateProgram(*p.program()).program);
}

// Shardy puts the constraint where the value begins, which is further out than its branch.
TEST(ProgramGraph, AConstraintInABranchActsOnTheLoopAround) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2, Auto}}));
  auto f = jit([](Array x) {
    auto body = [](Array i, Array c) {
      auto cut = [](Array t) { return with_sharding_constraint(t, P("x", None)) * 2; };
      auto same = [](Array t) { return t + 1; };
      return cond(i < 2, cut, same, c) + c;
    };
    return fori_loop(0, 3, body, x);
  });
  Array x = arange(8).astype(f32).reshape({4, 2});
  ir::Verify(*PropagateProgram(*f.trace(x).program()).program);
  std::vector<float> wanted;
  for (int i = 0; i < 8; ++i) wanted.push_back(static_cast<float>(i) * 18 + 1);
  EXPECT_THAT(f(x).to_vector<float>(), testing::ElementsAreArray(wanted));
}

// Returns the shardings that propagation gives the values of a program, arguments first. Arguments
// and result start with these dims ("": no sharding).
std::vector<std::string> Shardings(const Program& program,
                                   const std::vector<std::string>& arguments,
                                   const std::string& returned) {
  ProgramGraph built = GraphOf(*program.program());
  const sharding::MeshDef* mesh = current_mesh().def()->WithoutModes();
  auto parse = [&](const std::string& dims) {
    return sharding::ParseSharding("<@mesh, [" + dims + "]>", mesh, Loc::Unknown());
  };
  const auto& values = built.regions[propagation::RegionId::kOutermost].values;
  for (size_t k = 0; k < arguments.size(); ++k)
    if (!arguments[k].empty())
      built.graph.values[values[program.program()->inputs[k]]].sharding = parse(arguments[k]);
  if (!returned.empty()) built.graph.returns[0] = parse(returned);
  propagation::engine::EngineResult result = propagation::engine::Propagate(built.graph);
  std::vector<std::string> texts;
  for (propagation::ValueId v : values) {
    const sharding::TensorSharding* s = result.sharding(v);
    texts.push_back(s ? Text(*s) : "none");
  }
  return texts;
}

// Shardy's select(p, a, b) is select_n(p, b, a), and the first operand wins a tie.
TEST(ProgramGraph, TheCaseForTrueSettlesTiesOfSelect) {
  MeshScope scope(abstract_mesh({{"x", 2, Auto}}));
  Program p =
      jit([](Array which, Array a, Array b) {
        return select_n(which, {a, b});
      }).trace(abstract_array("bool[8,8]"), abstract_array("f32[8,8]"), abstract_array("f32[8,8]"));
  EXPECT_EQ(Shardings(p, {"", R"({}, {"x"})", R"({"x"}, {})"}, "")[0],
            R"(<@mesh, [{"x", ?}, {?}]>)");
  const auto placed = PropagateProgram(*p.program()).program;
  EXPECT_EQ(placed->instructions[0].operands, p.program()->instructions[0].operands);
}

// `rev` passes shardings through its dim a round later than these.
TEST(ProgramGraph, UpdatesInPartAndShiftsPassAsEarlyAsOtherDims) {
  MeshScope scope(abstract_mesh({{"x", 2, Auto}}));
  const std::string by_columns = R"({}, {"x"})", by_rows = R"({"x"}, {})";
  Program update =
      jit([](Array a, Array u, Array i) {
        return dynamic_update_slice(rev(a, {1}), u, {i, i});
      }).trace(abstract_array("f32[8,8]"), abstract_array("f32[2,8]"), abstract_array("i32[]"));
  EXPECT_EQ(Shardings(update, {by_columns}, by_rows)[3], R"(<@mesh, [{"x", ?}, {?}]>)");
  Program shift = jit([](Array a, Array z) {
                    return pad(rev(a, {1}), {{1, -1, 0}, {0, 0, 0}}, z);
                  }).trace(abstract_array("f32[8,8]"), abstract_array("f32[]"));
  EXPECT_EQ(Shardings(shift, {by_columns}, by_rows)[2], R"(<@mesh, [{"x", ?}, {?}]>)");
}

TEST(ProgramGraph, NothingPropagatesThroughAReshapeOfNothing) {
  MeshScope scope(abstract_mesh({{"x", 2, Auto}}));
  Program p = jit([](Array a) { return reshape(a, {4, 0, 1}); }).trace(abstract_array("f32[4,0]"));
  EXPECT_EQ(Shardings(p, {R"({"x"}, {})"}, "")[1], "none");
}

// A scalar made of constants that have dims: the scalar is not copied for its users, but they are.
TEST(ProgramGraph, ScalarsOfConstantsKeepTheirOperands) {
  MeshScope scope(abstract_mesh({{"x", 2, Auto}}));
  auto f = jit([](Array x) { return x + reshape(sin(iota({1}, 0, {.dtype = f32}) + 2), {}); });
  ir::Verify(*PropagateProgram(*f.trace(abstract_array("f32[8,8]")).program()).program);
}

}  // namespace
}  // namespace tessera::compile
