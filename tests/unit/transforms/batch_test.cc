// vmap of loops and branches.
#include "transforms/batch.h"

#include <gtest/gtest.h>

#include "unit/transforms/text.h"

namespace tessera::transforms {
namespace {

std::string Mapped(const char* text, const std::vector<bool>& inputs) {
  const ir::Program program = Parsed(text);
  const ir::MappedDim dim{.size = 2};
  return TextOf(MakeBatch(program, inputs, std::vector<bool>(program.outputs.size()), dim).program);
}

// The iterations stay the first dim of xs and ys, so the mapped dim comes after it.
TEST(Batch, StepsOverTheFirstDimOfAScan) {
  EXPECT_EQ(Mapped(R"(func @main(%0: f32[], %1: f32[3]) -> (f32[], f32[3]) {
  %2: f32[], %3: f32[3] = scan %0, %1 {constants=0, carries=1, length=3, reverse=false}
    region(%4: f32[], %5: f32[]) -> (f32[], f32[]) {
      %6: f32[] = mul %4, %5
      return %6, %4
    }
  return %2, %3
}
)",
                   {false, true}),
            R"(func @main(%0: f32[], %1: f32[2,3]) -> (f32[2], f32[2,3]) {
  %2: f32[2] = broadcast_in_dim %0 {dims=[]}
  %3: f32[3,2] = transpose %1 {perm=[1, 0]}
  %4: f32[2], %5: f32[3,2] = scan %2, %3 {constants=0, carries=1, length=3, reverse=false}
    region(%6: f32[2], %7: f32[2]) -> (f32[2], f32[2]) {
      %8: f32[2] = mul %6, %7
      return %8, %6
    }
  %9: f32[2,3] = transpose %5 {perm=[1, 0]}
  return %4, %9
}
)");
}

// The second operand of each branch is the same for all lanes, and so is the index.
TEST(Batch, MapsBranchesThatAllLanesTake) {
  EXPECT_EQ(Mapped(R"(func @main(%0: bool[], %1: f32[], %2: f32[]) -> (f32[], f32[]) {
  %3: f32[], %4: f32[] = cond %0, %1, %2
    region(%5: f32[], %6: f32[]) -> (f32[], f32[]) {
      %7: f32[] = sin %5
      return %7, %6
    }
    region(%8: f32[], %9: f32[]) -> (f32[], f32[]) {
      %10: f32[] = cos %9
      return %10, %9
    }
  return %3, %4
}
)",
                   {false, true, false}),
            R"(func @main(%0: bool[], %1: f32[2], %2: f32[]) -> (f32[2], f32[]) {
  %3: f32[2], %4: f32[] = cond %0, %1, %2
    region(%5: f32[2], %6: f32[]) -> (f32[2], f32[]) {
      %7: f32[2] = sin %5
      return %7, %6
    }
    region(%8: f32[2], %9: f32[]) -> (f32[2], f32[]) {
      %10: f32[] = cos %9
      %11: f32[2] = broadcast_in_dim %10 {dims=[]}
      return %11, %9
    }
  return %3, %4
}
)");
}

// All lanes share a value that is reduced over "x", and each lane chooses for itself. The lanes are
// sharded over "x", so the chosen values are not reduced over it.
TEST(Batch, GivesEachLaneASharedReducedValue) {
  const ir::Program program = Parsed(R"(mesh @mesh = <["x"=2]> explicit={"x"}
func @main(%0: bool[], %1: f32[4]{R:x}, %2: f32[4]{R:x}) -> f32[4]{R:x} {
  %3: f32[4]{R:x} = select_n %0, %1, %2
  %4: f32[4]{R:x} = sin %3
  return %4
}
)");
  const ir::MappedDim dim{
      .size = 4, .mesh = program.mesh, .axes = {sharding::WholeAxis(*program.mesh, 0)}};
  EXPECT_EQ(TextOf(MakeBatch(program, {true, false, false}, {false}, dim).program),
            R"(mesh @mesh = <["x"=2]> explicit={"x"}
func @main(%0: bool[4@x], %1: f32[4]{R:x}, %2: f32[4]{R:x}) -> f32[4@x,4] {
  %3: bool[4@x,4] = broadcast_in_dim %0 {dims=[0]}
  %4: f32[4@x,4] = broadcast_in_dim %1 {dims=[1]}
  %5: f32[4@x,4] = broadcast_in_dim %2 {dims=[1]}
  %6: f32[4@x,4] = select_n %3, %4, %5
  %7: f32[4@x,4] = sin %6
  return %7
}
)");
}

}  // namespace
}  // namespace tessera::transforms
