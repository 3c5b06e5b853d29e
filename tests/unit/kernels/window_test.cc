// Kernels over windows against loops over all windows and their elements.
#include "kernels/window/window.h"

#include <functional>

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

// Calls f(flat index) for each element of window `o` (a flat index of the result), in order.
void ForEachElementOf(const WindowsDesc& desc, int64_t o, const std::function<void(int64_t)>& f) {
  const size_t rank = desc.dims.size();
  Shape window(rank), at(rank), first(rank);
  for (size_t d = rank; d-- > 0; o /= desc.result[d]) {
    first[d] = o % desc.result[d] * desc.dims[d].stride - desc.dims[d].low;
    window[d] = desc.dims[d].size;
  }
  for (int64_t k = 0; k < Count(window); ++k) {
    int64_t rest = k, flat = 0;
    for (size_t d = rank; d-- > 0; rest /= window[d]) at[d] = rest % window[d];
    bool inside = true;
    for (size_t d = 0; d < rank; ++d) {
      const WindowDim& dim = desc.dims[d];
      const int64_t position = first[d] + at[d] * dim.window_dilation;
      inside = inside && position >= 0 && position % dim.base_dilation == 0 &&
               position / dim.base_dilation < desc.operand[d];
      flat = flat * desc.operand[d] + position / dim.base_dilation;
    }
    if (inside) f(flat);
  }
}

struct WindowCase {
  Shape operand;
  std::vector<WindowDim> dims;
  std::vector<int64_t> high;
};

WindowsDesc WindowsOf(DType dtype, const WindowCase& c) {
  WindowsDesc desc{dtype, c.operand, {}, c.dims};
  for (size_t d = 0; d < c.dims.size(); ++d) {
    const WindowDim& w = c.dims[d];
    const int64_t n = c.operand[d];
    const int64_t padded = (n == 0 ? 0 : (n - 1) * w.base_dilation + 1) + w.low + c.high[d];
    const int64_t window = (w.size - 1) * w.window_dilation + 1;
    desc.result.push_back(padded < window ? 0 : (padded - window) / w.stride + 1);
  }
  return desc;
}

WindowDim WindowAlong(int64_t size, int64_t stride = 1, int64_t low = 0, int64_t base_dilation = 1,
                      int64_t window_dilation = 1) {
  return {size, stride, low, base_dilation, window_dilation};
}

// Pools of images in both layouts, every kind of padding and dilation, windows that overlap by
// much, and empty ones.
std::vector<WindowCase> WindowCases() {
  const WindowDim one;
  return {
      {{2, 9, 11, 70}, {one, WindowAlong(2, 2), WindowAlong(2, 2), one}, {0, 0, 0, 0}},
      {{2, 9, 11, 70}, {one, WindowAlong(3, 2, 1), WindowAlong(3, 2, 1), one}, {0, 1, 1, 0}},
      {{2, 8, 9, 3}, {one, WindowAlong(3, 2, 0), WindowAlong(3, 2, 1), one}, {0, 1, 1, 0}},
      {{3, 5, 16, 37}, {one, one, WindowAlong(2, 2), WindowAlong(2, 2)}, {0, 0, 0, 0}},
      {{3, 5, 13, 40}, {one, one, WindowAlong(3, 2, 1), WindowAlong(3, 2, 1)}, {0, 0, 1, 1}},
      {{2, 7, 64}, {one, WindowAlong(3, 2), WindowAlong(3, 2)}, {0, 0, 0}},
      {{2, 7, 85}, {one, WindowAlong(2, 2), WindowAlong(2, 3, -4)}, {0, 1, -2}},
      {{2, 5, 61, 3}, {one, WindowAlong(3, 2, 1), WindowAlong(5, 2, 3), one}, {0, 1, 3, 0}},
      {{50, 7, 7}, {one, WindowAlong(3, 1, 1), WindowAlong(3, 1, 1)}, {0, 1, 1}},
      {{4, 6, 5, 4, 3},
       {one, WindowAlong(3, 2, 2), WindowAlong(2, 1, -1), WindowAlong(2, 3, 1, 2), one},
       {0, -1, 1, 2, 0}},
      {{3, 500}, {one, WindowAlong(37, 1, 36)}, {0, 0}},
      {{3, 500}, {one, WindowAlong(64, 3, 10, 2, 3)}, {0, 20}},
      {{40, 33, 2}, {WindowAlong(16, 1, 3), WindowAlong(33, 1, 32), one}, {12, 0, 0}},
      {{30, 300}, {WindowAlong(9, 1, 8), one}, {0, 0}},
      {{9000}, {WindowAlong(3, 1, 1)}, {1}},
      {{5000, 4}, {WindowAlong(5, 3, 2, 1, 2), one}, {2, 0}},
      {{70, 70}, {WindowAlong(70, 70), WindowAlong(70, 1, 69)}, {0, 0}},
      {{6, 4, 5}, {WindowAlong(2, 2), one, WindowAlong(3, 1, -1)}, {0, 0, -1}},
      {{7, 5}, {one, one}, {0, 0}},
      {{}, {}, {}},
      {{4, 3}, {WindowAlong(5), one}, {0, 0}},
      {{0, 3}, {WindowAlong(2, 1, 1), one}, {2, 0}},
      {{2, 0, 3}, {one, WindowAlong(1, 1, 2), WindowAlong(2, 1, 1)}, {0, 0, 1}},
      {{3, 4}, {WindowAlong(2, 4, 5), WindowAlong(1, 2, 3)}, {5, 3}},
  };
}

// Returns the smallest or largest integer.
double LimitOf(DType dtype, bool largest) {
  return base::VisitDType(dtype, [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T>)
      return static_cast<double>(largest ? std::numeric_limits<T>::max()
                                         : std::numeric_limits<T>::lowest());
    return 0.0;
  });
}

double IdentityOf(Reduction reduction, DType dtype) {
  if (reduction == Reduction::kSum || reduction == Reduction::kOr || reduction == Reduction::kXor)
    return 0;
  if (reduction == Reduction::kProd) return 1;
  if (reduction == Reduction::kAnd) return dtype.is_bool() ? 1 : -1;
  const bool max = reduction == Reduction::kMax;
  if (dtype.is_bool()) return max ? 0 : 1;
  return dtype.is_floating() ? (max ? -kInf : kInf) : LimitOf(dtype, !max);
}

double Combined(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::kSum:
      return a + b;
    case Reduction::kProd:
      return a * b;
    case Reduction::kMax:
      return std::isnan(a) || std::isnan(b) ? kNan : std::max(a, b);
    case Reduction::kMin:
      return std::isnan(a) || std::isnan(b) ? kNan : std::min(a, b);
    case Reduction::kAnd:
      return static_cast<double>(static_cast<int64_t>(a) & static_cast<int64_t>(b));
    case Reduction::kXor:
      return static_cast<double>(static_cast<int64_t>(a) ^ static_cast<int64_t>(b));
    default:
      return static_cast<double>(static_cast<int64_t>(a) | static_cast<int64_t>(b));
  }
}

bool HasReduction(DType dtype, Reduction reduction) {
  if (dtype.is_floating()) return reduction < Reduction::kAnd;
  return !dtype.is_bool() || (reduction != Reduction::kSum && reduction != Reduction::kProd);
}

double WrappedSum(DType dtype, double sum) {
  return base::VisitDType(dtype, [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T>)
      return static_cast<double>(static_cast<T>(static_cast<int64_t>(sum)));
    return 0.0;
  });
}

// Compares the kernel, in one part and in several, with a loop.
void CheckReduction(const WindowsDesc& desc, Reduction reduction, const Buffer& x, double scale) {
  Buffer y(desc.dtype, Count(desc.result)), parts = y;
  std::vector<double> want(static_cast<size_t>(y.n));
  for (int64_t o = 0; o < y.n; ++o) {
    double& sum = want[static_cast<size_t>(o)];
    sum = IdentityOf(reduction, desc.dtype);
    ForEachElementOf(desc, o, [&](int64_t i) { sum = Combined(reduction, sum, x.At(i)); });
    if (desc.dtype.is_unsigned() && sum < 0) sum = LimitOf(desc.dtype, true);  // of no elements
    if (desc.dtype.is_integer() && reduction == Reduction::kSum) sum = WrappedSum(desc.dtype, sum);
  }
  const plan::Kernel kernel = ReduceWindow(desc, reduction);
  Call(kernel, {&x}, {&y});
  Call(kernel, {&x}, {&parts}, 3);
  EXPECT_TRUE(Near(y, want, desc.dtype.is_floating() ? scale * test::Tolerance(desc.dtype) : 0))
      << desc.dtype.name() << " reduction " << static_cast<int>(reduction);
  EXPECT_TRUE(SameBits(parts, y)) << "in parts";
}

TEST(ReduceWindow, MatchesALoop) {
  int number = 0;
  for (const WindowCase& c : WindowCases()) {
    SCOPED_TRACE("case " + std::to_string(number++));
    for (DType dtype : test::kAllDTypes) {
      const WindowsDesc desc = WindowsOf(dtype, c);
      const Buffer x = Random(dtype, Count(c.operand), 7, true);
      const Buffer numbers = Random(dtype, x.n, 7);
      for (Reduction r : {Reduction::kSum, Reduction::kMax, Reduction::kMin, Reduction::kAnd,
                          Reduction::kOr, Reduction::kXor}) {
        const bool sums = r == Reduction::kSum;
        if (HasReduction(dtype, r)) CheckReduction(desc, r, sums ? numbers : x, sums ? 16 : 0);
      }
    }
  }
}

TEST(ReduceWindow, Multiplies) {
  int number = 0;
  for (const WindowCase& c : WindowCases()) {
    SCOPED_TRACE("case " + std::to_string(number++));
    for (DType dtype : test::kAllDTypes) {
      if (!HasReduction(dtype, Reduction::kProd)) continue;
      Buffer x(dtype, Count(c.operand));
      for (int64_t i = 0; i < x.n; ++i) x.Set(i, i % 7 == 0 ? 2 : 1);
      const WindowsDesc desc = WindowsOf(dtype, c);
      Buffer y(dtype, Count(desc.result));
      Call(ReduceWindow(desc, Reduction::kProd), {&x}, {&y});
      const int most = dtype == f16 ? 15 : dtype.is_floating() ? 100 : dtype.size() * 8 - 2;
      for (int64_t o = 0; o < y.n; ++o) {
        int factors = 0;
        ForEachElementOf(desc, o, [&](int64_t i) { factors += i % 7 == 0; });
        const bool is_zero = dtype.is_integer() && factors >= dtype.size() * 8;
        if (factors > most && !is_zero) continue;
        ASSERT_EQ(y.At(o), is_zero ? 0 : std::ldexp(1.0, factors)) << dtype.name();
      }
    }
  }
}

// The position that is chosen from a window, or -1.
int64_t ChosenElement(const WindowsDesc& desc, Reduction reduction, const Buffer& x, int64_t o) {
  int64_t chosen = -1;
  ForEachElementOf(desc, o, [&](int64_t i) {
    if (chosen < 0) {
      chosen = i;
      return;
    }
    const bool keeps =
        reduction == Reduction::kMax ? x.At(chosen) >= x.At(i) : x.At(chosen) <= x.At(i);
    if (!keeps) chosen = i;
  });
  return chosen;
}

TEST(WindowChoice, MatchesALoop) {
  int number = 0;
  for (const WindowCase& c : WindowCases()) {
    SCOPED_TRACE("case " + std::to_string(number++));
    for (DType dtype : {i8, u16, i32, u32, i64, u64, f16, bf16, f32, f64}) {
      for (Reduction r : {Reduction::kMax, Reduction::kMin}) {
        const WindowsDesc desc = WindowsOf(dtype, c);
        const int64_t n = Count(desc.operand), m = Count(desc.result);
        Buffer x = Random(dtype, n, 3, true);
        for (int64_t i = 0; i + 1 < n; i += 3) x.Set(i + 1, x.At(i));  // ties
        const Buffer other = Random(dtype, n, 4), updates = Random(dtype, m, 5);
        std::vector<double> taken(static_cast<size_t>(m)), put(static_cast<size_t>(n));
        for (int64_t o = 0; o < m; ++o) {
          const int64_t at = ChosenElement(desc, r, x, o);
          if (at < 0) continue;
          taken[static_cast<size_t>(o)] = other.At(at);
          put[static_cast<size_t>(at)] += updates.At(o);
        }
        Buffer y(dtype, m), y3(dtype, m), z(dtype, n), z3(dtype, n);
        Call(WindowTake(desc, r), {&x, &other}, {&y});
        Call(WindowTake(desc, r), {&x, &other}, {&y3}, 3);
        EXPECT_TRUE(Near(y, taken, 0)) << dtype.name() << " take";
        EXPECT_TRUE(SameBits(y3, y));
        Call(WindowPut(desc, r), {&x, &updates}, {&z});
        Call(WindowPut(desc, r), {&x, &updates}, {&z3}, 3);
        if (dtype.size() >= 4) {
          EXPECT_TRUE(Near(z, put, dtype.is_floating() ? 16 * test::Tolerance(dtype) : 0))
              << dtype.name() << " put";
        } else if (dtype.is_floating()) {
          EXPECT_TRUE(Near(z, put, 2 * test::Tolerance(dtype))) << dtype.name() << " put";
        }
        EXPECT_TRUE(SameBits(z3, z));
      }
    }
  }
}

// The choices of jax.lax.reduce_window's derivative.
TEST(WindowChoice, BeginsAgainAfterNaN) {
  const Buffer other = Numbers(f32, {1, 2, 3});
  const WindowsDesc desc{f32, {3}, {1}, {WindowAlong(3)}};
  const struct {
    std::vector<double> x;
    double max, min;
  } cases[] = {{{1, kNan, 3}, 3, 3},          {{kNan, 3, 1}, 2, 3},     {{3, 1, kNan}, 3, 3},
               {{kNan, 1, 3}, 3, 2},          {{2, 2, 1}, 1, 3},        {{kNan, kNan, kNan}, 3, 3},
               {{-kInf, -kInf, -kInf}, 1, 1}, {{-0.0, 0.0, -0.0}, 1, 1}};
  for (const auto& c : cases) {
    const Buffer x = Numbers(f32, c.x);
    Buffer y(f32, 1);
    Call(WindowTake(desc, Reduction::kMax), {&x, &other}, {&y});
    EXPECT_EQ(y.At(0), c.max);
    Call(WindowTake(desc, Reduction::kMin), {&x, &other}, {&y});
    EXPECT_EQ(y.At(0), c.min);
    // The window is alone, and then one of two that overlap.
    for (const bool overlaps : {false, true}) {
      const WindowsDesc put{f32, {3}, {overlaps ? 2 : 1}, {WindowAlong(3, 1, 0)}};
      const Buffer updates = Numbers(f32, {7, 0});
      for (const auto& [r, at] : {std::pair(Reduction::kMax, c.max), {Reduction::kMin, c.min}}) {
        Buffer z(f32, 3);
        Call(WindowPut(put, r), {&x, &updates}, {&z});
        for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(z.At(i), i + 1 == at ? 7 : 0);
      }
    }
  }
}

TEST(WindowChoice, IntegersWrap) {
  const WindowsDesc desc{i8, {3}, {3}, {WindowAlong(3, 1, 1)}};
  const Buffer x = Numbers(i8, {0, 5, 0}), updates = Numbers(i8, {100, 100, 100});
  Buffer z(i8, 3);
  Call(WindowPut(desc, Reduction::kMax), {&x, &updates}, {&z});
  EXPECT_TRUE(Near(z, {0, 44, 0}, 0));
}

// A sum of many elements must not round at each of them.
TEST(ReduceWindow, SumsOfLargeWindowsAreExact) {
  const int64_t n = 100000;
  Buffer x(f32, n);
  for (int64_t i = 0; i < n; ++i) x.Set(i, 0.1f);
  for (const WindowDim& dim : {WindowAlong(n), WindowAlong(n / 2, 1), WindowAlong(n / 2, n / 2)}) {
    const WindowsDesc desc = WindowsOf(f32, {{n}, {dim}, {0}});
    Buffer y(f32, desc.result[0]);
    Call(ReduceWindow(desc, Reduction::kSum), {&x}, {&y});
    const double want = static_cast<double>(0.1f) * static_cast<double>(dim.size);
    for (int64_t o = 0; o < y.n; o += 1000) ASSERT_NEAR(y.At(o), want, 1e-6 * want);
  }
}

}  // namespace
}  // namespace tessera::kernels
