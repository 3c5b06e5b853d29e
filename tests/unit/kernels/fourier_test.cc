// Kernels of Fourier transforms against sums in long double.
#include "kernels/fourier/fourier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <string>

#include "kernels/fourier/lengths.h"
#include "unit/kernels/copy_test_util.h"

namespace tessera::kernels {
namespace {

using Wide = std::complex<long double>;

bool IsInverse(FourierKind kind) {
  return kind == FourierKind::kInverse || kind == FourierKind::kToReal;
}
int64_t InSize(const FourierDesc& d) { return d.kind == FourierKind::kToReal ? d.n / 2 + 1 : d.n; }
int64_t OutSize(const FourierDesc& d) {
  return d.kind == FourierKind::kFromReal ? d.n / 2 + 1 : d.n;
}
std::string Text(const FourierDesc& d) {
  return fmt::format("kind {} [{}, {}, {}] wide {}", static_cast<int>(d.kind), d.outer, d.n,
                     d.inner, d.is_wide);
}

// Elements [outer, size, inner], of numbers or of real parts alone.
template <class T>
struct Elements {
  int64_t size, inner;
  bool is_real;
  std::vector<T> parts;
  Elements(const FourierDesc& d, int64_t size_in, bool is_real_in)
      : size(size_in),
        inner(d.inner),
        is_real(is_real_in),
        parts(static_cast<size_t>(d.outer * size_in * d.inner * (is_real_in ? 1 : 2))) {}
  Wide At(int64_t o, int64_t k, int64_t i) const {
    const auto at = static_cast<size_t>((o * size + k) * inner + i);
    return is_real ? Wide(parts[at]) : Wide(parts[2 * at], parts[2 * at + 1]);
  }
};

template <class T>
Bytes Transformed(const plan::Kernel& kernel, const std::vector<T>& in, size_t out_parts,
                  int32_t parts) {
  const Bytes from = ToBytes(in);
  Bytes to(out_parts * sizeof(T));
  RunParts(kernel, {&from}, {&to}, parts);
  return to;
}

std::vector<Wide> RootsOf(int64_t n) {
  std::vector<Wide> roots;
  for (int64_t k = 0; k < n; ++k) roots.push_back(RootOfUnity<long double>(k, n));
  return roots;
}

// Returns the largest error of some results, relative to the root of the sum of squares.
template <class T>
double ErrorOf(const FourierDesc& d, const std::vector<Wide>& roots) {
  Elements<T> x(d, InSize(d), d.kind == FourierKind::kFromReal);
  Elements<T> y(d, OutSize(d), d.kind == FourierKind::kToReal);
  std::mt19937 random(static_cast<uint32_t>(d.n));
  std::normal_distribution<double> normal;
  for (T& part : x.parts) part = static_cast<T>(normal(random));
  const plan::Kernel kernel = Fourier(d);
  const Bytes got = Transformed(kernel, x.parts, y.parts.size(), 1);
  EXPECT_EQ(got, Transformed(kernel, x.parts, y.parts.size(), 3)) << Text(d);
  std::memcpy(y.parts.data(), got.data(), got.size());

  double worst = 0;
  const int64_t lanes = d.outer * d.inner;
  for (int64_t lane = 0; lane < lanes; lane += std::max<int64_t>(1, lanes / 3)) {
    const int64_t o = lane / d.inner, i = lane % d.inner;
    std::vector<Wide> in;
    long double squares = 0;
    for (int64_t k = 0; k < d.n; ++k) {
      const bool is_mirrored = k >= x.size;
      Wide v = x.At(o, is_mirrored ? d.n - k : k, i);
      if (is_mirrored) v = std::conj(v);
      if (d.kind == FourierKind::kToReal && (k == 0 || 2 * k == d.n)) v = v.real();
      in.push_back(v);
      squares += std::norm(v);
    }
    for (int64_t j = 0; j < y.size; j += std::max<int64_t>(1, y.size / 40)) {
      Wide sum = 0;
      for (int64_t k = 0; k < d.n; ++k) {
        const Wide root = roots[static_cast<size_t>(j * k % d.n)];
        sum += in[static_cast<size_t>(k)] * (IsInverse(d.kind) ? std::conj(root) : root);
      }
      const long double error =
          std::abs(sum * static_cast<long double>(d.scale) - y.At(o, j, i)) / std::sqrt(squares);
      worst = std::max(worst, static_cast<double>(error));
    }
  }
  return worst;
}

double ErrorOf(const FourierDesc& d, const std::vector<Wide>& roots) {
  return d.is_wide ? ErrorOf<double>(d, roots) : ErrorOf<float>(d, roots);
}

// Every small length, products of all radices, primes, and lengths around them.
const int64_t kLengths[] = {1,   2,   3,   4,   5,   6,   7,   8,    9,    10,   11,  12,  13,  15,
                            16,  17,  18,  20,  24,  29,  31,  32,   33,   34,   37,  48,  49,  60,
                            61,  64,  66,  81,  97,  100, 101, 121,  127,  128,  130, 143, 194, 202,
                            243, 256, 360, 499, 512, 625, 997, 1000, 1001, 1009, 1024};

TEST(Fourier, MatchesSumsForEveryKindOfLength) {
  const std::pair<int64_t, int64_t> around[] = {{1, 1}, {3, 1}, {17, 1}, {1, 5}, {3, 19}, {1, 40}};
  for (int64_t n : kLengths) {
    const std::vector<Wide> roots = RootsOf(n);
    for (const auto& [outer, inner] : around)
      for (int k = 0; k < 8; ++k) {
        const FourierDesc d{static_cast<FourierKind>(k % 4), k >= 4, outer, n, inner, 0.5};
        EXPECT_LE(ErrorOf(d, roots), d.is_wide ? 2e-15 : 1e-6) << Text(d);
      }
  }
}

TEST(Fourier, MatchesSumsForLongRows) {
  for (int64_t n : {2048, 2310, 6561, 8191, 10007, 20014, 30030, 65536}) {
    const std::vector<Wide> roots = RootsOf(n);
    for (int k = 0; k < 8; ++k) {
      const FourierDesc d{static_cast<FourierKind>(k % 4), k >= 4, 1, n, 1, 1};
      EXPECT_LE(ErrorOf(d, roots), d.is_wide ? 4e-15 : 2e-6) << Text(d);
    }
  }
}

TEST(Fourier, InPlaceIsTheSame) {
  for (int64_t n : {8, 60, 97, 4099, 16384})
    for (FourierKind kind : {FourierKind::kForward, FourierKind::kInverse}) {
      const FourierDesc d{kind, false, 20, n, 1, 1};
      const plan::Kernel kernel = Fourier(d);
      ASSERT_EQ(kernel.in_place, 1U);
      std::vector<float> x(static_cast<size_t>(20 * n * 2));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
      Bytes both = ToBytes(x);
      RunParts(kernel, {&both}, {&both}, 2);
      EXPECT_EQ(both, Transformed(kernel, x, x.size(), 1)) << Text(d);
    }
}

TEST(Fourier, OfNothing) {
  for (const FourierDesc& d : {FourierDesc{.outer = 0, .n = 8}, FourierDesc{.n = 8, .inner = 0}}) {
    Bytes none;
    RunParts(Fourier(d), {&none}, {&none}, 1);
  }
}

TEST(Fourier, PassesAndConvolutionsOfEachLength) {
  EXPECT_TRUE(HasSmallFactors(1));
  EXPECT_TRUE(HasSmallFactors(31 * 29 * 8));
  EXPECT_FALSE(HasSmallFactors(37));
  EXPECT_EQ(SmoothAtLeast(1), 1);
  EXPECT_EQ(SmoothAtLeast(193), 200);
  EXPECT_EQ(SmoothAtLeast(2 * 1009 - 1), 2025);
  EXPECT_EQ(PrimeFactors(360), (std::vector<int64_t>{2, 2, 2, 3, 3, 5}));
}

}  // namespace
}  // namespace tessera::kernels
