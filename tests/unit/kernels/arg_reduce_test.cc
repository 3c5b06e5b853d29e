// argmax and argmin kernels against a loop, with NaN and zeros of both signs.
#include "kernels/reduce/arg_reduce.h"

#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using testing::Buffer;
using testing::Call;
using testing::Count;
using testing::kAllDTypes;
using testing::Near;
using testing::Numbers;
using testing::Random;
using testing::SameBits;

TEST(ArgReduce, FindsTheFirstOfTheLargestAlongAnyDim) {
  for (DType dtype : kAllDTypes) {
    for (const Shape& shape : {Shape{7}, Shape{3, 50}, Shape{4, 5, 6}, Shape{2, 3, 300}}) {
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

}  // namespace
}  // namespace tessera::kernels
