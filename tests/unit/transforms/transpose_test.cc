// Cotangents through loops and branches.
#include "transforms/transpose.h"

#include <gtest/gtest.h>

#include "ir/simplify.h"
#include "unit/transforms/text.h"

namespace tessera::transforms {
namespace {

std::string Transposed(const char* text, size_t residuals) {
  ir::Program program = MakeTranspose(Parsed(text), residuals);
  ir::Simplify(program);
  return TextOf(program);
}

// The cotangent of the constant %2 is a sum that is carried; the known xs %0 stay xs; the cotangent
// of the y is one more of the xs.
TEST(Transpose, RunsAScanBackward) {
  EXPECT_EQ(Transposed(R"(func @main(%0: f32[3], %1: f32[], %2: f32[]) -> (f32[], f32[3]) {
  %3: f32[], %4: f32[3] = scan %2, %1, %0 {constants=1, carries=1, length=3, reverse=false}
    region(%5: f32[], %6: f32[], %7: f32[]) -> (f32[], f32[]) {
      %8: f32[] = mul %6, %7
      %9: f32[] = add %8, %5
      return %9, %8
    }
  return %3, %4
}
)",
                       1),
            R"(func @main(%0: f32[3], %1: f32[], %2: f32[3]) -> (f32[], f32[]) {
  %3: f32[] = constant {value=f32 0}
  %4: f32[], %5: f32[] = scan %3, %1, %0, %2 {constants=0, carries=2, length=3, reverse=true}
    region(%6: f32[], %7: f32[], %8: f32[], %9: f32[]) -> (f32[], f32[]) {
      %10: f32[] = add %9, %7
      %11: f32[] = mul %10, %8
      %12: f32[] = add %6, %7
      return %12, %11
    }
  return %5, %4
}
)");
}

}  // namespace
}  // namespace tessera::transforms
