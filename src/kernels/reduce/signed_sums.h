// Sums with random signs: a few numbers that change if any element changes.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace tessera::kernels {

// Element number i of an array belongs to bucket i mod kBuckets, with a sign that depends on i.
// Numbers that are not finite are counted and left out.
struct SignedSums {
  static constexpr int kBuckets = 32;
  std::array<double, kBuckets> sums{}, squares{};
  int64_t nans = 0, positive = 0, negative = 0;  // counts of NaN and of infinities

  void Add(const SignedSums& other) {
    for (size_t k = 0; k < kBuckets; ++k) sums[k] += other.sums[k], squares[k] += other.squares[k];
    nans += other.nans, positive += other.positive, negative += other.negative;
  }
};

// Returns a number in which each bit of x changes each bit with probability 1/2.
// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
constexpr uint64_t MixedBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The signs of all elements.
class SignTable {
 public:
  static constexpr int64_t kPeriod = 1024;
  SignTable();
  // Returns the signs of the elements of a period: of elements period * kPeriod and following.
  const double* OfPeriod(int64_t period) const {
    return signs_[MixedBits(static_cast<uint64_t>(period)) & 1].data();
  }

 private:
  std::array<double, kPeriod> signs_[2];  // one is the opposite of the other
};

// Rows of an array: row r has `count` elements from number first + r * step on, which are stored
// from r * stride on.
struct SignedRows {
  int64_t rows = 1, count = 0, first = 0, step = 0, stride = 0;
  // Rows are fast from a multiple of it on, up to another one.
  static constexpr int64_t kGroup = 8;
};
// Add the rows to the sums.
void AddSignedSums(const float* x, const SignedRows& rows, SignedSums& to);
void AddSignedSums(const double* x, const SignedRows& rows, SignedSums& to);

}  // namespace tessera::kernels
