// Factors of lengths, roots of unity, and the tables of transforms.
#include "kernels/fourier/lengths.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tessera::kernels {
namespace {

using Wide = std::complex<double>;

// Returns the radices of the passes, whose product is n.
std::vector<int> RadicesOf(int64_t n) {
  std::vector<int> radices;
  const auto take = [&](int radix) {
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  };
  // Passes of 8 read and write the buffers least often. One of 8 and one of 2 cost more than two
  // of 4.
  while (n % 8 == 0 && n != 16) {
    radices.push_back(8);
    n /= 8;
  }
  take(4);
  for (int radix = 2; radix <= kLargestRadix; ++radix) take(radix);
  return radices;
}

// Returns exp(-pi i k^2 / n).
template <class T>
std::complex<T> ChirpAt(int64_t k, int64_t n) {
  // k^2 modulo 2n, which does not fit into 64 bits for all k.
  const auto square = static_cast<int64_t>(static_cast<__int128>(k) * k % (2 * n));
  return RootOfUnity<T>(square, 2 * n);
}

// All roots of unity of an order.
class RootTable {
 public:
  explicit RootTable(int64_t order) {
    for (int64_t j = 0; j < order; j += kStep) far_.push_back(RootOfUnity<long double>(j, order));
    for (int64_t j = 0; j < std::min(kStep, order); ++j)
      within_.push_back(RootOfUnity<long double>(j, order));
  }
  // Returns exp(-2 pi i j / order), for j in [0, order).
  std::complex<long double> At(int64_t j) const { return far_[j / kStep] * within_[j % kStep]; }

 private:
  static constexpr int64_t kStep = 1024;
  std::vector<std::complex<long double>> far_, within_;
};

// Transforms every `step`-th element of `in`, for tables. `roots` are of the order of the whole.
void TransformForTable(const std::vector<Wide>& in, size_t begin, size_t step,
                       const std::vector<Wide>& roots, Wide* out, Wide* scratch) {
  const size_t n = in.size() / step;
  if (n == 1) {
    out[0] = in[begin];
    return;
  }
  size_t radix = 2;
  while (n % radix != 0) ++radix;
  const size_t m = n / radix;
  for (size_t r = 0; r < radix; ++r)
    TransformForTable(in, begin + r * step, step * radix, roots, scratch + r * m, out + r * m);
  for (size_t k = 0; k < n; ++k) {
    Wide sum = 0;
    for (size_t r = 0; r < radix; ++r) sum += scratch[r * m + k % m] * roots[k * r % n * step];
    out[k] = sum;
  }
}
std::vector<Wide> TransformedForTable(const std::vector<Wide>& in) {
  const RootTable table(static_cast<int64_t>(in.size()));
  std::vector<Wide> roots(in.size()), out(in.size()), scratch(in.size());
  for (size_t j = 0; j < roots.size(); ++j) roots[j] = Wide(table.At(static_cast<int64_t>(j)));
  TransformForTable(in, 0, 1, roots, out.data(), scratch.data());
  return out;
}

// Sets the tables of a convolution of length m that transforms n elements (Bluestein, 1970).
template <class T>
void SetChirps(int64_t n, int64_t m, std::vector<std::complex<T>>& chirp,
               std::vector<std::complex<T>>& filter) {
  chirp.resize(static_cast<size_t>(n));
  std::vector<Wide> wide(static_cast<size_t>(m));
  for (int64_t k = 0; k < n; ++k) {
    chirp[k] = ChirpAt<T>(k, n);
    const Wide conjugate = std::conj(ChirpAt<double>(k, n));
    wide[k] = conjugate;
    if (k > 0) wide[m - k] = conjugate;
  }
  wide = TransformedForTable(wide);
  filter.resize(wide.size());
  // The inverse transform divides by m.
  for (size_t k = 0; k < wide.size(); ++k)
    filter[k] = std::complex<T>(wide[k] / static_cast<double>(m));
}

// Returns the divisor of n that is nearest to its root from below.
int64_t NearestDivisor(int64_t n) {
  auto divisor = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % divisor != 0) --divisor;
  return divisor;
}

}  // namespace

template <class T>
std::complex<T> RootOfUnity(int64_t k, int64_t n) {
  // Reduces the angle to an eighth of the circle, where sine and cosine are most accurate.
  int64_t eighths = 8 * (k % n);  // of 1 / n of the circle
  const bool is_lower = eighths > 4 * n;
  if (is_lower) eighths = 8 * n - eighths;
  const bool is_left = eighths > 2 * n;
  if (is_left) eighths = 4 * n - eighths;
  const bool is_steep = eighths > n;
  if (is_steep) eighths = 2 * n - eighths;
  const long double angle = std::numbers::pi_v<long double> / 4 *
                            static_cast<long double>(eighths) / static_cast<long double>(n);
  long double cosine = std::cos(angle), sine = std::sin(angle);
  if (is_steep) std::swap(cosine, sine);
  if (is_left) cosine = -cosine;
  if (is_lower) sine = -sine;
  return {static_cast<T>(cosine), static_cast<T>(-sine)};
}

std::vector<int64_t> PrimeFactors(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t f = 2; f * f <= n; ++f)
    for (; n % f == 0; n /= f) factors.push_back(f);
  if (n > 1) factors.push_back(n);
  return factors;
}

bool HasSmallFactors(int64_t n) { return n == 1 || PrimeFactors(n).back() <= kLargestRadix; }

int64_t SmoothAtLeast(int64_t n) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (int64_t fives = 1; fives < best; fives *= 5)
    for (int64_t threes = fives; threes < best; threes *= 3) {
      int64_t product = threes;
      while (product < n) product *= 2;
      best = std::min(best, product);
      if (threes >= n) break;
    }
  return best;
}

template <class T>
LaneTransform<T>::LaneTransform(int64_t length) : n(length) {
  if (!HasSmallFactors(n)) {
    chirped = std::make_unique<const LaneTransform>(SmoothAtLeast(2 * n - 1));
    SetChirps(n, chirped->n, chirp, filter);
    return;
  }
  int64_t left = n;
  for (int radix : RadicesOf(n)) {
    RadixPass pass{.radix = radix};
    const int64_t m = left / radix;
    for (int64_t p = 0; p < m; ++p)
      for (int64_t j = 1; j < radix; ++j) pass.twiddles.push_back(RootOfUnity<T>(p * j, left));
    for (int j = 0; j < radix; ++j) pass.roots.push_back(RootOfUnity<T>(j, radix));
    passes.push_back(std::move(pass));
    left = m;
  }
}
template <class T>
LaneTransform<T>::~LaneTransform() = default;

template <class T>
RowTransform<T>::RowTransform(int64_t length, int64_t lanes) : n(length) {
  const int64_t rows = NearestDivisor(n);
  // A matrix of few rows would be transformed with few lanes.
  if (n >= 64 && rows * rows * 64 < n) {
    chirped = std::make_unique<const RowTransform>(SmoothAtLeast(2 * n - 1), lanes);
    SetChirps(n, chirped->n, chirp, filter);
    return;
  }
  first = std::make_unique<const LaneTransform<T>>(rows);
  second = std::make_unique<const LaneTransform<T>>(n / rows);
  for (int64_t k = 0; k < rows; ++k) {
    for (int64_t c = 0; c < lanes; ++c) near.push_back(RootOfUnity<T>(k * c % n, n).real());
    for (int64_t c = 0; c < lanes; ++c) near.push_back(RootOfUnity<T>(k * c % n, n).imag());
  }
  for (int64_t j = 0; j < n; j += kFarStep) far.push_back(RootOfUnity<double>(j, n));
  for (int64_t j = 0; j < std::min(kFarStep, n); ++j) within.push_back(RootOfUnity<double>(j, n));
}
template <class T>
RowTransform<T>::~RowTransform() = default;

template std::complex<float> RootOfUnity<float>(int64_t, int64_t);
template std::complex<double> RootOfUnity<double>(int64_t, int64_t);
template std::complex<long double> RootOfUnity<long double>(int64_t, int64_t);
template struct LaneTransform<float>;
template struct LaneTransform<double>;
template struct RowTransform<float>;
template struct RowTransform<double>;

}  // namespace tessera::kernels
