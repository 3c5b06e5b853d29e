// Kernels of running reductions against a loop, with overflow, NaN and wrapping integers.
#include "kernels/reduce/cumulative.h"

#include <optional>

#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using test::Buffer;
using test::Call;
using test::Count;
using test::kInf;
using test::kNan;
using test::Near;
using test::Numbers;
using test::Random;
using test::SameBits;

using MaybeReduction = std::optional<Reduction>;  // nullopt: logsumexp

double Next(MaybeReduction reduction, double sum, double x) {
  if (!reduction) return std::log(std::exp(sum) + std::exp(x));
  switch (*reduction) {
    case Reduction::kSum:
      return sum + x;
    case Reduction::kProd:
      return sum * x;
    case Reduction::kMax:
      return std::max(sum, x);
    default:
      return std::min(sum, x);
  }
}

void ExpectALoop(DType dtype, const Shape& shape, size_t dim, MaybeReduction reduction,
                 bool reverse) {
  const Buffer x = Random(dtype, Count(shape), 2);
  const int64_t n = shape[dim];
  const int64_t inner = Count({shape.begin() + static_cast<int64_t>(dim) + 1, shape.end()});
  std::vector<double> want(static_cast<size_t>(x.n));
  for (int64_t i = 0; i < x.n; ++i) {
    if (i / inner % n != 0) continue;
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t at = i + (reverse ? n - 1 - k : k) * inner;
      sum = k == 0 ? x.At(at) : Next(reduction, sum, x.At(at));
      want[static_cast<size_t>(at)] = sum;
    }
  }
  Buffer y(dtype, x.n), z = x;
  const auto d = static_cast<int64_t>(dim);
  const plan::Kernel kernel = reduction ? Cumulative(dtype, shape, d, *reduction, reverse)
                                        : CumulativeLogSumExp(dtype, shape, d, reverse);
  Call(kernel, {&x}, {&y});
  Call(kernel, {&z}, {&z}, 3);
  // Partial sums are larger than some of the results.
  const double scale = reduction == Reduction::kSum ? 4 : 1;
  EXPECT_TRUE(Near(y, want, dtype.is_integer() ? 0 : scale * test::Tolerance(dtype)))
      << dtype.name() << " reduction " << (reduction ? static_cast<int>(*reduction) : -1)
      << " size " << n << " before " << inner;
  EXPECT_TRUE(SameBits(z, y)) << "in place, in parts";
}

TEST(Cumulative, MatchesALoopAlongAnyDim) {
  // Long and short rows, columns for whole vectors, for some lanes of one, and in several panels.
  for (const Shape& shape : std::vector<Shape>{{3, 11, 300}, {9, 40, 5}, {2, 300, 13}}) {
    for (DType dtype : {i32, i64, f16, bf16, f32, f64}) {
      for (MaybeReduction reduction :
           {MaybeReduction(Reduction::kSum), MaybeReduction(Reduction::kProd),
            MaybeReduction(Reduction::kMax), MaybeReduction(Reduction::kMin), MaybeReduction()}) {
        if (dtype.is_integer() && (!reduction || reduction == Reduction::kProd)) continue;
        for (size_t dim = 0; dim < 3; ++dim)
          for (bool reverse : {false, true}) ExpectALoop(dtype, shape, dim, reduction, reverse);
      }
    }
  }
}

TEST(Cumulative, LogSumExpDoesNotOverflow) {
  const Buffer x = Numbers(f32, {-kInf, 1000, 1000, -1000, kInf, 3, kNan, 1});
  Buffer y(f32, 8);
  Call(CumulativeLogSumExp(f32, {8}, 0, false), {&x}, {&y});
  const double two = 1000 + std::log(2.0);
  EXPECT_TRUE(Near(y, {-kInf, 1000, two, two, kInf, kInf, kNan, kNan}, 1e-6));
}

TEST(Cumulative, MaxKeepsNaN) {
  const Buffer x = Numbers(f32, {1, kNan, 3});
  Buffer y(f32, 3);
  Call(Cumulative(f32, {3}, 0, Reduction::kMax, false), {&x}, {&y});
  EXPECT_TRUE(Near(y, {1, kNan, kNan}, 0));
}

TEST(Cumulative, IntegersWrap) {
  const Buffer x = Numbers(i8, {100, 100, 100});
  Buffer y(i8, 3);
  Call(Cumulative(i8, {3}, 0, Reduction::kSum, false), {&x}, {&y});
  EXPECT_TRUE(Near(y, {100, -56, 44}, 0));
}

}  // namespace
}  // namespace tessera::kernels
