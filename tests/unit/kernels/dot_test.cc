// dot_general's kernels against a loop in double, for any order of dims and several threads.
#include "kernels/gemm/dot.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/dtype.h"
#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using test::Buffer;
using test::Call;
using test::Count;
using test::Near;
using test::Numbers;
using test::Random;
using test::SameBits;

std::vector<int64_t> FreeDims(const Shape& shape, const std::vector<int64_t>& contract,
                              const std::vector<int64_t>& batch) {
  std::vector<int64_t> out;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
    if (std::find(contract.begin(), contract.end(), d) == contract.end() &&
        std::find(batch.begin(), batch.end(), d) == batch.end())
      out.push_back(d);
  return out;
}
Shape Sizes(const Shape& shape, const std::vector<int64_t>& dims) {
  Shape out;
  for (int64_t d : dims) out.push_back(shape[static_cast<size_t>(d)]);
  return out;
}
// Returns the offsets of all indices over some dims of a shape, in row-major order.
std::vector<int64_t> Offsets(const Shape& shape, const std::vector<int64_t>& dims) {
  const std::vector<int64_t> strides = test::Group::Dense(shape);
  std::vector<int64_t> offsets = {0};
  for (int64_t dim : dims) {
    const auto d = static_cast<size_t>(dim);
    std::vector<int64_t> inner;
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < shape[d]; ++i) inner.push_back(offset + i * strides[d]);
    offsets = std::move(inner);
  }
  return offsets;
}
std::vector<double> AsDoubles(const Buffer& b) {
  std::vector<double> values;
  for (int64_t i = 0; i < b.n; ++i) values.push_back(b.At(i));
  return values;
}

int64_t OutCount(const DotDesc& d) {
  return Count(Sizes(d.lhs, d.lhs_batch)) *
         Count(Sizes(d.lhs, FreeDims(d.lhs, d.lhs_contract, d.lhs_batch))) *
         Count(Sizes(d.rhs, FreeDims(d.rhs, d.rhs_contract, d.rhs_batch)));
}

std::vector<double> Want(const DotDesc& d, const Buffer& a, const Buffer& b) {
  const auto lhs_batch = Offsets(d.lhs, d.lhs_batch), rhs_batch = Offsets(d.rhs, d.rhs_batch);
  const auto lhs_sum = Offsets(d.lhs, d.lhs_contract), rhs_sum = Offsets(d.rhs, d.rhs_contract);
  const auto rows = Offsets(d.lhs, FreeDims(d.lhs, d.lhs_contract, d.lhs_batch));
  const auto columns = Offsets(d.rhs, FreeDims(d.rhs, d.rhs_contract, d.rhs_batch));
  const std::vector<double> x = AsDoubles(a), y = AsDoubles(b);
  std::vector<double> out;
  for (size_t g = 0; g < lhs_batch.size(); ++g) {
    for (int64_t row : rows) {
      for (int64_t column : columns) {
        const int64_t p = lhs_batch[g] + row, q = rhs_batch[g] + column;
        double sum = 0;
        for (size_t k = 0; k < lhs_sum.size(); ++k)
          sum += x[static_cast<size_t>(p + lhs_sum[k])] * y[static_cast<size_t>(q + rhs_sum[k])];
        out.push_back(sum);
      }
    }
  }
  return out;
}

DotDesc Matmul(DType dtype, int64_t m, int64_t n, int64_t k) {
  return {dtype, dtype, dtype, {m, k}, {k, n}, {1}, {0}, {}, {}};
}

double DotTolerance(DType dtype) {
  return dtype == f64    ? 1e-12
         : dtype == f32  ? 1e-4
         : dtype == f16  ? 1e-2
         : dtype == bf16 ? 6e-2
                         : 0;
}

void Check(const DotDesc& d, const std::string& what) {
  const Buffer a = Random(d.lhs_dtype, Count(d.lhs), 1), b = Random(d.rhs_dtype, Count(d.rhs), 2);
  Buffer c(d.out_dtype, OutCount(d)), e = c;
  const plan::Kernel kernel = DotGeneral(d);
  Call(kernel, {&a, &b}, {&c});
  std::vector<double> want = Want(d, a, b);
  if (d.out_dtype.is_integer()) {
    for (double& v : want)
      base::VisitDType(d.out_dtype, [&](auto t) {
        using T = decltype(t);
        if constexpr (std::is_integral_v<T>)
          v = static_cast<double>(static_cast<T>(static_cast<int64_t>(v)));
      });
  }
  EXPECT_TRUE(Near(c, want, DotTolerance(d.out_dtype))) << what;
  for (int parts : {2, 3}) {
    Call(kernel, {&a, &b}, {&e}, parts);
    EXPECT_TRUE(SameBits(e, c)) << what << ", " << parts << " parts";
  }
}

TEST(DotGeneral, MatchesALoopForMatrices) {
  const int64_t sizes[][3] = {
      {1, 1, 1},     {3, 5, 7},      {1, 9, 4},    {9, 1, 4},    {64, 64, 64},    {65, 63, 66},
      {130, 70, 90}, {200, 131, 77}, {1, 700, 33}, {700, 1, 33}, {10, 1100, 20},  {257, 40, 300},
      {2, 2, 0},     {0, 3, 2},      {3, 0, 2},    {5, 6, 1},    {1100, 140, 150}};
  for (const auto& s : sizes)
    for (DType dtype : {f32, f64, f16, bf16, i32, i64, i8, u8, u16})
      Check(Matmul(dtype, s[0], s[1], s[2]), std::string(dtype.name()) + " " +
                                                 std::to_string(s[0]) + "x" + std::to_string(s[1]) +
                                                 "x" + std::to_string(s[2]));
}

// A vector times a matrix with few columns, and with one more or less; the vector on either side,
// the matrix transposed or not.
TEST(DotGeneral, MatchesALoopForVectorsAndMatrices) {
  for (int64_t n : {15, 16, 17, 31, 64, 65, 129, 200, 256, 257})
    for (int64_t k : {1, 255, 1000})
      for (DType dtype : {f32, f64})
        for (bool is_left : {false, true}) {
          DotDesc d = Matmul(dtype, is_left ? 1 : n, is_left ? n : 1, k);
          const std::string what = fmt::format("{} {} by {}, {}", dtype.name(), n, k, is_left);
          Check(d, what);
          Shape& matrix = is_left ? d.rhs : d.lhs;
          std::swap(matrix[0], matrix[1]);
          (is_left ? d.rhs_contract : d.lhs_contract) = {is_left ? 1 : 0};
          Check(d, what + " transposed");
        }
}

TEST(DotGeneral, MatchesALoopForAnyOrderOfDims) {
  const DotDesc forms[] = {
      {f32, f32, f32, {6, 5}, {6, 7}, {0}, {0}, {}, {}},
      {f32, f32, f32, {5, 6}, {7, 6}, {1}, {1}, {}, {}},
      {f32, f32, f32, {6, 5}, {7, 6}, {0}, {1}, {}, {}},
      {f32, f32, f32, {3, 4, 5}, {3, 5, 6}, {2}, {1}, {0}, {0}},
      {f32, f32, f32, {4, 3, 5}, {6, 5, 3}, {2}, {1}, {1}, {2}},
      {f32, f32, f32, {2, 3, 4, 5}, {5, 3, 6}, {3, 1}, {0, 1}, {}, {}},
      {f32, f32, f32, {2, 3, 4, 5}, {3, 5, 6}, {3, 1}, {1, 0}, {}, {}},
      {f32, f32, f32, {2, 8, 3, 4}, {2, 9, 3, 4}, {3}, {3}, {0, 2}, {0, 2}},
      {f32, f32, f32, {4}, {4}, {0}, {0}, {}, {}},
      {f32, f32, f32, {4}, {5}, {}, {}, {}, {}},
      {f32, f32, f32, {4}, {4, 3}, {0}, {0}, {}, {}},
      {f32, f32, f32, {3, 4}, {4}, {1}, {0}, {}, {}},
      {f32, f32, f32, {4, 3}, {4, 3}, {}, {}, {0, 1}, {0, 1}},
      {f32, f32, f32, {96, 3, 70}, {96, 70, 5}, {2}, {1}, {0}, {0}},
      {f32, f32, f32, {70, 3, 80}, {90, 80}, {2}, {1}, {}, {}},
  };
  for (size_t i = 0; i < std::size(forms); ++i)
    for (DType dtype : {f32, f64, bf16, i32}) {
      DotDesc d = forms[i];
      d.lhs_dtype = d.rhs_dtype = d.out_dtype = dtype;
      Check(d, std::string(dtype.name()) + " form " + std::to_string(i));
    }
}

// Tiles, blocks and steps of sums that are not full, with both orders of the operands' dims. The
// values have random bits, so the sums wrap.
TEST(DotGeneral, ProductsOfIntegersWrapInAnyBlocks) {
  const int64_t sizes[][3] = {{6, 32, 256}, {7, 33, 257}, {49, 16, 513}, {1, 300, 40},
                              {48, 8, 16},  {100, 7, 90}, {13, 65, 1}};
  for (DType dtype : {i32, u64}) {
    base::VisitDType(dtype, [&](auto t) {
      using T = decltype(t);
      if constexpr (std::is_integral_v<T>) {
        std::mt19937_64 random(5);
        for (const auto& [m, n, k] : sizes) {
          for (int way = 0; way < 4; ++way) {
            const bool a_turned = way & 1, b_turned = way & 2;
            DotDesc d = Matmul(dtype, m, n, k);
            if (a_turned) std::swap(d.lhs[0], d.lhs[1]), d.lhs_contract = {0};
            if (b_turned) std::swap(d.rhs[0], d.rhs[1]), d.rhs_contract = {1};
            Buffer a(dtype, m * k), b(dtype, k * n), c(dtype, m * n), want(dtype, m * n);
            for (Buffer* x : {&a, &b})
              for (int64_t i = 0; i < x->n; ++i) x->as<T>()[i] = static_cast<T>(random());
            for (int64_t i = 0; i < m; ++i)
              for (int64_t j = 0; j < n; ++j) {
                uint64_t sum = 0;
                for (int64_t l = 0; l < k; ++l)
                  sum += static_cast<uint64_t>(a.as<T>()[a_turned ? l * m + i : i * k + l]) *
                         static_cast<uint64_t>(b.as<T>()[b_turned ? j * k + l : l * n + j]);
                want.as<T>()[i * n + j] = static_cast<T>(sum);
              }
            for (int parts : {1, 3}) {
              Call(DotGeneral(d), {&a, &b}, {&c}, parts);
              EXPECT_TRUE(SameBits(c, want)) << fmt::format("{} {}x{}x{}, way {}, {} parts",
                                                            dtype.name(), m, n, k, way, parts);
            }
          }
        }
      }
    });
  }
}

TEST(DotGeneral, ConvertsOperandsToTheWiderDType) {
  const DType mixes[][3] = {{bf16, bf16, f32}, {f16, f16, f32},  {i8, i8, i32},
                            {u8, i8, i32},     {f16, bf16, f32}, {f32, f32, f64},
                            {i32, f32, f32},   {i8, i8, i64},    {bf16, f32, f32}};
  for (const auto& x : mixes) {
    DotDesc d = Matmul(f32, 70, 33, 40);
    d.lhs_dtype = x[0], d.rhs_dtype = x[1], d.out_dtype = x[2];
    Check(d, std::string(x[0].name()) + " by " + x[1].name() + " to " + x[2].name());
  }
}

TEST(DotGeneral, ThreadsShareOneKernel) {
  for (DType dtype : {f32, bf16}) {
    const DotDesc d = Matmul(dtype, 256, 256, 256);
    const Buffer a = Random(dtype, 256 * 256, 1), b = Random(dtype, 256 * 256, 2);
    const plan::Kernel kernel = DotGeneral(d);
    Buffer want(dtype, 256 * 256);
    Call(kernel, {&a, &b}, {&want});
    std::vector<Buffer> got(4, Buffer(dtype, 256 * 256));
    std::vector<std::thread> threads;
    for (Buffer& c : got) {
      threads.emplace_back([&] {
        for (int k = 0; k < 5; ++k) Call(kernel, {&a, &b}, {&c});
      });
    }
    for (std::thread& t : threads) t.join();
    for (const Buffer& c : got) EXPECT_TRUE(SameBits(c, want)) << dtype.name();
  }
}

// Small products go to OpenBLAS, and some builds of it have no locks.
TEST(DotGeneral, SmallProductsOfSeveralThreadsAtOnceAreRight) {
  struct Sizes {
    DType dtype;
    int64_t m, n, k;
  };
  for (const Sizes& s : {Sizes{f32, 256, 16, 32}, {f64, 64, 48, 32}, {f32, 128, 1, 256}}) {
    const DotDesc d = Matmul(s.dtype, s.m, s.n, s.k);
    const Buffer a = Random(s.dtype, s.m * s.k, 1), b = Random(s.dtype, s.k * s.n, 2);
    const plan::Kernel kernel = DotGeneral(d);
    Buffer want(s.dtype, s.m * s.n);
    Call(kernel, {&a, &b}, {&want});
    std::vector<int> wrong(2);
    std::vector<std::thread> threads;
    for (int& count : wrong)
      threads.emplace_back([&] {
        Buffer c(s.dtype, s.m * s.n);
        for (int r = 0; r < 5000; ++r) {
          Call(kernel, {&a, &b}, {&c});
          count += !SameBits(c, want);
        }
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, std::vector<int>(2)) << s.dtype.name() << " " << s.m << " x " << s.n;
  }
}

}  // namespace
}  // namespace tessera::kernels
