// Registers the arithmetic that every lane type supports, and the accumulators of reductions.
// Compiled once per target.
#if defined(TESSERA_SIMD_OPS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_OPS_H_
#undef TESSERA_SIMD_OPS_H_
#else
#define TESSERA_SIMD_OPS_H_
#endif

#include "kernels/elements/simd_arithmetic.h"
#include "kernels/fused/kernel_table.h"
#include "kernels/fused/simd_threads.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

// Accumulates into the accumulators of a reduction, one per lane. Element i of a row belongs to
// accumulator i mod (kSlotBytes / size), so sums have the same bits for any tile and vector size.
// Across rows (step 0) every row has its own accumulator in the tile.
template <class Seq>
struct Accumulators;
template <size_t... K>
struct Accumulators<std::index_sequence<K...>> {
  template <class T, class F>
  static HWY_INLINE void One(std::byte* sums, size_t k, RawVec v) {
    const Tag<T> d;
    T* p = reinterpret_cast<T*>(sums) + k * hn::Lanes(d);
    hn::StoreU(F::Call(d, hn::LoadU(d, p), hn::BitCast(d, v)), d, p);
  }
  // Only kUsed of the registers hold elements.
  template <class T, class F, size_t kUsed>
  static void Run(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    std::byte* sums = EffectiveAddress(*c, pc->a, 0) + i * pc->a.step % kSlotBytes;
    (static_cast<void>(K < kUsed ? One<T, F>(sums, K, v) : void()), ...);
    return Threads<std::index_sequence<K...>>::Go(pc + 1, c, i, v...);
  }
};
// The same for one vector with only some valid lanes. It may write the padding after
// the accumulators.
template <class T, class F>
void AccumulateLanes(const Instr* pc, Context* c, size_t i, RawVec v) {
  const Tag<T> d;
  T* p = reinterpret_cast<T*>(EffectiveAddress(*c, pc->a, 0) + i * pc->a.step % kSlotBytes);
  const auto old = hn::LoadU(d, p), all = F::Call(d, old, hn::BitCast(d, v));
  hn::StoreU(hn::IfThenElse(hn::FirstN(d, c->lanes), all, old), d, p);
  return Single::Go(pc + 1, c, i, v);
}

// Combines the lanes of a vector: lane k with lane k + half, and so on.
template <class F, class D, class V>
HWY_INLINE hn::TFromD<D> CombineLanes(D d, V v) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<D> half;
    static_cast<void>(d);
    return CombineLanes<F>(half, F::Call(half, hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}
// Returns vector k of the kLeft vectors that remain when kAll vectors are halved repeatedly, by
// combining the first half with the second. Goes depth first so that everything stays in registers.
// at(k) is vector k of the kAll.
template <class F, size_t kAll, size_t kLeft, class D, class At>
HWY_INLINE hn::Vec<D> CombineHalves(D d, const At& at, size_t k) {
  if constexpr (kLeft == kAll)
    return at(k);
  else
    return F::Call(d, CombineHalves<F, kAll, 2 * kLeft>(d, at, k),
                   CombineHalves<F, kAll, 2 * kLeft>(d, at, k + kLeft));
}
// Combines `width` values by that tree. `width` is a power of two, at most kMost.
template <class F, size_t kMost, class D, class At>
HWY_INLINE hn::TFromD<D> CombineAll(D d, const At& at, size_t width) {
  constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(hn::TFromD<D>);
  if constexpr (kMost < kLanes) {
    using T = hn::TFromD<D>;
    HWY_ALIGN T v[kLanes];
    hn::Store(at(0), d, v);
    const hn::CappedTag<T, 1> one;
    for (size_t half = width / 2; half > 0; half /= 2)
      for (size_t k = 0; k < half; ++k)
        hn::StoreU(F::Call(one, hn::LoadU(one, v + k), hn::LoadU(one, v + k + half)), one, v + k);
    return v[0];
  } else if (width < kMost) {
    return CombineAll<F, kMost / 2>(d, at, width);
  } else {
    return CombineLanes<F>(d, CombineHalves<F, kMost / kLanes, 1>(d, at, 0));
  }
}
// For one vector: acc = the combination of the first `info` accumulators at `a`.
template <class T, class F>
void FinishLanes(const Instr* pc, Context* c, size_t i, RawVec) {
  const Tag<T> d;
  auto sums = reinterpret_cast<const T*>(EffectiveAddress(*c, pc->a, 0));
  const auto at = [&](size_t k) HWY_ATTR { return hn::LoadU(d, sums + k * hn::Lanes(d)); };
  const T all = CombineAll<F, kSlotBytes / sizeof(T)>(d, at, pc->info);
  return Single::Go(pc + 1, c, i, hn::BitCast(Raw(), hn::Set(d, all)));
}
// The same for short rows: combines them in order.
template <class T, class F>
void FinishInOrder(const Instr* pc, Context* c, size_t i, RawVec) {
  const hn::CappedTag<T, 1> one;
  auto sums = reinterpret_cast<const T*>(EffectiveAddress(*c, pc->a, 0));
  auto all = hn::LoadU(one, sums);
  for (size_t k = 1; k < pc->info; ++k) all = F::Call(one, all, hn::LoadU(one, sums + k));
  return Single::Go(pc + 1, c, i, hn::BitCast(Raw(), hn::Set(Tag<T>(), hn::GetLane(all))));
}
template <class T, class F>
void AddAccumulate(KernelTable& t, Reduction r) {
  using A = Accumulators<std::make_index_sequence<kVectors>>;
  const auto lane = static_cast<size_t>(LaneOf<T>()), kind = base::IndexOf(r);
  const void* one = Erase(&AccumulateLanes<T, F>);
  t.finish[lane][kind] = {nullptr, Erase(&FinishLanes<T, F>)};
  t.finish_in_order[lane][kind] = {nullptr, Erase(&FinishInOrder<T, F>)};
  t.accumulate[lane][kind] = {Erase(&A::template Run<T, F, kVectors>), one};
  if constexpr (sizeof(T) == 4)
    t.accumulate_half[lane][kind] = {Erase(&A::template Run<T, F, kVectors / 2>), one};
}

template <class T, class F>
void AddUnary(KernelTable& t, int code) {
  t.op[static_cast<int>(LaneOf<T>())][code] = UnaryPair<T, F>();
}
template <class T, class F, bool kReverse = false>
void AddBinary(KernelTable& t, int code) {
  const int lane = static_cast<int>(LaneOf<T>());
  t.op[lane][code] = BinaryPair<T, F>();
  if (kReverse) t.reversed[lane][code] = ReversedPair<T, F>();
}
// Adds an op that has op(a, b) = mirrored(b, a).
template <class T, class F, class Mirrored>
void AddMirrored(KernelTable& t, int code) {
  const int lane = static_cast<int>(LaneOf<T>());
  t.op[lane][code] = BinaryPair<T, F>();
  t.reversed[lane][code] = BinaryPair<T, Mirrored>();
}

// Selects by a comparison: acc where it is kHolds, else the values at `c`.
template <class Seq>
struct Selects;
template <size_t... K>
struct Selects<std::index_sequence<K...>> {
  using Code = Threads<std::index_sequence<K...>>;

  template <class T, class F, bool kHolds, bool kNumber>
  static void Run(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    const Tag<T> d;
    const std::byte *x = EffectiveAddress(*c, pc->a, i), *y = EffectiveAddress(*c, pc->b, i),
                    *z = EffectiveAddress(*c, pc->c, i);
    Code::FetchAhead(*c, *pc, x);
    const auto number = hn::Set(d, *reinterpret_cast<const T*>(y));
    const auto right = [&](size_t k)
                           HWY_ATTR { return kNumber ? number : Code::template At<T>(y, k); };
    ((v = One<kHolds>(F::Holds(Code::template At<T>(x, K), right(K)), hn::BitCast(d, v),
                      Code::template At<T>(z, K))),
     ...);
    return Code::Go(pc + 1, c, i, v...);
  }
  template <bool kHolds, class M, class V>
  static HWY_INLINE RawVec One(M mask, V v, V other) {
    return hn::BitCast(Raw(),
                       kHolds ? hn::IfThenElse(mask, v, other) : hn::IfThenElse(mask, other, v));
  }
};
template <class T, class F, bool kHolds, bool kNumber>
KernelPair SelectPair() {
  using Eight = Selects<std::make_index_sequence<kVectors>>;
  using One = Selects<std::make_index_sequence<1>>;
  return {Erase(&Eight::template Run<T, F, kHolds, kNumber>),
          Erase(&One::template Run<T, F, kHolds, kNumber>)};
}
template <class T, class F>
void AddSelects(KernelTable& t, int code) {
  t.select_by[static_cast<int>(LaneOf<T>())][code] = {
      SelectPair<T, F, true, false>(), SelectPair<T, F, true, true>(),
      SelectPair<T, F, false, false>(), SelectPair<T, F, false, true>()};
}

// Adds the kernels with one number for all elements, and those with a value scaled by a number.
template <class T, class F>
void AddNumbers(KernelTable& t, int code) {
  const int lane = static_cast<int>(LaneOf<T>());
  t.number[lane][code] = NumberPair<T, F>();
  t.scaled[lane][code] = ScaledPair<T, F, false>();
  t.scaled_reversed[lane][code] = ScaledPair<T, F, true>();
}

template <class T>
void AddCommonOps(KernelTable& t) {
  using enum plan::ScalarOp;
  AddUnary<T, Sign>(t, CodeOf(kSign));
  AddBinary<T, Add>(t, CodeOf(kAdd));
  AddBinary<T, Sub, true>(t, CodeOf(kSub));
  AddBinary<T, Max>(t, CodeOf(kMax));
  AddBinary<T, Min>(t, CodeOf(kMin));
  AddBinary<T, Eq>(t, CodeOf(kEq));
  AddBinary<T, Ne>(t, CodeOf(kNe));
  AddMirrored<T, Lt, Gt>(t, CodeOf(kLt));
  AddMirrored<T, Le, Ge>(t, CodeOf(kLe));
  AddMirrored<T, Gt, Lt>(t, CodeOf(kGt));
  AddMirrored<T, Ge, Le>(t, CodeOf(kGe));
  AddSelects<T, Eq>(t, CodeOf(kEq));
  AddSelects<T, Gt>(t, CodeOf(kGt));
  AddSelects<T, Ge>(t, CodeOf(kGe));
  AddAccumulate<T, Add>(t, Reduction::kSum);
  AddAccumulate<T, Mul>(t, Reduction::kProd);
  AddAccumulate<T, Max>(t, Reduction::kMax);
  AddAccumulate<T, Min>(t, Reduction::kMin);
  if constexpr (!std::is_floating_point_v<T>) {
    AddAccumulate<T, And>(t, Reduction::kAnd);
    AddAccumulate<T, Or>(t, Reduction::kOr);
    AddAccumulate<T, Xor>(t, Reduction::kXor);
    AddUnary<T, Not>(t, CodeOf(kNot));
    AddBinary<T, And>(t, CodeOf(kAnd));
    AddBinary<T, Or>(t, CodeOf(kOr));
    AddBinary<T, Xor>(t, CodeOf(kXor));
  }
  if constexpr (std::is_signed_v<T>) {
    AddUnary<T, Neg>(t, CodeOf(kNeg));
    AddUnary<T, Abs>(t, CodeOf(kAbs));
  }
  AddBinary<T, Mul>(t, CodeOf(kMul));
  AddUnary<T, Square>(t, kSquare);
}

template <class T>
void AddFloatOps(KernelTable& t) {
  using enum plan::ScalarOp;
  AddCommonOps<T>(t);
  AddBinary<T, Div, true>(t, CodeOf(kDiv));
  AddNumbers<T, Add>(t, CodeOf(kAdd));
  AddNumbers<T, Sub>(t, CodeOf(kSub));
  t.number[static_cast<int>(LaneOf<T>())][CodeOf(kMul)] = NumberPair<T, Mul>();
  AddUnary<T, Floor>(t, CodeOf(kFloor));
  AddUnary<T, Ceil>(t, CodeOf(kCeil));
  AddUnary<T, RoundEven>(t, CodeOf(kRoundEven));
  AddUnary<T, RoundAway>(t, CodeOf(kRoundAway));
  AddUnary<T, Sqrt>(t, CodeOf(kSqrt));
  AddUnary<T, Rsqrt>(t, CodeOf(kRsqrt));
  AddUnary<T, IsFinite>(t, CodeOf(kIsFinite));
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggled guard
