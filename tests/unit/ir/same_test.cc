// Equality of programs, by which compiled programs are cached.
#include "ir/same.h"

#include <gtest/gtest.h>

#include "ir/program_text.h"
#include "ops/ops.h"

namespace tessera::ir {
namespace {

Program Loop(const char* body, const char* line = "a.cc:3") {
  return ParseProgram(std::string(R"(func @main(%0: f32[4]) -> f32[4] {
  %1: f32[4] = scan %0 {constants=0, carries=1, length=3, reverse=false}  // a.cc:1
    region(%2: f32[4]) -> f32[4] {
      %3: f32[4] = )") + body +
                          " // " + line + R"(
      return %3
    }
  return %1
}
)",
                      Loc::Current());
}

TEST(SameProgram, LooksIntoRegionsAndNotAtLines) {
  ops::Install();
  const Program sin = Loop("sin %2"), again = Loop("sin %2"), later = Loop("sin %2", "a.cc:9"),
                cos = Loop("cos %2");
  EXPECT_TRUE(SameProgram(sin, again) && SameLines(sin, again));
  EXPECT_TRUE(SameProgram(sin, later));
  EXPECT_FALSE(SameLines(sin, later));
  EXPECT_FALSE(SameProgram(sin, cos));
  EXPECT_EQ(HashOf(sin), HashOf(later));
  EXPECT_NE(HashOf(sin), HashOf(cos));
}

}  // namespace
}  // namespace tessera::ir
