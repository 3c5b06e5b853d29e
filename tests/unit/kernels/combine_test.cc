// The functions that combine buffers in reducing exchanges, against a loop in every dtype.
#include "kernels/reduce/combine.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "base/reductions.h"

namespace tessera::kernels {
namespace {

template <class A>
A CombineTwo(A a, A b, Reduction r) {
  if constexpr (std::is_floating_point_v<A>) {
    if (r == Reduction::kSum) return a + b;
    if (r == Reduction::kProd) return a * b;
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return std::signbit(a) == (r == Reduction::kMin) ? a : b;
    return (a < b) == (r == Reduction::kMin) ? a : b;
  } else {
    using U = uint64_t;
    switch (r) {
      case Reduction::kSum:
        return static_cast<A>(static_cast<U>(a) + static_cast<U>(b));
      case Reduction::kProd:
        return static_cast<A>(static_cast<U>(a) * static_cast<U>(b));
      case Reduction::kMax:
        return std::max(a, b);
      case Reduction::kMin:
        return std::min(a, b);
      case Reduction::kAnd:
        return static_cast<A>(a & b);
      case Reduction::kXor:
        return static_cast<A>(a ^ b);
      default:
        return static_cast<A>(a | b);
    }
  }
}

// For bool, a sum is "or" and a product is "and".
template <class T>
T Naive(const std::vector<std::vector<T>>& src, size_t i, Reduction r) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    float sum = static_cast<float>(src[0][i]);
    for (size_t j = 1; j < src.size(); ++j) sum = CombineTwo(sum, static_cast<float>(src[j][i]), r);
    return T(sum);
  } else {
    T sum = src[0][i];
    for (size_t j = 1; j < src.size(); ++j) sum = CombineTwo(sum, src[j][i], r);
    return sum;
  }
}

template <class T>
T RandomElement(std::mt19937_64& rng) {
  const uint64_t bits = rng();
  if constexpr (std::is_integral_v<T>) return static_cast<T>(bits);
  const double special[] = {0.0, -0.0, std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()};
  const double value =
      bits % 29 < 5 ? special[bits % 29] : static_cast<double>(static_cast<int64_t>(bits)) * 1e-18;
  return T(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value));
}

template <class T>
void Check(DType dtype, Reduction r, int k, int64_t n, bool stream) {
  using Raw = std::conditional_t<sizeof(T) == 2, uint16_t, T>;
  std::mt19937_64 rng(static_cast<uint64_t>(k) * 1000 + static_cast<uint64_t>(n));
  std::vector<std::vector<T>> src(k);
  std::vector<const std::byte*> at;
  for (auto& s : src) {
    for (int64_t i = 0; i < n; ++i) s.push_back(RandomElement<T>(rng));
    at.push_back(reinterpret_cast<const std::byte*>(s.data()));
  }
  std::vector<T> got(n + 2);
  plan::CombineFn fn = Combiner(dtype, r);
  ASSERT_NE(fn, nullptr);
  // Starts at the second element, which is not aligned to a vector.
  fn(at.data(), k, reinterpret_cast<std::byte*>(got.data() + 1), n, stream);
  for (int64_t i = 0; i < n; ++i) {
    const T want = Naive(src, i, r);
    bool same = std::memcmp(&got[i + 1], &want, sizeof(T)) == 0;
    if constexpr (std::is_floating_point_v<T>)
      same |= std::isnan(got[i + 1]) && std::isnan(want);
    else if constexpr (!std::is_integral_v<T>) {
      same |= std::isnan(static_cast<float>(got[i + 1])) && std::isnan(static_cast<float>(want));
    }
    Raw a, b;
    std::memcpy(&a, &got[i + 1], sizeof a), std::memcpy(&b, &want, sizeof b);
    ASSERT_TRUE(same) << dtype.name() << " reduction " << static_cast<int>(r) << " of " << k
                      << ", element " << i << " of " << n << ": " << +a << " instead of " << +b;
  }
  const T zero{};
  EXPECT_EQ(std::memcmp(&got[n + 1], &zero, sizeof(T)), 0) << "wrote past the end";
}

TEST(Combine, EqualsALoopForEveryDTypeAndReduction) {
  for (int code = DType::kI8; code <= DType::kF64; ++code) {
    const DType dtype(static_cast<DType::Code>(code));
    for (Reduction r : base::kReductions) {
      // Storage dtypes are combined in a wider one (spmd/passes/widen_storage.cc), except for
      // slices with zeros.
      if (dtype.is_storage()) {
        EXPECT_EQ(Combiner(dtype, r) == nullptr, r != Reduction::kSum);
        continue;
      }
      if ((dtype.is_floating() && r >= Reduction::kAnd)) {
        EXPECT_EQ(Combiner(dtype, r), nullptr);
        continue;
      }
      base::VisitDType(dtype, [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>) {
          for (int k : {1, 2, 3, 8, 16, 17, 40}) Check<T>(dtype, r, k, 333, k == 3);
          for (int64_t n : {0, 1, 7, 64, 2500}) Check<T>(dtype, r, 20, n, n == 2500);
        }
      });
    }
  }
}

TEST(Combine, OfBoolIsLogical) {
  const std::vector<uint8_t> a = {0, 0, 1, 1}, b = {0, 1, 0, 1};
  const std::byte* src[] = {reinterpret_cast<const std::byte*>(a.data()),
                            reinterpret_cast<const std::byte*>(b.data())};
  for (Reduction r : base::kReductions) {
    std::vector<uint8_t> got(4);
    Combiner(bool_, r)(src, 2, reinterpret_cast<std::byte*>(got.data()), 4, false);
    const bool both = r == Reduction::kProd || r == Reduction::kMin || r == Reduction::kAnd;
    EXPECT_THAT(got, both                   ? testing::ElementsAre(0, 0, 0, 1)
                     : r == Reduction::kXor ? testing::ElementsAre(0, 1, 1, 0)
                                            : testing::ElementsAre(0, 1, 1, 1));
  }
}

template <class T>
void CheckRounding(DType dtype) {
  std::vector<T> a, b, got(65536);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float v = std::bit_cast<float>(bits << 16 | (bits * 2654435761u >> 16));
    a.push_back(T(v)), b.push_back(T(v * 0.00037f));
  }
  const std::byte* src[] = {reinterpret_cast<const std::byte*>(a.data()),
                            reinterpret_cast<const std::byte*>(b.data())};
  Combiner(dtype, Reduction::kSum)(src, 2, reinterpret_cast<std::byte*>(got.data()),
                                   static_cast<int64_t>(got.size()), false);
  for (size_t i = 0; i < got.size(); ++i) {
    const float sum = static_cast<float>(a[i]) + static_cast<float>(b[i]);
    if (std::isnan(sum)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(got[i]))) << i;
    } else {
      ASSERT_EQ(got[i].bits, T(sum).bits) << dtype.name() << " " << sum;
    }
  }
}

TEST(Combine, RoundsNarrowFloatsAsTheHostTypesDo) {
  CheckRounding<Float16>(f16);
  CheckRounding<BFloat16>(bf16);
}

}  // namespace
}  // namespace tessera::kernels
