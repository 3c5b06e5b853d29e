// Kernels other than fused programs on complex numbers: reductions, products, lookups, sorts.
#include <algorithm>
#include <numeric>

#include "kernels/copy/concatenate.h"
#include "kernels/copy/copy.h"
#include "kernels/gemm/dot.h"
#include "kernels/index/dynamic_slice.h"
#include "kernels/index/gather.h"
#include "kernels/index/scatter.h"
#include "kernels/reduce/combine.h"
#include "kernels/reduce/cumulative.h"
#include "kernels/sort/sort.h"
#include "unit/kernels/complex_testing.h"

namespace tessera::kernels::complex_kernels_test {
namespace {

using namespace test;

bool Less(Long a, Long b) {
  return a.real() == b.real() ? a.imag() < b.imag() : a.real() < b.real();
}

Long Next(Reduction r, Long a, Long b) {
  switch (r) {
    case Reduction::kProd:
      return a * b;
    case Reduction::kMax:
      return Less(a, b) ? b : a;
    case Reduction::kMin:
      return Less(b, a) ? b : a;
    default:
      return a + b;
  }
}

constexpr Reduction kAll[] = {Reduction::kSum, Reduction::kProd, Reduction::kMax, Reduction::kMin};

// Of all forms: rows, columns, both, many reduced dims.
TEST(ComplexReduce, MatchesALoop) {
  const struct {
    Shape shape;
    std::vector<int64_t> dims;
  } cases[] = {{{7}, {0}},         {{5, 40}, {1}},         {{40, 5}, {0}},
               {{3, 50, 70}, {1}}, {{2, 3, 4, 5}, {1, 3}}, {{2, 3, 4, 5}, {0, 2}},
               {{2, 3}, {0, 1}},   {{4, 1, 3}, {1}},       {{200, 3, 2}, {1}},
               {{1000, 3}, {0}}};
  for (DType dtype : {c64, c128}) {
    for (const auto& c : cases) {
      const Buffer x = RandomComplex(dtype, Count(c.shape), 3);
      for (Reduction r : kAll) {
        if (r == Reduction::kProd && c.shape[0] == 1000) continue;  // overflows
        Shape kept;
        for (size_t d = 0; d < c.shape.size(); ++d)
          if (std::ranges::find(c.dims, static_cast<int64_t>(d)) == c.dims.end())
            kept.push_back(c.shape[d]);
        std::vector<Long> want(static_cast<size_t>(Count(kept)));
        std::vector<bool> seen(want.size());
        for (int64_t i = 0; i < x.n; ++i) {
          int64_t rest = i, at = 0, stride = 1;
          for (size_t d = c.shape.size(); d-- > 0; rest /= c.shape[d]) {
            if (std::ranges::find(c.dims, static_cast<int64_t>(d)) != c.dims.end()) continue;
            at += rest % c.shape[d] * stride;
            stride *= c.shape[d];
          }
          const auto k = static_cast<size_t>(at);
          const Long v(ComplexAt(x, i));
          want[k] = seen[k] ? Next(r, want[k], v) : v;
          seen[k] = true;
        }
        Buffer out(dtype, Count(kept));
        for (int parts : {1, 2}) {
          Call(Reduce(dtype, c.shape, c.dims, r), {&x}, {&out}, parts);
          EXPECT_TRUE(NearComplex(out, want, 200))
              << testing::PrintToString(c.shape) << " reduction " << static_cast<int>(r);
        }
      }
    }
  }
}

TEST(ComplexReduce, OfNothingIsTheIdentity) {
  for (DType dtype : {c64, c128}) {
    const Buffer x(dtype, 0);
    Buffer out(dtype, 3);
    Call(Reduce(dtype, {3, 0}, {1}, Reduction::kSum), {&x}, {&out});
    EXPECT_EQ(ComplexAt(out, 1), 0.0);
    Call(Reduce(dtype, {3, 0}, {1}, Reduction::kProd), {&x}, {&out});
    EXPECT_EQ(ComplexAt(out, 2), 1.0);
    Call(Reduce(dtype, {3, 0}, {1}, Reduction::kMax), {&x}, {&out});
    EXPECT_EQ(ComplexAt(out, 0), std::complex<double>(-kInf, -kInf));
  }
}

// A sum of parts in f32 alone would be off by 1e-4.
TEST(ComplexReduce, LongSumsKeepTheirDigits) {
  for (const auto& [shape, dims] :
       std::vector<std::pair<Shape, std::vector<int64_t>>>{{{1 << 20}, {0}}, {{1 << 18, 4}, {0}}}) {
    Buffer x(c64, Count(shape));
    for (int64_t i = 0; i < x.n; ++i) SetComplex(x, i, {0.1L, -0.3L});
    Buffer out(c64, shape.size() == 1 ? 1 : 4);
    Call(Reduce(c64, shape, dims, Reduction::kSum), {&x}, {&out});
    const auto n = static_cast<double>(shape[0]);
    EXPECT_NEAR(ComplexAt(out, 0).real() / n, 0.1, 3e-7);
    EXPECT_NEAR(ComplexAt(out, 0).imag() / n, -0.3, 3e-7);
  }
}

TEST(ComplexCumulative, MatchesALoopAlongAnyDim) {
  const Shape shape = {3, 11, 30};
  for (DType dtype : {c64, c128}) {
    const Buffer x = RandomComplex(dtype, Count(shape), 2);
    for (int kind = 0; kind < 5; ++kind) {
      for (int64_t dim = 0; dim < 3; ++dim) {
        for (bool reverse : {false, true}) {
          const int64_t n = shape[static_cast<size_t>(dim)], inner = dim == 2   ? 1
                                                                     : dim == 1 ? 30
                                                                                : 330;
          std::vector<Long> want(static_cast<size_t>(x.n));
          for (int64_t i = 0; i < x.n; ++i) {
            if (i / inner % n != 0) continue;
            Long sum = 0;
            for (int64_t k = 0; k < n; ++k) {
              const int64_t at = i + (reverse ? n - 1 - k : k) * inner;
              const Long v(ComplexAt(x, at));
              if (kind == 4)
                sum = k == 0 ? std::exp(v) : sum + std::exp(v);
              else
                sum = k == 0 ? v : Next(kAll[kind], sum, v);
              want[static_cast<size_t>(at)] = kind == 4 ? std::log(sum) : sum;
            }
          }
          Buffer y(dtype, x.n);
          Call(kind == 4 ? CumulativeLogSumExp(dtype, shape, dim, reverse)
                         : Cumulative(dtype, shape, dim, kAll[kind], reverse),
               {&x}, {&y}, 2);
          EXPECT_TRUE(NearComplex(y, want, 100)) << kind << " dim " << dim;
        }
      }
    }
  }
}

TEST(ComplexCombine, EqualsALoop) {
  for (DType dtype : {c64, c128}) {
    for (int k : {1, 2, 5, 20}) {
      for (Reduction r : kAll) {
        std::vector<Buffer> in;
        std::vector<const std::byte*> src;
        for (int j = 0; j < k; ++j)
          in.push_back(RandomComplex(dtype, 301, static_cast<uint32_t>(j)));
        for (const Buffer& b : in) src.push_back(b.bytes.get());
        std::vector<Long> want;
        for (int64_t i = 0; i < 301; ++i) {
          want.emplace_back(ComplexAt(in[0], i));
          for (int j = 1; j < k; ++j)
            want.back() = Next(r, want.back(), Long(ComplexAt(in[static_cast<size_t>(j)], i)));
        }
        for (bool stream : {false, true}) {
          Buffer out(dtype, 301);
          Combiner(dtype, r)(src.data(), k, out.bytes.get(), 301, stream);
          EXPECT_TRUE(NearComplex(out, want, 100)) << k << " reduction " << static_cast<int>(r);
        }
      }
    }
    EXPECT_EQ(Combiner(dtype, Reduction::kAnd), nullptr);
  }
}

struct Product {
  int64_t m, n, k;
  bool lhs_transposed, rhs_transposed;
  DType lhs, rhs, out;
};

void ExpectProduct(const Product& p) {
  DotDesc d{p.lhs, p.rhs, p.out, {p.m, p.k}, {p.k, p.n}, {1}, {0}, {}, {}};
  if (p.lhs_transposed) d.lhs = {p.k, p.m}, d.lhs_contract = {0};
  if (p.rhs_transposed) d.rhs = {p.n, p.k}, d.rhs_contract = {1};
  Buffer a = RandomComplex(p.lhs, p.m * p.k, 1, true), b = RandomComplex(p.rhs, p.k * p.n, 2, true);
  std::vector<Long> want;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      want.emplace_back();
      for (int64_t k = 0; k < p.k; ++k)
        want.back() += Long(ComplexAt(a, p.lhs_transposed ? k * p.m + i : i * p.k + k)) *
                       Long(ComplexAt(b, p.rhs_transposed ? j * p.k + k : k * p.n + j));
    }
  }
  Buffer out(p.out, p.m * p.n), again = out;
  Call(DotGeneral(d), {&a, &b}, {&out});
  // The numbers are small integers, so the sums are exact.
  for (int64_t i = 0; i < out.n; ++i) {
    const Long w = want[static_cast<size_t>(i)];
    ASSERT_EQ(Long(ComplexAt(out, i)), p.out.is_complex() ? w : Long(w.real()))
        << p.m << " " << p.n << " " << p.k;
  }
  Call(DotGeneral(d), {&a, &b}, {&again}, 3);
  EXPECT_TRUE(SameBits(again, out));
}

TEST(ComplexDot, MatchesALoop) {
  for (DType dtype : {c64, c128})
    for (const auto& [m, n, k] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{{1, 1, 1},
                                                                                    {3, 5, 7},
                                                                                    {1, 40, 9},
                                                                                    {40, 1, 9},
                                                                                    {1, 1, 50},
                                                                                    {65, 70, 33},
                                                                                    {200, 9, 70},
                                                                                    {10, 600, 20},
                                                                                    {4, 5, 0},
                                                                                    {5, 6, 1}})
      for (bool lhs : {false, true})
        for (bool rhs : {false, true}) ExpectProduct({m, n, k, lhs, rhs, dtype, dtype, dtype});
}

TEST(ComplexDot, ConvertsOperandsAndResult) {
  ExpectProduct({20, 30, 10, false, false, c64, c64, c128});
  ExpectProduct({20, 30, 10, false, true, f32, c64, c64});
  ExpectProduct({20, 30, 10, true, false, c64, i32, c128});
  ExpectProduct({20, 30, 10, true, true, c128, c64, c64});
}

TEST(ComplexDot, OfBatchesAndPackedOperands) {
  for (DType dtype : {c64, c128}) {
    // [k, batch, m] by [batch, n, k]: neither operand is a matrix of dense rows.
    const DotDesc d{dtype, dtype, dtype, {6, 3, 4}, {3, 5, 6}, {0}, {2}, {1}, {0}};
    const Buffer a = RandomComplex(dtype, 72, 1, true), b = RandomComplex(dtype, 90, 2, true);
    Buffer out(dtype, 60);
    Call(DotGeneral(d), {&a, &b}, {&out});
    for (int64_t g = 0; g < 3; ++g)
      for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 5; ++j) {
          std::complex<double> sum = 0;
          for (int64_t k = 0; k < 6; ++k)
            sum += ComplexAt(a, (k * 3 + g) * 4 + i) * ComplexAt(b, (g * 5 + j) * 6 + k);
          EXPECT_EQ(ComplexAt(out, (g * 4 + i) * 5 + j), sum);
        }
  }
}

// Rows 2, 9 (outside) and 0 of [4, n].
LookupDesc RowsOf(DType dtype, int64_t n) {
  return {.dtype = dtype,
          .index = i32,
          .entries = 1,
          .leads = {},
          .dims = {{.size = 4,
                    .stride = n,
                    .window = 1,
                    .slice_stride = 0,
                    .entry = 0,
                    .last = 3,
                    .begins = {}},
                   {.size = n, .stride = 1, .window = n, .slice_stride = 1, .begins = {}}},
          .queries = {{.size = 3, .index_stride = 1, .slice_stride = n, .whole = 3, .begins = {}}}};
}

TEST(ComplexLookup, GathersWithAFillValue) {
  for (DType dtype : {c64, c128}) {
    for (int64_t n : {1, 2, 20}) {
      const Buffer x = RandomComplex(dtype, 4 * n, 1), at = Numbers(i32, {2, 9, 0}),
                   fill = ComplexNumbers(dtype, {{7, -8}});
      base::ElementBits bits;
      std::memcpy(bits.data(), fill.bytes.get(), fill.size());
      Buffer out(dtype, 3 * n);
      Call(Gather(RowsOf(dtype, n), bits), {&x, &at}, {&out});
      for (int64_t j = 0; j < n; ++j) {
        EXPECT_EQ(ComplexAt(out, j), ComplexAt(x, 2 * n + j));
        EXPECT_EQ(ComplexAt(out, n + j), std::complex<double>(7, -8));
        EXPECT_EQ(ComplexAt(out, 2 * n + j), ComplexAt(x, j));
      }
    }
  }
}

// A device that does not lead adds -0, which changes no sum.
TEST(ComplexLookup, OtherDevicesGiveMinusZero) {
  for (DType dtype : {c64, c128}) {
    LookupDesc d = RowsOf(dtype, 2);
    d.leads = {false};
    const Buffer x = RandomComplex(dtype, 8, 1), at = Numbers(i32, {9, 9, 9});
    Buffer out(dtype, 6);
    Call(Gather(d, 0), {&x, &at}, {&out});
    Buffer sum(dtype, 8);
    const Buffer updates = RandomComplex(dtype, 6, 2);
    Call(Scatter(d, Reduction::kSum), {&x, &at, &updates}, {&sum});
    for (const Buffer* b : {&out, &sum}) {
      for (int64_t i = 0; i < b->n; ++i) {
        EXPECT_TRUE(std::signbit(ComplexAt(*b, i).real()) && std::signbit(ComplexAt(*b, i).imag()));
        EXPECT_EQ(ComplexAt(*b, i), 0.0);
      }
    }
  }
}

TEST(ComplexLookup, ScattersAndCombines) {
  for (DType dtype : {c64, c128}) {
    for (int64_t n : {1, 2, 20}) {
      const Buffer x = RandomComplex(dtype, 4 * n, 1), at = Numbers(i32, {2, 0, 2}),
                   updates = RandomComplex(dtype, 3 * n, 2);
      const auto expect = [&](std::optional<Reduction> r) {
        std::vector<Long> want;
        for (int64_t i = 0; i < x.n; ++i) want.emplace_back(ComplexAt(x, i));
        for (int64_t q = 0; q < 3; ++q) {
          for (int64_t j = 0; j < n; ++j) {
            Long& w = want[static_cast<size_t>(static_cast<int64_t>(at.At(q)) * n + j)];
            const Long v(ComplexAt(updates, q * n + j));
            w = r ? Next(*r, w, v) : v;
          }
        }
        Buffer out(dtype, x.n);
        Call(Scatter(RowsOf(dtype, n), r), {&x, &at, &updates}, {&out}, 2);
        EXPECT_TRUE(NearComplex(out, want, 8));
      };
      expect(std::nullopt);
      for (Reduction r : kAll) expect(r);
    }
  }
}

TEST(ComplexSort, ByRealThenImaginaryParts) {
  for (DType dtype : {c64, c128}) {
    for (int64_t n : {10, 400}) {
      Buffer x = RandomComplex(dtype, n, 1, true);
      SetComplex(x, 3, {kNan, 1}), SetComplex(x, 5, {1, kNan}), SetComplex(x, 7, {-0.0L, 2});
      std::vector<int64_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      const auto less = [](double a, double b) {
        return a < b || (std::isnan(b) && !std::isnan(a));
      };
      for (bool descending : {false, true}) {
        std::vector<int64_t> want = order;
        std::ranges::stable_sort(want, [&](int64_t i, int64_t j) {
          const auto a = ComplexAt(x, descending ? j : i), b = ComplexAt(x, descending ? i : j);
          if (less(a.real(), b.real()) || less(b.real(), a.real())) return less(a.real(), b.real());
          return less(a.imag(), b.imag());
        });
        Buffer index(i32, n), sorted_index(i32, n), sorted(dtype, n), alone(dtype, n),
            expected(dtype, n);
        for (int64_t i = 0; i < n; ++i) {
          index.Set(i, static_cast<double>(i));
          const auto size = static_cast<size_t>(dtype.size());
          std::memcpy(expected.bytes.get() + static_cast<size_t>(i) * size,
                      x.bytes.get() + static_cast<size_t>(want[static_cast<size_t>(i)]) * size,
                      size);
        }
        Call(Sort({dtype}, {n}, 0, 1, descending), {&x}, {&alone});
        Call(Sort({dtype, i32}, {n}, 0, 1, descending), {&x, &index}, {&sorted, &sorted_index});
        EXPECT_TRUE(SameBits(alone, expected));
        EXPECT_TRUE(SameBits(sorted, expected));
        for (int64_t i = 0; i < n; ++i)
          EXPECT_EQ(sorted_index.At(i), static_cast<double>(want[static_cast<size_t>(i)]));
        // As a payload of another key.
        Call(Sort({i32, dtype}, {n}, 0, 1, true), {&index, &x}, {&sorted_index, &sorted});
        EXPECT_EQ(sorted_index.At(0), static_cast<double>(n - 1));
        EXPECT_EQ(ComplexAt(sorted, 0), ComplexAt(x, n - 1));
      }
    }
  }
}

TEST(ComplexMoves, SixteenBytes) {
  const Buffer x = RandomComplex(c128, 6 * 50, 1), fill = ComplexNumbers(c128, {{1, 2}});
  // Transposed, into the middle of a filled result.
  Buffer out(c128, 50 * 8);
  Call(Copy({.itemsize = 16,
             .box = {50, 6},
             .in_strides = {1, 50},
             .out_strides = {8, 1},
             .out_offset = 1,
             .out_size = 400,
             .fill = true}),
       {&x, &fill}, {&out}, 2);
  for (int64_t i = 0; i < 50; ++i)
    for (int64_t j = 0; j < 8; ++j)
      EXPECT_EQ(ComplexAt(out, i * 8 + j),
                j == 0 || j == 7 ? std::complex<double>(1, 2) : ComplexAt(x, (j - 1) * 50 + i));
  const Buffer y = RandomComplex(c128, 6 * 3, 2);
  Buffer joined(c128, 6 * 53);
  Call(Concatenate(16, {{6, 50}, {6, 3}}, 1), {&x, &y}, {&joined}, 2);
  for (int64_t i = 0; i < joined.n; ++i)
    EXPECT_EQ(ComplexAt(joined, i), i % 53 < 50 ? ComplexAt(x, i / 53 * 50 + i % 53)
                                                : ComplexAt(y, i / 53 * 3 + i % 53 - 50));
}

}  // namespace
}  // namespace tessera::kernels::complex_kernels_test
