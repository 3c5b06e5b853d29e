// argmax and argmin kernels against a loop, with NaN and zeros of both signs.
#include "kernels/reduce/arg_reduce.h"

#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using test::Buffer;
using test::Call;
using test::Count;
using test::kAllDTypes;
using test::Near;
using test::Numbers;
using test::Random;
using test::SameBits;

TEST(ArgReduce, FindsTheFirstOfTheLargestAlongAnyDim) {
  for (DType dtype : kAllDTypes) {
    for (const Shape& shape : {Shape{7}, Shape{3, 50}, Shape{4, 5, 6}, Shape{2, 3, 300},
                               Shape{300, 3}, Shape{70, 33}, Shape{3, 500}, Shape{150, 3, 2}}) {
      const Buffer x = Random(dtype, Count(shape), 3, true);
      for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim) {
        int64_t inner = 1, outer = 1;
        for (size_t d = 0; d < shape.size(); ++d)
          (static_cast<int64_t>(d) < dim ? outer : inner) *= shape[d];
        const int64_t n = shape[static_cast<size_t>(dim)];
        inner /= n;
        for (bool largest : {true, false}) {
          std::vector<double> want;
          for (int64_t o = 0; o < outer; ++o) {
            for (int64_t j = 0; j < inner; ++j) {
              int64_t best = 0;
              for (int64_t i = 1; i < n; ++i) {
                const double v = x.At((o * n + i) * inner + j),
                             b = x.At((o * n + best) * inner + j);
                if (std::isnan(b)) break;
                if (std::isnan(v) || (largest ? v > b : v < b)) best = i;
              }
              want.push_back(static_cast<double>(best));
            }
          }
          for (DType index : {i32, i64, u16}) {
            Buffer y(index, outer * inner), z = y;
            const plan::Kernel kernel = ArgReduce(dtype, index, shape, dim, largest);
            Call(kernel, {&x}, {&y});
            Call(kernel, {&x}, {&z}, 3);
            EXPECT_TRUE(Near(y, want, 0))
                << dtype.name() << " dim " << dim << " largest " << largest;
            EXPECT_TRUE(SameBits(z, y));
          }
        }
      }
    }
  }
}

TEST(ArgReduce, ZerosOfBothSignsAreEqual) {
  const Buffer x = Numbers(f32, {-0.0, 0.0, -0.0});
  Buffer y(i32, 1);
  Call(ArgReduce(f32, i32, {3}, 0, true), {&x}, {&y});
  EXPECT_TRUE(Near(y, {0}, 0));
}

// Lanes hold the numbers of rows for some rows at a time, in types as small as i8.
TEST(ArgReduce, FindsTheFirstInLongLanes) {
  for (DType dtype : {u8, f16, f32, f64})
    for (const Shape& shape : {Shape{100000}, Shape{2, 9001}, Shape{2, 9001, 3}, Shape{1000, 70}}) {
      const int64_t dim = shape.size() == 1 || shape[0] == 1000 ? 0 : 1;
      const int64_t n = shape[static_cast<size_t>(dim)], outer = dim == 0 ? 1 : shape[0];
      const int64_t inner = Count(shape) / n / outer;
      for (int64_t at : {int64_t{0}, int64_t{129}, n / 2, n - 1}) {
        Buffer x(dtype, Count(shape)), y(i64, outer * inner);
        // The largest element occurs twice, and the first occurrence must be found.
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t j = 0; j < inner; ++j)
            for (int64_t i : {at, std::min(n - 1, at + 1 + (at + j) % 300)})
              x.Set((o * n + i) * inner + j, 5);
        Call(ArgReduce(dtype, i64, shape, dim, true), {&x}, {&y});
        const std::vector<double> want(static_cast<size_t>(y.n), static_cast<double>(at));
        EXPECT_TRUE(Near(y, want, 0)) << dtype.name() << " " << at;
      }
    }
}

// Only short rows need memory: they are transposed first.
TEST(ArgReduce, OfLongRowsNeedsNoScratch) {
  for (const Shape& shape : {Shape{1 << 20}, Shape{1 << 20, 40}})
    EXPECT_EQ(ArgReduce(u8, i32, shape, 0, true).scratch_bytes, 0) << shape.size();
}

TEST(ArgReduce, OfNothingIsZero) {
  const Buffer x(f32, 0);
  Buffer y(i32, 3);
  y.Set(1, 7);
  Call(ArgReduce(f32, i32, {3, 0}, 1, true), {&x}, {&y});
  EXPECT_TRUE(Near(y, {0, 0, 0}, 0));
}

}  // namespace
}  // namespace tessera::kernels
