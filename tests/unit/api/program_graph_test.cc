// What propagation is told of programs.
#include "api/program_graph.h"

#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "propagation/graph.h"

namespace tessera::api {
namespace {

propagation::engine::Graph OnlyGraph(const Program& program) {
  return GraphOf(*program.program()).graph;
}

TEST(ProgramGraph, ABitcastOfOneShapeIsElementwise) {
  Program p =
      jit([](Array x) { return bitcast_convert_type(x, i32); }).trace(abstract_array("f32[8]"));
  EXPECT_TRUE(OnlyGraph(p).ops[0].elementwise);
}

TEST(ProgramGraph, ABitcastToWiderElementsIsNot) {
  Program p =
      jit([](Array x) { return bitcast_convert_type(x, i64); }).trace(abstract_array("f32[8,2]"));
  EXPECT_FALSE(OnlyGraph(p).ops[0].elementwise);
}

// A barrier keeps its operand from being made anew, so its result is nobody's constant.
TEST(ProgramGraph, ABarrierIsNoPartOfAConstant) {
  Program p = jit([](Array x) {
                return x + optimization_barrier(zeros({8}));
              }).trace(abstract_array("f32[8]"));
  for (const propagation::engine::Op& op : OnlyGraph(p).ops)
    EXPECT_TRUE(!op.foldable || op.elementwise || op.expands);
}

}  // namespace
}  // namespace tessera::api
