// Loops and branches lose values that nobody reads.
#include "ir/prune.h"

#include <gtest/gtest.h>

#include "ir/program_text.h"
#include "ir/uses.h"
#include "ir/verify.h"
#include "ops/ops.h"

namespace tessera::ir {
namespace {

std::string Pruned(const char* text) {
  Program program = ParseProgram(text, Loc::Current());
  RemoveDead(program);
  Verify(program);
  std::string out;
  std::istringstream lines(Text(program));
  for (std::string line; std::getline(lines, line);)
    out += line.substr(0, line.find_last_not_of(' ', line.find("//") - 1) + 1) + "\n";
  return out;
}

// The second carry needs the first, but not the reverse; ys and xs go with the second.
TEST(PruneRegions, KeepsOfALoopWhatItsReadCarriesNeed) {
  EXPECT_EQ(Pruned(R"(func @main(%0: f32[4], %1: f32[4], %2: f32[3,4], %3: f32[4]) -> f32[4] {
  %4: f32[4], %5: f32[4], %6: f32[3,4] = scan %3, %0, %1, %2 {constants=1, carries=2, length=3, reverse=false}
    region(%7: f32[4], %8: f32[4], %9: f32[4], %10: f32[4]) -> (f32[4], f32[4], f32[4]) {
      %11: f32[4] = sin %8
      %12: f32[4] = mul %9, %11
      %13: f32[4] = add %12, %10
      %14: f32[4] = mul %13, %7
      return %11, %14, %13
    }
  return %4
}
)"),
            R"(func @main(%0: f32[4], %1: f32[4], %2: f32[3,4], %3: f32[4]) -> f32[4] {
  %4: f32[4] = scan %0 {constants=0, carries=1, length=3, reverse=false}
    region(%5: f32[4]) -> f32[4] {
      %6: f32[4] = sin %5
      return %6
    }
  return %4
}
)");
}

// The condition reads a carry, which reads a constant. A carry that only reads itself goes.
TEST(PruneRegions, KeepsWhatTheConditionReads) {
  EXPECT_EQ(Pruned(R"(func @main(%0: i32[], %1: f32[], %2: f32[]) -> f32[] {
  %3: i32[], %4: f32[], %5: f32[] = while_loop %0, %0, %1, %2 {constants=1, counted=false}
    region(%6: i32[], %7: i32[], %8: f32[], %9: f32[]) -> bool[] {
      %10: bool[] = lt %7, %6
      return %10
    }
    region(%11: i32[], %12: i32[], %13: f32[], %14: f32[]) -> (i32[], f32[], f32[]) {
      %15: i32[] = add %12, %12
      %16: f32[] = sin %13
      %17: f32[] = cos %14
      return %15, %16, %17
    }
  return %4
}
)"),
            R"(func @main(%0: i32[], %1: f32[], %2: f32[]) -> f32[] {
  %3: i32[], %4: f32[] = while_loop %0, %0, %1 {constants=1, counted=false}
    region(%5: i32[], %6: i32[], %7: f32[]) -> bool[] {
      %8: bool[] = lt %6, %5
      return %8
    }
    region(%9: i32[], %10: i32[], %11: f32[]) -> (i32[], f32[]) {
      %12: i32[] = add %10, %10
      %13: f32[] = sin %11
      return %12, %13
    }
  return %4
}
)");
}

// A value that a branch no longer returns keeps nothing alive in the enclosing loop.
TEST(PruneRegions, GoesThroughNestedRegions) {
  EXPECT_EQ(Pruned(R"(func @main(%0: bool[], %1: f32[], %2: f32[]) -> f32[] {
  %3: f32[], %4: f32[] = scan %0, %1, %2 {constants=1, carries=2, length=3, reverse=false}
    region(%5: bool[], %6: f32[], %7: f32[]) -> (f32[], f32[]) {
      %8: f32[], %9: f32[] = cond %5, %6, %7
        region(%10: f32[], %11: f32[]) -> (f32[], f32[]) {
          %12: f32[] = sin %11
          return %10, %12
        }
        region(%13: f32[], %14: f32[]) -> (f32[], f32[]) {
          %15: f32[] = cos %13
          return %15, %14
        }
      return %8, %9
    }
  return %3
}
)"),
            R"(func @main(%0: bool[], %1: f32[], %2: f32[]) -> f32[] {
  %3: f32[] = scan %0, %1 {constants=1, carries=1, length=3, reverse=false}
    region(%4: bool[], %5: f32[]) -> f32[] {
      %6: f32[] = cond %4, %5
        region(%7: f32[]) -> f32[] {
          return %7
        }
        region(%8: f32[]) -> f32[] {
          %9: f32[] = cos %8
          return %9
        }
      return %6
    }
  return %3
}
)");
}

}  // namespace
}  // namespace tessera::ir
