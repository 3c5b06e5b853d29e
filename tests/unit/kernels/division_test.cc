// Quotients and remainders of integers by a constant, by one number per row, and by one
// per element.
#include <limits>
#include <random>
#include <set>
#include <type_traits>

#include "fuzz.h"
#include "kernels/fused/fused.h"
#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using enum plan::ScalarOp;
using test::Buffer;
using test::Call;
using test::Group;
using test::SameBits;

constexpr DType kDividedDTypes[] = {i8, i16, i32, i64, u8, u16, u32, u64};

// The definition in plan/scalar_op.h.
template <class T>
T Quotient(T x, T y) {
  if (y == 0) return static_cast<T>(~T{0});
  if (std::is_signed_v<T> && y == static_cast<T>(-1))
    return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x));
  return static_cast<T>(x / y);
}
template <class T>
T Remainder(T x, T y) {
  if (y == 0) return x;
  return std::is_signed_v<T> && y == static_cast<T>(-1) ? T{0} : static_cast<T>(x % y);
}

// Small numbers, numbers around powers of two and the ends of the dtype with both signs, and random
// numbers; for 8 bits, all numbers.
template <class T>
std::set<T> Divisors() {
  std::set<T> divisors;
  for (int k = 0; k < 256; ++k) divisors.insert(static_cast<T>(k));
  for (size_t bit = 0; bit < sizeof(T) * 8; ++bit)
    for (int near : {-1, 0, 1}) divisors.insert(static_cast<T>((uint64_t{1} << bit) + near));
  std::mt19937_64 random(sizeof(T));
  for (uint32_t k = 0; k < FuzzCount(40); ++k) {
    const uint64_t bits = random();
    divisors.insert(static_cast<T>(bits >> random() % (sizeof(T) * 8)));
  }
  for (T d : std::set<T>(divisors)) divisors.insert(static_cast<T>(uint64_t{0} - d));
  return divisors;
}
// Numbers around multiples of the divisor and around the ends of the dtype.
template <class T>
std::vector<T> Dividends(T divisor, std::mt19937_64& random) {
  std::vector<T> numbers;
  const auto around = [&](uint64_t v) {
    for (int near : {-1, 0, 1}) numbers.push_back(static_cast<T>(v + static_cast<uint64_t>(near)));
  };
  around(0);
  around(static_cast<uint64_t>(std::numeric_limits<T>::max()));
  around(static_cast<uint64_t>(std::numeric_limits<T>::lowest()));
  for (int k = 0; k < 40; ++k) {
    const uint64_t factor = random() >> random() % 64;
    around(factor * static_cast<uint64_t>(divisor));
    numbers.push_back(static_cast<T>(random()));
  }
  // All multiples that fit into the dtype. Those that wrap only serve as random numbers.
  if (divisor != 0)
    for (int k = -9; k < 10; ++k)
      around(static_cast<uint64_t>(std::numeric_limits<T>::max() / divisor + k) *
             static_cast<uint64_t>(divisor));
  return numbers;
}
template <class T>
Buffer BufferOf(DType dtype, const std::vector<T>& numbers) {
  Buffer b(dtype, static_cast<int64_t>(numbers.size()));
  std::copy(numbers.begin(), numbers.end(), b.as<T>());
  return b;
}

// Quotient and remainder of x by y, where y is a constant, a number per row or one per element.
enum class By { kConstant, kRow, kLanes };
plan::FusedDesc Both(DType dtype, const Buffer& y, By by, int64_t n) {
  Group g({n});
  const int x = g.Input(dtype);
  int number = -1;
  if (by == By::kConstant) {
    number = g.Constant(dtype, 0);
    std::memcpy(&g.desc.nodes[static_cast<size_t>(number)].bits, y.bytes.get(),
                static_cast<size_t>(dtype.size()));
  } else {
    number = g.Input(dtype, {by == By::kRow ? 0 : 1});
  }
  g.Output(g.Op(kDiv, dtype, x, number));
  g.Output(g.Op(kRem, dtype, x, number));
  return g.desc;
}

template <class T>
void ExpectBoth(DType dtype, const std::vector<T>& x, const std::vector<T>& y, By by) {
  std::vector<T> quotients, rests;
  for (size_t i = 0; i < x.size(); ++i) {
    const T d = y[by == By::kLanes ? i : 0];
    quotients.push_back(Quotient(x[i], d));
    rests.push_back(Remainder(x[i], d));
  }
  const Buffer in = BufferOf(dtype, x), divisors = BufferOf(dtype, y);
  Buffer q(dtype, in.n), r(dtype, in.n);
  const plan::Kernel kernel = Fused(Both(dtype, divisors, by, in.n));
  std::vector<const Buffer*> operands = {&in};
  if (by != By::kConstant) operands.push_back(&divisors);
  Call(kernel, operands, {&q, &r});
  const auto what = [&] {
    return std::string(dtype.name()) + " by " + std::to_string(y[0]) + ", way " +
           std::to_string(static_cast<int>(by));
  };
  EXPECT_TRUE(SameBits(q, BufferOf(dtype, quotients))) << what();
  EXPECT_TRUE(SameBits(r, BufferOf(dtype, rests))) << what();
}

template <class F>
void ForEachInteger(F f) {
  for (DType dtype : kDividedDTypes) {
    base::VisitDType(dtype, [&](auto t) {
      using T = decltype(t);
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) f(dtype, T{});
    });
  }
}

TEST(Division, ByEachNumberIsExact) {
  ForEachInteger([]<class T>(DType dtype, T) {
    std::mt19937_64 random(3);
    for (T divisor : Divisors<T>()) {
      const std::vector<T> x = Dividends(divisor, random);
      ExpectBoth<T>(dtype, x, {divisor}, By::kConstant);
      ExpectBoth<T>(dtype, x, {divisor}, By::kRow);
    }
  });
}

TEST(Division, OfLanesByLanesIsExact) {
  ForEachInteger([]<class T>(DType dtype, T) {
    std::mt19937_64 random(4);
    std::vector<T> x, y;
    for (T divisor : Divisors<T>())
      for (T dividend : Dividends(divisor, random)) x.push_back(dividend), y.push_back(divisor);
    ExpectBoth(dtype, x, y, By::kLanes);
  });
}

// In a program of 64-bit lanes, values of 32 bits fill half of the vectors.
TEST(Division, IsExactNextToWideLanes) {
  for (DType dtype : {i32, u32}) {
    for (bool constant : {true, false}) {
      constexpr int64_t kN = 77;
      Group g({kN});
      const int x = g.Input(dtype), y = constant ? g.Constant(dtype, 7) : g.Input(dtype);
      const int q = g.Op(kDiv, dtype, x, y);
      g.Output(g.Op(kAdd, i64, g.Op(kConvert, i64, q), g.Iota(i64, 0)));
      Buffer a(dtype, kN), b(dtype, kN), got(i64, kN), want(i64, kN);
      for (int64_t i = 0; i < kN; ++i) {
        a.Set(i, static_cast<double>(i * 1000));
        b.Set(i, static_cast<double>(constant ? 7 : i % 9 + 1));
        want.as<int64_t>()[i] = i * 1000 / (constant ? 7 : i % 9 + 1) + i;
      }
      std::vector<const Buffer*> in = {&a};
      if (!constant) in.push_back(&b);
      Call(Fused(g.desc), in, {&got});
      EXPECT_TRUE(SameBits(got, want)) << dtype.name() << ", " << constant;
    }
  }
}

}  // namespace
}  // namespace tessera::kernels
