// Samples integers of a range as remainders of random bits.
#include "api/random/random_integers.h"

#include "api/array/apply_elementwise.h"
#include "api/random/distributions.h"
#include "base/dtype.h"

namespace tessera::api {

using ops::ScalarOp;

namespace {

DType UnsignedOf(DType t) { return t.size() == 8 ? u64 : u32; }

// The smallest and the largest number of an integer dtype or of a range.
struct IntegerLimits {
  __int128 least, most;
};
IntegerLimits LimitsOf(DType t) {
  const int digits = t.bits() - (t.is_signed() ? 1 : 0);
  const __int128 end = static_cast<__int128>(1) << digits;
  return {t.is_signed() ? -end : 0, end - 1};
}
__int128 NumberOf(const Scalar& v) {
  if (v.kind() == Scalar::kFloat) return static_cast<__int128>(v.as_double());
  if (v.kind() == Scalar::kUInt) return static_cast<uint64_t>(v.as_int());
  return v.as_int();
}
Array IntegerOf(__int128 v, DType t, Call call) {
  if (t == u64) return StrongScalar(static_cast<uint64_t>(v), t, call);
  return StrongScalar(static_cast<int64_t>(v), t, call);
}

// A bound of the range, clamped to the numbers that the result's dtype allows.
struct Limited {
  Array value, above;  // `above` is true where an array bound was clamped; null if it never is
  std::optional<__int128> number;
  bool is_above = false;
};
Limited Limit(const Operand& bound, IntegerLimits range, DType work, Call call) {
  if (bound.scalar()) {
    const __int128 v = NumberOf(*bound.scalar());
    const __int128 kept = v < range.least ? range.least : v > range.most ? range.most : v;
    return {IntegerOf(kept, work, call), {}, kept, v > range.most};
  }
  Array x = bound.array();
  if (!TypeOf(x)->dtype().is_integer()) x = Convert(x, base::DefaultInt(), call);
  const DType t = TypeOf(x)->dtype();
  const IntegerLimits own = LimitsOf(t);
  Limited limited;
  if (own.most > range.most) {
    const Array most = IntegerOf(range.most, t, call);
    limited.above = Elementwise(ScalarOp::kGt, {x, most}, call);
    x = Elementwise(ScalarOp::kMin, {x, most}, call);
  }
  if (own.least < range.least)
    x = Elementwise(ScalarOp::kMax, {x, IntegerOf(range.least, t, call)}, call);
  limited.value = Convert(x, work, call);
  return limited;
}

// Returns the number of integers in [lo, hi), or 1 if there is none. The full range of `word` wraps
// to 0. With `over`, a bound hi that was above the dtype's largest number includes that number.
Array SpanOf(const Limited& lo, const Limited& hi, DType word, bool over, Call call) {
  if (lo.number && hi.number) {
    __int128 span = *hi.number <= *lo.number ? 1 : *hi.number - *lo.number;
    if (over && hi.is_above && *hi.number > *lo.number) ++span;
    const uint64_t wrapped =
        static_cast<uint64_t>(span) & static_cast<uint64_t>(LimitsOf(word).most);
    return StrongScalar(wrapped, word, call);
  }
  const Array one = StrongScalar(uint64_t{1}, word, call);
  const Array empty = Elementwise(ScalarOp::kLe, {hi.value, lo.value}, call);
  const Array width = Convert(Elementwise(ScalarOp::kSub, {hi.value, lo.value}, call), word, call);
  const Array span = Where(empty, one, width, call);
  if (!over || (!hi.is_above && !hi.above.impl())) return span;
  const Array wider = Elementwise(ScalarOp::kAdd, {span, one}, call);
  const Array there = Elementwise(ScalarOp::kNot, {empty}, call);
  if (hi.is_above) return Where(there, wider, span, call);
  return Where(Elementwise(ScalarOp::kAnd, {hi.above, there}, call), wider, span, call);
}

}  // namespace

// Uses two random words per number, which makes the bias of the remainder negligible.
Array RandomIntegers(const Array& key, const DrawnAs& as, const Operand& minval,
                     const Operand& maxval, Call call) {
  const bool small = as.dtype.size() < 4;
  const DType work = small ? i32 : as.dtype, word = UnsignedOf(work);
  const IntegerLimits range = LimitsOf(as.dtype);
  const Limited lo = Limit(minval, range, work, call);
  const Limited hi = Limit(maxval, {range.least, range.most + (small ? 1 : 0)}, work, call);
  const Array span = SpanOf(lo, hi, word, /*over=*/!small, call);
  const auto times = [&](const Array& x, const Array& y) {
    return Elementwise(ScalarOp::kMul, {x, y}, call);
  };
  const auto plus = [&](const Array& x, const Array& y) {
    return Elementwise(ScalarOp::kAdd, {x, y}, call);
  };
  const auto modulo = [&](const Array& x) { return Elementwise(ScalarOp::kRem, {x, span}, call); };
  const int width = work.size() * 8;
  const std::vector<Array> keys = SplitApart(key, 2, call);
  const Array half = StrongScalar(uint64_t{1} << (width / 2), word, call);
  Array factor = modulo(half);
  factor = modulo(times(factor, factor));
  const Array high = modulo(RandomBits(keys[0], as, width, call));
  const Array low = modulo(RandomBits(keys[1], as, width, call));
  const Array offset = modulo(plus(times(high, factor), low));
  return Convert(plus(lo.value, Convert(offset, work, call)), as.dtype, call);
}

}  // namespace tessera::api
