// Sums with random signs: a few numbers that change if any element changes.
#pragma once
#include <array>
#include <cstdint>

namespace tessera::kernels {

// Element number i of an array belongs to bucket i mod kBuckets, with a sign that depends on i.
// Numbers that are not finite are counted and left out.
struct SignedSums {
  static constexpr int kBuckets = 32;
  std::array<double, kBuckets> sums{}, squares{};
  int64_t nans = 0, positive = 0, negative = 0;  // counts of NaN and of infinities
};

// Returns a number in which each bit of x changes each bit with probability 1/2.
// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
constexpr uint64_t MixedBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Add elements first, first + 1, ... of an array.
void AddSignedSums(const float* x, int64_t count, int64_t first, SignedSums& to);
void AddSignedSums(const double* x, int64_t count, int64_t first, SignedSums& to);

}  // namespace tessera::kernels
