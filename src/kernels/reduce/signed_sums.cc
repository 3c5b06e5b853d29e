// Sums with random signs, in vectors of doubles. Compiled once per instruction set.
#include "kernels/reduce/signed_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/signed_sums.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;
using Vector = hn::Vec<Doubles>;
constexpr size_t kWidth = hn::MaxLanes(Doubles());
constexpr size_t kVectors = SignedSums::kBuckets / kWidth;

inline Vector Loaded(const double* x) { return hn::LoadU(Doubles(), x); }
inline Vector Loaded(const float* x) {
  return hn::PromoteTo(Doubles(), hn::LoadU(hn::Rebind<float, Doubles>(), x));
}

// Adds `blocks` times kBuckets elements from bucket 0 on. Returns false, and adds nothing, if one
// is not finite.
template <class T>
bool AddBlocks(const T* x, int64_t blocks, const double* signs, double turn, SignedSums& to) {
  const Doubles d;
  const Vector zero = hn::Zero(d);
  std::array<Vector, kVectors> sums, squares;
  sums.fill(zero);
  squares.fill(zero);
  Vector not_finite = zero;
  for (int64_t b = 0; b < blocks; ++b) {
    for (size_t k = 0; k < kVectors; ++k) {
      const size_t at = static_cast<size_t>(b) * SignedSums::kBuckets + k * kWidth;
      const Vector v = Loaded(x + at);
      not_finite = hn::MulAdd(v, zero, not_finite);
      sums[k] = hn::MulAdd(v, hn::LoadU(d, signs + at), sums[k]);
      squares[k] = hn::MulAdd(v, v, squares[k]);
    }
  }
  if (!hn::AllTrue(d, hn::Eq(not_finite, zero))) return false;
  const Vector turns = hn::Set(d, turn);
  for (size_t k = 0; k < kVectors; ++k) {
    double* sum = to.sums.data() + k * kWidth;
    double* square = to.squares.data() + k * kWidth;
    hn::StoreU(hn::MulAdd(sums[k], turns, hn::LoadU(d, sum)), d, sum);
    hn::StoreU(hn::Add(squares[k], hn::LoadU(d, square)), d, square);
  }
  return true;
}

bool AddBlocksOfFloats(const float* x, int64_t n, const double* signs, double turn,
                       SignedSums& to) {
  return AddBlocks(x, n, signs, turn, to);
}
bool AddBlocksOfDoubles(const double* x, int64_t n, const double* signs, double turn,
                        SignedSums& to) {
  return AddBlocks(x, n, signs, turn, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
namespace {

HWY_EXPORT(AddBlocksOfFloats);
HWY_EXPORT(AddBlocksOfDoubles);

constexpr int64_t kBuckets = SignedSums::kBuckets;
constexpr int64_t kPeriod = 1024;  // of the signs, but for one that changes with each period

const std::array<double, kPeriod>& Signs() {
  static const auto signs = [] {
    std::array<double, kPeriod> s{};
    for (size_t i = 0; i < s.size(); ++i) s[i] = MixedBits(i + 1) & 1 ? 1 : -1;
    return s;
  }();
  return signs;
}

bool AddFinite(const float* x, int64_t blocks, const double* signs, double turn, SignedSums& to) {
  return HWY_DYNAMIC_DISPATCH(AddBlocksOfFloats)(x, blocks, signs, turn, to);
}
bool AddFinite(const double* x, int64_t blocks, const double* signs, double turn, SignedSums& to) {
  return HWY_DYNAMIC_DISPATCH(AddBlocksOfDoubles)(x, blocks, signs, turn, to);
}

template <class T>
void AddWhole(const T* x, int64_t blocks, const double* signs, double turn, SignedSums& to) {
  if (AddFinite(x, blocks, signs, turn, to)) return;
  for (int64_t i = 0; i < blocks * kBuckets; ++i) {
    const double v = x[i];
    if (!std::isfinite(v)) {
      ++(std::isnan(v) ? to.nans : v > 0 ? to.positive : to.negative);
      continue;
    }
    to.sums[static_cast<size_t>(i % kBuckets)] += v * turn * signs[i];
    to.squares[static_cast<size_t>(i % kBuckets)] += v * v;
  }
}

template <class T>
void Add(const T* x, int64_t count, int64_t first, SignedSums& to) {
  for (int64_t done = 0; done < count;) {
    const int64_t at = first + done, slot = at % kPeriod;
    const double turn = MixedBits(static_cast<uint64_t>(at / kPeriod)) & 1 ? 1 : -1;
    const int64_t in_period = std::min(count - done, kPeriod - slot);
    const int64_t skipped = slot % kBuckets, blocks = in_period / kBuckets;
    if (skipped == 0 && blocks > 0) {
      AddWhole(x + done, blocks, Signs().data() + slot, turn, to);
      done += blocks * kBuckets;
      continue;
    }
    // Part of a block: zeros change nothing.
    std::array<T, kBuckets> block{};
    const int64_t some = std::min(in_period, kBuckets - skipped);
    std::copy_n(x + done, some, block.begin() + skipped);
    AddWhole(block.data(), 1, Signs().data() + slot - skipped, turn, to);
    done += some;
  }
}

}  // namespace

void AddSignedSums(const float* x, int64_t count, int64_t first, SignedSums& to) {
  Add(x, count, first, to);
}
void AddSignedSums(const double* x, int64_t count, int64_t first, SignedSums& to) {
  Add(x, count, first, to);
}

}  // namespace tessera::kernels
#endif  // HWY_ONCE
