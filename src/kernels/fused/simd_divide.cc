// Quotients and remainders of integers. A division by one number for all elements is a product with
// its inverse, which is computed once per tile: T. Granlund and P. Montgomery, "Division by
// Invariant Integers using Multiplication", 1994. Other divisions of 32-bit lanes use f64.
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused/simd_divide.cc"
#include <hwy/foreach_target.h>
// Highway requires this order of includes: the targets first.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "kernels/elements/simd_arithmetic.h"
#include "kernels/fused/kernel_table.h"
#include "kernels/fused/simd_threads.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

// Returns the upper halves of the products of 32-bit lanes. Highway multiplies every other lane to
// 64 bits.
template <class D, class V>
HWY_INLINE V HighProductOf32(D d, V a, V b) {
  const hn::Repartition<uint64_t, D> wide;
  const auto even = hn::ShiftRight<32>(hn::BitCast(wide, hn::MulEven(a, b)));
  const V upper = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a)));
  return hn::OddEven(hn::BitCast(d, hn::MulEven(upper, b)), hn::BitCast(d, even));
}
// The same for unsigned 64-bit lanes, by products of their halves.
template <class D, class V>
HWY_INLINE V HighProductOf64(D d, V a, V b) {
  const hn::Repartition<uint32_t, D> half;
  const auto a_low = hn::BitCast(half, a), a_high = hn::BitCast(half, hn::ShiftRight<32>(a));
  const auto b_low = hn::BitCast(half, b), b_high = hn::BitCast(half, hn::ShiftRight<32>(b));
  const V low = hn::MulEven(a_low, b_low);
  const V first = hn::Add(hn::MulEven(a_high, b_low), hn::ShiftRight<32>(low));
  const V second = hn::Add(hn::MulEven(a_low, b_high), hn::And(first, hn::Set(d, 0xffffffffu)));
  return hn::Add(hn::Add(hn::MulEven(a_high, b_high), hn::ShiftRight<32>(first)),
                 hn::ShiftRight<32>(second));
}
template <class D, class V>
HWY_INLINE V HighProduct(D d, V a, V b) {
  using T = hn::TFromD<D>;
  if constexpr (sizeof(T) == 4) {
    return HighProductOf32(d, a, b);
  } else if constexpr (std::is_unsigned_v<T>) {
    return HighProductOf64(d, a, b);
  } else {
    const BitsTag<D> du;
    const V high = hn::BitCast(d, HighProductOf64(du, hn::BitCast(du, a), hn::BitCast(du, b)));
    const V zero = hn::Zero(d);
    return hn::Sub(hn::Sub(high, hn::IfThenElseZero(hn::Lt(a, zero), b)),
                   hn::IfThenElseZero(hn::Lt(b, zero), a));
  }
}

template <class T>
using Double = std::conditional_t<sizeof(T) == 4, uint64_t, unsigned __int128>;

// The constants of division by the magnitude of one number, which must not be 0.
template <class T>
class Inverse {
  using U = std::make_unsigned_t<T>;
  using Wide = Double<T>;
  static constexpr int kBits = sizeof(T) * 8;

 public:
  explicit HWY_INLINE Inverse(T number) {
    if constexpr (std::is_signed_v<T>) {
      const U size = number < 0 ? U{0} - static_cast<U>(number) : static_cast<U>(number);
      const int width = std::max<int>(std::bit_width(U(size - 1)), 1);
      magnitude_ = static_cast<T>(size), shift_ = width - 1;
      factor_ = static_cast<T>(static_cast<U>((Wide{1} << (kBits - 1 + width)) / size + 1));
    } else {
      const int width = static_cast<int>(std::bit_width(U(number - 1)));
      magnitude_ = number, first_ = std::min(width, 1), shift_ = width - first_;
      factor_ = static_cast<T>(((((Wide{1} << width) - number) << kBits) / number) + 1);
    }
  }
  T magnitude() const { return magnitude_; }  // of the lowest number: that number's bits
  template <class D, class V>
  HWY_INLINE V Quotient(D d, V x) const {
    const V high = HighProduct(d, x, hn::Set(d, factor_));
    if constexpr (std::is_signed_v<T>)
      return hn::Sub(hn::ShiftRightSame(hn::Add(x, high), shift_), hn::BroadcastSignBit(x));
    else
      return hn::ShiftRightSame(hn::Add(high, hn::ShiftRightSame(hn::Sub(x, high), first_)),
                                shift_);
  }

 private:
  T factor_, magnitude_;
  int first_ = 0, shift_;
};

template <bool kRemainder, class D, class V>
HWY_INLINE V QuotientOrRest(V x, V y, V quotient, D) {
  return kRemainder ? hn::Sub(x, hn::Mul(quotient, y)) : quotient;
}

template <class Seq>
struct Divisions;
template <size_t... K>
struct Divisions<std::index_sequence<K...>> {
  using Code = Threads<std::index_sequence<K...>>;

  template <class T, bool kRemainder>
  static void ByNumber(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    const Tag<T> d;
    const T number = *reinterpret_cast<const T*>(EffectiveAddress(*c, pc->a, 0));
    if (number == 0) return Code::Go(pc + 1, c, i, ByZero<T, kRemainder>(v)...);
    const Inverse<T> inverse(number);
    const auto y = hn::Set(d, inverse.magnitude());
    ((v = One<kRemainder>(d, hn::BitCast(d, v), y, inverse)), ...);
    if constexpr (std::is_signed_v<T> && !kRemainder)  // the sign of y does not change remainders
      if (number < 0) ((v = hn::BitCast(Raw(), hn::Neg(hn::BitCast(d, v)))), ...);
    return Code::Go(pc + 1, c, i, v...);
  }
  template <class T, bool kRemainder>
  static HWY_INLINE RawVec ByZero(RawVec x) {
    return kRemainder ? x : hn::BitCast(Raw(), hn::Set(Tag<T>(), static_cast<T>(~T{0})));
  }
  template <bool kRemainder, class D, class V, class I>
  static HWY_INLINE RawVec One(D d, V x, V y, const I& inverse) {
    return hn::BitCast(Raw(), QuotientOrRest<kRemainder>(x, y, inverse.Quotient(d, x), d));
  }
};

// Division of lane by lane. In f64 a quotient of 32-bit integers just below a whole number is not
// rounded up to it; and 2^31, the quotient of lowest / -1, has the low bits of lowest.
template <bool kRemainder>
struct Divide {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x, V y) {
    const hn::Half<D> half;
    const V q = hn::Combine(d, Part(half, hn::UpperHalf(half, x), hn::UpperHalf(half, y)),
                            Part(half, hn::LowerHalf(half, x), hn::LowerHalf(half, y)));
    // x / 0 has all bits set
    const V bounded = hn::Or(q, hn::VecFromMask(d, hn::Eq(y, hn::Zero(d))));
    return QuotientOrRest<kRemainder>(x, y, bounded, d);
  }

 private:
  template <class D, class V>
  static HWY_INLINE auto ToWide(D, V x) {
    const hn::Rebind<double, D> wide;
    if constexpr (std::is_signed_v<hn::TFromD<D>>) {
      return hn::PromoteTo(wide, x);
    } else {
      const hn::Rebind<uint64_t, D> bits;  // the low bits of 2^52 + n
      const auto shifted = hn::Or(hn::PromoteTo(bits, x), hn::Set(bits, 0x4330000000000000));
      return hn::Sub(hn::BitCast(wide, shifted), hn::Set(wide, 0x1p52));
    }
  }
  template <class D, class V>
  static HWY_INLINE V Part(D d, V x, V y) {
    const hn::Rebind<double, D> wide;
    const auto q = hn::Trunc(hn::Div(ToWide(d, x), ToWide(d, y)));
    const auto shifted = hn::Add(q, hn::Set(wide, 0x1.8p52));
    const hn::Rebind<uint64_t, D> bits;
    return hn::BitCast(d, hn::TruncateTo(BitsTag<D>(), hn::BitCast(bits, shifted)));
  }
};

template <class T, bool kRemainder>
void AddByNumber(KernelTable& t, plan::ScalarOp op) {
  using Eight = Divisions<std::make_index_sequence<kVectors>>;
  using One = Divisions<std::make_index_sequence<1>>;
  t.number[static_cast<int>(LaneOf<T>())][CodeOf(op)] = {
      Erase(&Eight::template ByNumber<T, kRemainder>),
      Erase(&One::template ByNumber<T, kRemainder>)};
}
template <class T, bool kRemainder>
void AddDivide(KernelTable& t, plan::ScalarOp op) {
  const auto lane = static_cast<int>(LaneOf<T>());
  AddByNumber<T, kRemainder>(t, op);
  if constexpr (sizeof(T) == 4) {
    t.op[lane][CodeOf(op)] = BinaryPair<T, Divide<kRemainder>>();
    t.reversed[lane][CodeOf(op)] = ReversedPair<T, Divide<kRemainder>>();
  }
}
template <class T>
void AddDivisions(KernelTable& t) {
  AddDivide<T, false>(t, plan::ScalarOp::kDiv);
  AddDivide<T, true>(t, plan::ScalarOp::kRem);
}

void AddDivisionImpl(KernelTable& t) {
  AddDivisions<int32_t>(t);
  AddDivisions<uint32_t>(t);
  AddDivisions<int64_t>(t);
  AddDivisions<uint64_t>(t);
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
HWY_EXPORT(AddDivisionImpl);
void AddDivision(KernelTable& table) { HWY_DYNAMIC_DISPATCH(AddDivisionImpl)(table); }
}  // namespace tessera::kernels
#endif
