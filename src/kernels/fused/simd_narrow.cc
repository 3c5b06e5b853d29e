// Arithmetic kernels of 32-bit lanes.
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused/simd_narrow.cc"
#include <hwy/foreach_target.h>
// Highway requires this order of includes: the targets first.
#include "kernels/elements/simd_formats.h"
#include "kernels/fused/kernel_table.h"
#include "kernels/fused/simd_ops.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

// Shifts by an amount per lane. An amount that is negative, or at least the width, shifts out
// all bits.
template <bool is_left>
struct ShiftBits {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x, V by) {
    const BitsTag<D> du;
    const auto bits = hn::BitCast(du, x), amount = hn::BitCast(du, by);
    const auto inside = hn::Lt(amount, hn::Set(du, 32u));
    const auto bounded = hn::And(amount, hn::Set(du, 31u));
    if constexpr (is_left)
      return hn::BitCast(d, hn::IfThenElseZero(inside, hn::Shl(bits, bounded)));
    else
      return hn::BitCast(d, hn::IfThenElseZero(inside, hn::Shr(bits, bounded)));
  }
};
struct ShiftRightArithmetic {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x, V by) {
    const BitsTag<D> du;
    const SignedTag<D> ds;
    const auto bounded = hn::Min(hn::BitCast(du, by), hn::Set(du, 31u));
    return hn::BitCast(d, hn::Shr(hn::BitCast(ds, x), hn::BitCast(ds, bounded)));
  }
};

template <class T>
void AddShifts(KernelTable& t) {
  using enum plan::ScalarOp;
  AddBinary<T, ShiftBits<true>>(t, CodeOf(kShiftLeft));
  AddBinary<T, ShiftBits<false>>(t, CodeOf(kShiftRightLogical));
  AddBinary<T, ShiftRightArithmetic>(t, CodeOf(kShiftRightArithmetic));
}

// Rounds to bf16 without testing each number for NaN. Rounding may change a NaN, but NaN is rare.
template <class Seq>
struct BrainRounds;
template <size_t... K>
struct BrainRounds<std::index_sequence<K...>> {
  using Code = Threads<std::index_sequence<K...>>;

  static void Run(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    const hn::RebindToUnsigned<Raw> du;
    // The sum of infinities may be NaN too. Then each number is tested needlessly.
    if (HWY_UNLIKELY(!hn::AllFalse(Raw(), hn::IsNaN(Sum(v...)))))
      return Code::Go(pc + 1, c, i, RoundBF16::Call(Raw(), v)...);
    ((v = hn::BitCast(Raw(), RoundBits<16>(du, hn::BitCast(du, v)))), ...);
    return Code::Go(pc + 1, c, i, v...);
  }

 private:
  static HWY_INLINE RawVec Sum(RawVec v) { return v; }
  template <class... V>
  static HWY_INLINE RawVec Sum(RawVec a, RawVec b, V... rest) {
    return Sum(rest..., hn::Add(a, b));
  }
};

struct ToFloat {  // for integers
  template <class D, class V>
  static HWY_INLINE auto Call(D, V x) {
    return hn::ConvertTo(hn::Rebind<float, D>(), x);
  }
};

// Returns the f32 numbers from p on as doubles.
HWY_INLINE hn::Vec<Tag<double>> WideAt(const float* p) {
  const Tag<double> d;
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, Tag<double>>(), p));
}
// b += a, a = 0: moves the accumulators of sums to f64 after every kBlock elements.
void FoldSums(const Instr& instr, const Context& c, size_t, size_t, std::byte*) {
  const Tag<double> d;
  auto sums = reinterpret_cast<float*>(EffectiveAddress(c, instr.a, 0));
  auto carry = reinterpret_cast<double*>(EffectiveAddress(c, instr.b, 0));
  for (size_t k = 0; k < kNarrowSums; k += hn::Lanes(d))
    hn::StoreU(hn::Add(hn::LoadU(d, carry + k), WideAt(sums + k)), d, carry + k);
  for (size_t k = 0; k < kNarrowSums; k += hn::Lanes(Raw()))
    hn::StoreU(hn::Zero(Raw()), Raw(), sums + k);
}
template <bool kCarried>
void FinishSums(const Instr* pc, Context* c, size_t i, RawVec) {
  const Tag<double> d;
  auto sums = reinterpret_cast<const float*>(EffectiveAddress(*c, pc->a, 0));
  auto carry = reinterpret_cast<const double*>(EffectiveAddress(*c, pc->b, 0));
  const auto at = [&](size_t k) HWY_ATTR {
    const auto v = WideAt(sums + k * hn::Lanes(d));
    return kCarried ? hn::Add(v, hn::LoadU(d, carry + k * hn::Lanes(d))) : v;
  };
  const double all = CombineAll<Add, kNarrowSums>(d, at, pc->info);
  return Single::Go(pc + 1, c, i, hn::Set(Raw(), static_cast<float>(all)));
}

void AddNarrowOpsImpl(KernelTable& t) {
  t.fold_f32 = &FoldSums;
  t.finish_f32 = {nullptr, Erase(&FinishSums<false>)};
  t.finish_f32_carried = {nullptr, Erase(&FinishSums<true>)};
  AddFloatOps<float>(t);
  AddUnary<float, RoundF16>(t, kRoundF16);
  t.op[static_cast<int>(Lane::kF32)][kRoundBF16] = {
      Erase(&BrainRounds<std::make_index_sequence<kVectors>>::Run),
      Erase(&BrainRounds<std::make_index_sequence<1>>::Run)};
  AddCommonOps<int32_t>(t);
  AddCommonOps<uint32_t>(t);
  AddUnary<int32_t, ToFloat>(t, CodeOf(plan::ScalarOp::kConvert));
  AddUnary<uint32_t, ToFloat>(t, CodeOf(plan::ScalarOp::kConvert));
  AddShifts<int32_t>(t);
  AddShifts<uint32_t>(t);
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
HWY_EXPORT(AddNarrowOpsImpl);
void AddNarrowOps(KernelTable& table) { HWY_DYNAMIC_DISPATCH(AddNarrowOpsImpl)(table); }
}  // namespace tessera::kernels
#endif
