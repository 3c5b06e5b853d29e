// Programs in two parts, and the residuals between them.
#include "transforms/split.h"

#include <gtest/gtest.h>

#include "unit/transforms/text.h"

namespace tessera::transforms {
namespace {

std::string PartsOf(const char* text, const std::vector<bool>& unknown) {
  const ir::Program program = Parsed(text);
  const Split split = MakeSplit(program, unknown, std::vector<bool>(program.outputs.size()));
  return TextOf(split.known) + TextOf(split.unknown);
}

// %11 depends on the constant alone, so it is computed once; the slice %10 is a slice again; %12 is
// another value in each iteration, so it is stacked.
TEST(Split, HasThreeKindsOfResidualsOfAScan) {
  EXPECT_EQ(
      PartsOf(R"(func @main(%0: f32[4], %1: f32[4], %2: f32[3,4], %3: f32[4]) -> (f32[4], f32[4]) {
  %4: f32[4], %5: f32[4] = scan %0, %1, %3, %2 {constants=1, carries=2, length=3, reverse=false}
    region(%7: f32[4], %8: f32[4], %9: f32[4], %10: f32[4]) -> (f32[4], f32[4]) {
      %11: f32[4] = sin %7
      %12: f32[4] = mul %8, %10
      %13: f32[4] = mul %9, %11
      %14: f32[4] = mul %13, %10
      %15: f32[4] = mul %14, %12
      return %12, %15
    }
  return %4, %5
}
)",
              {false, false, false, true}),
      R"(func @main(%0: f32[4], %1: f32[4], %2: f32[3,4]) -> (f32[4], f32[4], f32[3,4], f32[3,4]) {
  %3: f32[4] = sin %0
  %4: f32[4], %5: f32[3,4] = scan %1, %2 {constants=0, carries=1, length=3, reverse=false}
    region(%6: f32[4], %7: f32[4]) -> (f32[4], f32[4]) {
      %8: f32[4] = mul %6, %7
      return %8, %8
    }
  return %4, %3, %2, %5
}
func @main(%0: f32[4], %1: f32[3,4], %2: f32[3,4], %3: f32[4]) -> f32[4] {
  %4: f32[4] = scan %0, %3, %1, %2 {constants=1, carries=1, length=3, reverse=false}
    region(%5: f32[4], %6: f32[4], %7: f32[4], %8: f32[4]) -> f32[4] {
      %9: f32[4] = mul %6, %5
      %10: f32[4] = mul %9, %7
      %11: f32[4] = mul %10, %8
      return %11
    }
  return %4
}
)");
}

// Residuals of one type in both branches share a result; an operand is an operand again.
TEST(Split, SharesResultsOfBranches) {
  EXPECT_EQ(PartsOf(R"(func @main(%0: bool[], %1: f32[4], %2: f32[4]) -> f32[4] {
  %3: f32[4] = cond %0, %1, %2
    region(%4: f32[4], %5: f32[4]) -> f32[4] {
      %6: f32[4] = cos %4
      %7: f32[4] = mul %5, %6
      return %7
    }
    region(%8: f32[4], %9: f32[4]) -> f32[4] {
      %10: f32[4] = exp %8
      %11: f32[4] = mul %9, %10
      %12: f32[4] = mul %11, %8
      return %12
    }
  return %3
}
)",
                    {false, false, true}),
            R"(func @main(%0: bool[], %1: f32[4]) -> (bool[], f32[4], f32[4]) {
  %2: f32[4] = cond %0, %1
    region(%3: f32[4]) -> f32[4] {
      %4: f32[4] = cos %3
      return %4
    }
    region(%5: f32[4]) -> f32[4] {
      %6: f32[4] = exp %5
      return %6
    }
  return %0, %2, %1
}
func @main(%0: bool[], %1: f32[4], %2: f32[4], %3: f32[4]) -> f32[4] {
  %4: f32[4] = cond %0, %1, %2, %3
    region(%5: f32[4], %6: f32[4], %7: f32[4]) -> f32[4] {
      %8: f32[4] = mul %7, %5
      return %8
    }
    region(%9: f32[4], %10: f32[4], %11: f32[4]) -> f32[4] {
      %12: f32[4] = mul %11, %9
      %13: f32[4] = mul %12, %10
      return %13
    }
  return %4
}
)");
}

// A constant is computed again, as are zeros; a value computed from an input is a residual.
TEST(Split, RecomputesConstants) {
  EXPECT_EQ(PartsOf(R"(func @main(%0: f32[4], %1: f32[4]) -> f32[4] {
  %2: f32[] = constant {value=f32 2}
  %3: f32[4] = broadcast_in_dim %2 {dims=[]}
  %4: f32[4] = exp %0
  %5: f32[4] = mul %1, %3
  %6: f32[4] = mul %5, %4
  return %6
}
)",
                    {false, true}),
            R"(func @main(%0: f32[4]) -> f32[4] {
  %1: f32[4] = exp %0
  return %1
}
func @main(%0: f32[4], %1: f32[4]) -> f32[4] {
  %2: f32[] = constant {value=f32 2}
  %3: f32[4] = broadcast_in_dim %2 {dims=[]}
  %4: f32[4] = mul %1, %3
  %5: f32[4] = mul %4, %0
  return %5
}
)");
}

}  // namespace
}  // namespace tessera::transforms
