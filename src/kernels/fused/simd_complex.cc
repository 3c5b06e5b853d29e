// Loads and stores of complex numbers, whose parts alternate in memory and have lanes of their own.
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused/simd_complex.cc"
#include <hwy/foreach_target.h>
// Highway requires this order of includes: the targets first.
#include "kernels/fused/kernel_table.h"
#include "kernels/fused/simd_threads.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

// Moves words of 64 bits such that interleaving the vectors block by block, as instructions do,
// interleaves them as a whole: block k gets word k of the lower half and word k of the upper half.
class BlockOrder {
  using D = Tag<uint64_t>;

 public:
  HWY_INLINE BlockOrder() : from_(hn::SetTableIndices(D(), Words())) {}
  template <class DT, class V>
  HWY_INLINE V Of(DT d, V v) const {
    if constexpr (hn::MaxLanes(D()) <= 2) return v;
    return hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(D(), v), from_));
  }

 private:
  static HWY_INLINE const int64_t* Words() {
    constexpr int64_t kHalf = hn::MaxLanes(D()) / 2;
    HWY_ALIGN static constexpr int64_t kWords[8] = {0,         kHalf,     1 % kHalf, kHalf + 1,
                                                    2 % kHalf, kHalf + 2, 3 % kHalf, kHalf + 3};
    return kWords;
  }
  const decltype(hn::SetTableIndices(D(), static_cast<const int64_t*>(nullptr))) from_;
};

template <class Seq>
struct PartMoves;
template <size_t... K>
struct PartMoves<std::index_sequence<K...>> {
  using Code = Threads<std::index_sequence<K...>>;

  template <class T, int kPart>
  static HWY_INLINE RawVec PartAt(const std::byte* p, size_t k) {
    const Tag<T> d;
    const auto low = Code::template At<T>(p, 2 * k), high = Code::template At<T>(p, 2 * k + 1);
    return hn::BitCast(Raw(),
                       kPart == 0 ? hn::ConcatEven(d, high, low) : hn::ConcatOdd(d, high, low));
  }
  template <class T, int kPart>
  static void Load(const Instr* pc, Context* c, size_t i, RawVecAt<K>...) {
    const std::byte* p = EffectiveAddress(*c, pc->a, i);
    if constexpr (kPart == 0) {
      constexpr size_t kTile = sizeof...(K) * HWY_MAX_BYTES;
      Code::FetchAhead(*c, *pc, p + kTile);
      Code::FetchAhead(*c, *pc, p + 2 * kTile);
    }
    return Code::Go(pc + 1, c, i, PartAt<T, kPart>(p, K)...);
  }

  template <class T, bool kStream, class V>
  static HWY_INLINE void Put(const BlockOrder& order, V re, V im, T* p) {
    const Tag<T> d;
    re = order.Of(d, re), im = order.Of(d, im);
    const V low = hn::InterleaveLower(d, re, im), high = hn::InterleaveUpper(d, re, im);
    if constexpr (kStream) {
      hn::Stream(low, d, p), hn::Stream(high, d, p + hn::Lanes(d));
    } else {
      hn::StoreU(low, d, p), hn::StoreU(high, d, p + hn::Lanes(d));
    }
  }
  template <class T, int kHeld, bool kStream>
  static void Store(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    const Tag<T> d;
    T* p = reinterpret_cast<T*>(EffectiveAddress(*c, pc->a, i));
    const std::byte* other = EffectiveAddress(*c, pc->b, i);
    const BlockOrder order;
    (StoreOne<T, kHeld, kStream>(order, hn::BitCast(d, v), Code::template At<T>(other, K),
                                 p + 2 * K * hn::Lanes(d)),
     ...);
    return Code::Go(pc + 1, c, i, v...);
  }
  template <class T, int kHeld, bool kStream, class V>
  static HWY_INLINE void StoreOne(const BlockOrder& order, V held, V other, T* p) {
    if constexpr (kHeld == 0)
      Put<T, kStream>(order, held, other, p);
    else
      Put<T, kStream>(order, other, held, p);
  }
};

template <class T, int kPart>
void AddPart(KernelTable& t) {
  using Eight = PartMoves<std::make_index_sequence<kVectors>>;
  using One = PartMoves<std::make_index_sequence<1>>;
  constexpr int kWide = IsWide(LaneOf<T>());
  const void* one = Erase(&One::template Store<T, kPart, false>);
  t.load_part[kWide][kPart] = {Erase(&Eight::template Load<T, kPart>),
                               Erase(&One::template Load<T, kPart>)};
  t.store_parts[kWide][kPart] = {Erase(&Eight::template Store<T, kPart, false>), one};
  t.stream_parts[kWide][kPart] = {Erase(&Eight::template Store<T, kPart, true>), one};
}

void AddPartsImpl(KernelTable& t) {
  AddPart<float, 0>(t), AddPart<float, 1>(t);
  AddPart<double, 0>(t), AddPart<double, 1>(t);
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
HWY_EXPORT(AddPartsImpl);
void AddParts(KernelTable& table) { HWY_DYNAMIC_DISPATCH(AddPartsImpl)(table); }
}  // namespace tessera::kernels
#endif
