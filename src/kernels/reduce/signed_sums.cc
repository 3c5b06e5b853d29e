// Sums with random signs, in vectors of doubles. Compiled once per instruction set.
#include "kernels/reduce/signed_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/at.h"
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

// Groups of elements, and as many of them as there are buckets: a block.
constexpr int64_t kGroup = SignedRows::kGroup, kGroups = SignedSums::kBuckets / kGroup;
constexpr size_t kGroupVectors = kGroup / kWidth;

// Finds the signs of elements that follow each other, mostly in the same period.
class SignCursor {
 public:
  explicit SignCursor(const SignTable& table) : table_(table) {}
  // Returns the signs of an element and of those after it, up to the end of its period.
  HWY_INLINE const double* At(int64_t element) {
    const int64_t period = element / SignTable::kPeriod;
    if (period != period_) period_ = period, signs_ = table_.OfPeriod(period);
    return signs_ + element % SignTable::kPeriod;
  }

 private:
  const SignTable& table_;
  int64_t period_ = -1;
  const double* signs_ = nullptr;
};

struct RowSums {
  std::array<Vector, kVectors> sums, squares;
};

// Adds a group of buckets.
template <class T>
HWY_INLINE void AddGroup(const T* x, const double* signs, size_t group, RowSums& to) {
  const Doubles d;
  for (size_t u = 0; u < kGroupVectors; ++u) {
    const size_t k = group % kGroups * kGroupVectors + u;
    const Vector v = Loaded(x + u * kWidth);
    to.sums[k] = hn::MulAdd(v, hn::LoadU(d, signs + u * kWidth), to.sums[k]);
    to.squares[k] = hn::MulAdd(v, v, to.squares[k]);
  }
}

// Adds rows of whole groups that begin with group kFirst of a block. Returns false, and adds
// nothing, if an element, or a sum of squares, is not finite.
template <class T, size_t kFirst>
bool AddRowsFrom(const T* x, const SignedRows& rows, const SignTable& table, SignedSums& to) {
  const Doubles d;
  const Vector zero = hn::Zero(d);
  SignCursor signs(table);
  RowSums own;
  own.sums.fill(zero);
  own.squares.fill(zero);
  for (int64_t r = 0; r < rows.rows; ++r) {
    const T* row = x + r * rows.stride;
    const int64_t first = rows.first + r * rows.step;
    int64_t i = 0;
    for (; i + kGroups * kGroup <= rows.count; i += kGroups * kGroup) {
      AddGroup(row + i, signs.At(first + i), kFirst, own);
      AddGroup(row + i + kGroup, signs.At(first + i + kGroup), kFirst + 1, own);
      AddGroup(row + i + 2 * kGroup, signs.At(first + i + 2 * kGroup), kFirst + 2, own);
      AddGroup(row + i + 3 * kGroup, signs.At(first + i + 3 * kGroup), kFirst + 3, own);
    }
    if (i < rows.count) AddGroup(row + i, signs.At(first + i), kFirst, own);
    if (i + kGroup < rows.count)
      AddGroup(row + i + kGroup, signs.At(first + i + kGroup), kFirst + 1, own);
    if (i + 2 * kGroup < rows.count)
      AddGroup(row + i + 2 * kGroup, signs.At(first + i + 2 * kGroup), kFirst + 2, own);
  }
  for (size_t k = 0; k < kVectors; ++k)
    if (!hn::AllTrue(d, hn::IsFinite(own.squares[k]))) return false;
  for (size_t k = 0; k < kVectors; ++k) {
    double* sum = to.sums.data() + k * kWidth;
    double* square = to.squares.data() + k * kWidth;
    hn::StoreU(hn::Add(own.sums[k], hn::LoadU(d, sum)), d, sum);
    hn::StoreU(hn::Add(own.squares[k], hn::LoadU(d, square)), d, square);
  }
  return true;
}

template <class T>
bool AddRows(const T* x, const SignedRows& rows, const SignTable& signs, SignedSums& to) {
  switch (rows.first / kGroup % kGroups) {
    case 0:
      return AddRowsFrom<T, 0>(x, rows, signs, to);
    case 1:
      return AddRowsFrom<T, 1>(x, rows, signs, to);
    case 2:
      return AddRowsFrom<T, 2>(x, rows, signs, to);
    default:
      return AddRowsFrom<T, 3>(x, rows, signs, to);
  }
}

bool AddRowsOfFloats(const float* x, const SignedRows& rows, const SignTable& signs,
                     SignedSums& to) {
  return AddRows(x, rows, signs, to);
}
bool AddRowsOfDoubles(const double* x, const SignedRows& rows, const SignTable& signs,
                      SignedSums& to) {
  return AddRows(x, rows, signs, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
namespace {

HWY_EXPORT(AddRowsOfFloats);
HWY_EXPORT(AddRowsOfDoubles);

constexpr int64_t kBuckets = SignedSums::kBuckets;
constexpr int64_t kGroup = SignedRows::kGroup;

const SignTable& Signs() {
  static const auto& signs = *new SignTable;
  return signs;
}

double SignOf(int64_t element) {
  return Signs().OfPeriod(element / SignTable::kPeriod)[element % SignTable::kPeriod];
}

bool AddFinite(const float* x, const SignedRows& rows, SignedSums& to) {
  return HWY_DYNAMIC_DISPATCH(AddRowsOfFloats)(x, rows, Signs(), to);
}
bool AddFinite(const double* x, const SignedRows& rows, SignedSums& to) {
  return HWY_DYNAMIC_DISPATCH(AddRowsOfDoubles)(x, rows, Signs(), to);
}

template <class T>
void AddOneByOne(const T* x, int64_t count, int64_t first, SignedSums& to) {
  for (int64_t i = 0; i < count; ++i) {
    const double v = x[i];
    if (!std::isfinite(v)) {
      ++(std::isnan(v) ? to.nans : v > 0 ? to.positive : to.negative);
      continue;
    }
    const auto bucket = static_cast<size_t>((first + i) % kBuckets);
    to.sums[bucket] += v * SignOf(first + i);
    to.squares[bucket] += v * v;
  }
}

template <class T>
void AddRow(const T* x, int64_t count, int64_t first, SignedSums& to) {
  const int64_t before = std::min(count, -first & (kGroup - 1));
  const int64_t whole = (count - before) / kGroup * kGroup;
  AddOneByOne(x, before, first, to);
  if (whole > 0 && !AddFinite(x + before, {1, whole, first + before, 0, 0}, to))
    AddOneByOne(x + before, whole, first + before, to);
  AddOneByOne(x + before + whole, count - before - whole, first + before + whole, to);
}

template <class T>
void Add(const T* x, const SignedRows& rows, SignedSums& to) {
  const bool is_fast = rows.count % kGroup == 0 && rows.first % kGroup == 0 &&
                       (rows.rows == 1 || rows.step % kBuckets == 0);
  if (is_fast && AddFinite(x, rows, to)) return;
  for (int64_t r = 0; r < rows.rows; ++r)
    AddRow(x + r * rows.stride, rows.count, rows.first + r * rows.step, to);
}

}  // namespace

SignTable::SignTable() {
  for (size_t i = 0; i < base::Size(kPeriod); ++i) {
    signs_[0][i] = MixedBits(i + 1) & 1 ? 1 : -1;
    signs_[1][i] = -signs_[0][i];
  }
}

void AddSignedSums(const float* x, const SignedRows& rows, SignedSums& to) { Add(x, rows, to); }
void AddSignedSums(const double* x, const SignedRows& rows, SignedSums& to) { Add(x, rows, to); }

}  // namespace tessera::kernels
#endif  // HWY_ONCE
