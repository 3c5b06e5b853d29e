// Counts of the ops of programs.
#include <gmock/gmock.h>
#include <tessera/counts.h>
#include <tessera/tessera.h>

#include <algorithm>

namespace tessera {
namespace {

OpCount CountOf(const std::vector<OpCount>& counts, const std::string& op) {
  const auto found = std::ranges::find(counts, op, &OpCount::op);
  return found == counts.end() ? OpCount{} : *found;
}

TEST(CountOps, HasBytesAndFlopsOfWholeArrays) {
  const std::vector<OpCount> counts =
      count_ops(Program::Parse(R"(mesh @mesh = <["x"=2]> explicit={"x"}
func @main(%0: f32[8@x,16], %1: f32[16,4]) -> f32[8@x,4] {
  %2: f32[8@x,4] = dot_general %0, %1 {contract=[1]x[0], batch=[]x[]}
  %3: f32[8@x,4] = neg %2
  %4: f32[8@x,4] = neg %3
  return %4
})"));
  EXPECT_EQ(counts[0].op, "neg");
  EXPECT_EQ(counts[0].count, 2);
  EXPECT_EQ(counts[0].results, 2);
  EXPECT_EQ(counts[0].result_bytes, 2 * 8 * 4 * 4);
  EXPECT_EQ(CountOf(counts, "dot_general").flops, 2 * 8 * 16 * 4);
  const auto narrow = jit([](const Array& x) { return x.astype(i4); });
  EXPECT_EQ(count_ops(narrow.trace(zeros({3}, i32)))[0].result_bytes, 2);  // 12 bits
}

TEST(CountOps, RunsOfLoopsMultiply) {
  const auto f = jit([](const Array& x) {
    return scan([](Array c, Array) { return std::pair(c * 2.0f, c); }, x, arange(5.0f)).first;
  });
  const std::vector<OpCount> counts = count_ops(f.trace(zeros({4}, f32)));
  EXPECT_EQ(CountOf(counts, "mul").count, 1);
  EXPECT_EQ(CountOf(counts, "mul").result_bytes, 5 * 4 * 4);
  EXPECT_EQ(CountOf(counts, "mul").flops, 5 * 4);
}

}  // namespace
}  // namespace tessera
