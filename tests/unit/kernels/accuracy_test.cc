// Elementwise functions of floats at every position in a row. The suite tests their
// accuracy (tests/suite/accuracy_test.cc).
#include <cmath>

#include "elementwise_rows.h"
#include "kernels/fused/fused.h"
#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using enum plan::ScalarOp;
using plan::ScalarOp;
using test::Buffer;
using test::Call;
using test::Group;
using test::SameBits;

// Returns a kernel of one op on n elements.
plan::Kernel KernelOf(ScalarOp op, DType dtype, int64_t n, int operands) {
  Group g({n});
  const int x = g.Input(dtype);
  g.Output(g.Op(op, dtype, x, operands == 2 ? g.Input(dtype) : -1));
  return Fused(g.desc);
}

TEST(Accuracy, EveryFunctionOfFloatsHasAReference) {
  for (const UnaryRow& c : UnaryRows())
    EXPECT_TRUE(c.want || c.op == kIsFinite || c.dtypes[0] != f32) << c.name;
}

// Rows shorter than a tile end in vectors that are not full, and give the same bits as long rows.
TEST(Accuracy, ResultsDoNotDependOnThePlaceInARow) {
  for (DType dtype : kFloats) {
    const Buffer all = test::Numbers(dtype, AllExponents(dtype, 1));
    for (const UnaryRow& c : UnaryRows()) {
      if (!c.want) continue;
      Buffer want(dtype, all.n);
      Call(KernelOf(c.op, dtype, all.n, 1), {&all}, {&want});
      for (int64_t n : {1, 37}) {
        const plan::Kernel kernel = KernelOf(c.op, dtype, n, 1);
        for (int64_t begin = 0; begin + n <= all.n; begin += all.n / 50) {
          Buffer x(dtype, n), y(dtype, n), part(dtype, n);
          std::memcpy(x.bytes.get(), all.bytes.get() + begin * dtype.size(), x.size());
          std::memcpy(part.bytes.get(), want.bytes.get() + begin * dtype.size(), x.size());
          Call(kernel, {&x}, {&y});
          ASSERT_TRUE(SameBits(y, part)) << c.name << ", " << n << " elements from " << begin;
        }
      }
    }
  }
}

TEST(Accuracy, ExpOfLargeIntegersIsInfinite) {
  for (DType integer : {i64, u64}) {
    for (DType dtype : kFloats) {
      Group g({4});
      g.Output(g.Op(kExp, dtype, g.Op(kConvert, dtype, g.Input(integer))));
      const Buffer x = test::Numbers(integer, {0, 100000, 5e9, 9e18});
      Buffer y(dtype, 4);
      Call(Fused(g.desc), {&x}, {&y});
      EXPECT_TRUE(test::Near(y, {1, HUGE_VAL, HUGE_VAL, HUGE_VAL}, 0)) << integer.name();
    }
  }
}

}  // namespace
}  // namespace tessera::kernels
