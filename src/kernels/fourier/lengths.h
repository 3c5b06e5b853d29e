// How transforms of a length are computed, and their tables of roots of unity.
#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::kernels {

// Returns exp(-2 pi i k / n), rounded once.
template <class T>
std::complex<T> RootOfUnity(int64_t k, int64_t n);

// The largest prime factor that has a pass of its own.
inline constexpr int kLargestRadix = 31;

// Transforms of `n` elements, for as many numbers at once as a vector has lanes.
template <class T>
struct LaneTransform {
  explicit LaneTransform(int64_t length);
  ~LaneTransform();

  // A pass that combines `radix` transforms of a shorter length.
  struct RadixPass {
    int radix = 2;
    // exp(-2 pi i p j / m radix), for p in [0, m) and then j in [1, radix), where m is the length
    // that is left after the pass.
    std::vector<std::complex<T>> twiddles = {};
    // exp(-2 pi i j / radix) for j in [0, radix), of radices without code of their own.
    std::vector<std::complex<T>> roots = {};
  };

  int64_t n = 1;
  std::vector<RadixPass> passes;
  // If n has a large prime factor, a convolution of length chirped->n replaces the passes.
  std::unique_ptr<const LaneTransform> chirped;
  std::vector<std::complex<T>> chirp;   // exp(-pi i k^2 / n)
  std::vector<std::complex<T>> filter;  // the transform of the conjugate chirp, over its length

  // Returns the elements of each of the two buffers that a transform needs.
  int64_t buffer() const { return chirped ? chirped->n : n; }
};

// A transform of one long row.
template <class T>
struct RowTransform {
  explicit RowTransform(int64_t length, int64_t lanes);
  ~RowTransform();

  int64_t n = 1;
  // The row as a matrix [first->n, second->n]: first its columns are transformed, then its rows.
  std::unique_ptr<const LaneTransform<T>> first, second;
  // For each row k: the real parts of exp(-2 pi i k c / n) for the columns c of one vector, and
  // then the imaginary parts.
  std::vector<T> near;
  // exp(-2 pi i j / n) for multiples j of kFarStep, and for j below it.
  static constexpr int64_t kFarStep = 1024;
  std::vector<std::complex<double>> far, within;

  // If n is not such a product, a convolution of length chirped->n.
  std::unique_ptr<const RowTransform> chirped;
  std::vector<std::complex<T>> chirp, filter;

  std::complex<double> Root(int64_t j) const { return far[j / kFarStep] * within[j % kFarStep]; }
  // Returns the elements of a row that is not transformed directly.
  int64_t buffer() const { return chirped ? chirped->n : n; }
};

// Returns the prime factors, ascending.
std::vector<int64_t> PrimeFactors(int64_t n);
// Whether passes can transform n elements.
bool HasSmallFactors(int64_t n);
// Returns the smallest product of powers of 2, 3 and 5 that is at least n.
int64_t SmoothAtLeast(int64_t n);

}  // namespace tessera::kernels
