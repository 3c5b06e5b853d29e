// Sums with random signs: rows in vectors add up the same numbers as one element after the other.
#include "kernels/reduce/signed_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tessera::kernels {
namespace {

// Small whole numbers, whose sums are exact in any order.
template <class T>
std::vector<T> WholeNumbers(int64_t n) {
  std::vector<T> x(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(i)] = static_cast<T>(i * 7919 % 201 - 100);
  return x;
}

template <class T>
SignedSums OneByOne(const std::vector<T>& x, const SignedRows& rows) {
  SignedSums sums;
  for (int64_t r = 0; r < rows.rows; ++r)
    for (int64_t i = 0; i < rows.count; ++i)
      AddSignedSums(x.data() + r * rows.stride + i,
                    {.count = 1, .first = rows.first + r * rows.step + i}, sums);
  return sums;
}

void ExpectSame(const SignedSums& a, const SignedSums& b) {
  EXPECT_EQ(a.sums, b.sums);
  EXPECT_EQ(a.squares, b.squares);
  EXPECT_EQ(a.nans, b.nans);
  EXPECT_EQ(a.positive, b.positive);
  EXPECT_EQ(a.negative, b.negative);
}

template <class T>
void ExpectRowsAddUp(const std::vector<T>& x, const SignedRows& rows) {
  SCOPED_TRACE(testing::Message() << rows.rows << " rows of " << rows.count << " from "
                                  << rows.first << " by " << rows.step);
  SignedSums sums;
  AddSignedSums(x.data(), rows, sums);
  ExpectSame(sums, OneByOne(x, rows));
}

template <class T>
void ExpectAllRowsAddUp() {
  const std::vector<T> x = WholeNumbers<T>(1 << 13);
  for (const int64_t count : {0, 1, 7, 8, 24, 32, 40, 64, 100, 1500})
    for (const int64_t first : {0, 3, 8, 16, 24, 1016, 1020, 4096})
      for (const int64_t step : {1504, 1536, 2048, 2049})
        ExpectRowsAddUp(x,
                        {.rows = 5, .count = count, .first = first, .step = step, .stride = 1600});
}

TEST(SignedSums, AddRowsOfFloats) { ExpectAllRowsAddUp<float>(); }
TEST(SignedSums, AddRowsOfDoubles) { ExpectAllRowsAddUp<double>(); }

TEST(SignedSums, CountWhatIsNotFinite) {
  std::vector<float> x = WholeNumbers<float>(1024);
  x[5] = std::numeric_limits<float>::quiet_NaN();
  x[300] = std::numeric_limits<float>::infinity();
  x[301] = -x[300];
  x[1000] = x[300];
  ExpectRowsAddUp(x, {.rows = 4, .count = 256, .first = 64, .step = 512, .stride = 256});
  SignedSums sums;
  AddSignedSums(x.data(), {.count = 1024}, sums);
  EXPECT_EQ(sums.nans, 1);
  EXPECT_EQ(sums.positive, 2);
  EXPECT_EQ(sums.negative, 1);
  for (const double sum : sums.sums) EXPECT_TRUE(std::isfinite(sum));
}

// Their squares overflow.
TEST(SignedSums, HoldLargeDoubles) {
  std::vector<double> x(64, 0.0);
  x[3] = 1e300;
  SignedSums sums;
  AddSignedSums(x.data(), {.count = 64}, sums);
  EXPECT_EQ(std::abs(sums.sums[3]), 1e300);
  EXPECT_TRUE(std::isinf(sums.squares[3]));
  EXPECT_EQ(sums.nans + sums.positive + sums.negative, 0);
}

TEST(SignedSums, ChangeWithEveryElement) {
  const std::vector<float> x = WholeNumbers<float>(4096);
  SignedSums before;
  AddSignedSums(x.data(), {.count = 4096}, before);
  for (size_t i = 0; i < x.size(); i += 13) {
    std::vector<float> changed = x;
    changed[i] += 1;
    SignedSums after;
    AddSignedSums(changed.data(), {.count = 4096}, after);
    EXPECT_NE(before.sums, after.sums) << i;
  }
}

}  // namespace
}  // namespace tessera::kernels
