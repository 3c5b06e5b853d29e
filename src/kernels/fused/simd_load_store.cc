// Loads, widens, narrows and stores elements of fewer than 32 bits (f16, bf16, small integers,
// bool) in narrow programs.
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused/simd_load_store.cc"
#include <hwy/foreach_target.h>
// Highway requires this order of includes: the targets first.
#include "base/dtype.h"
#include "kernels/elements/simd_formats.h"
#include "kernels/fused/kernel_table.h"
#include "kernels/fused/simd_threads.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

using Words = Tag<uint32_t>;
using Ints = Tag<int32_t>;
using WordVec = hn::Vec<Words>;

// How each dtype's element T becomes 32 bits and back. The value fits, as it was rounded or
// wrapped before.
struct StoredBool {
  using T = uint8_t;
  static HWY_INLINE WordVec Held(WordVec v) {
    return hn::Not(hn::VecFromMask(Words(), hn::Eq(v, hn::Zero(Words()))));
  }
  static HWY_INLINE WordVec Stored(WordVec v) { return hn::And(v, hn::Set(Words(), 1u)); }
};
template <class Element>
struct StoredInteger {
  using T = Element;
  static HWY_INLINE WordVec Held(WordVec v) { return v; }
  static HWY_INLINE WordVec Stored(WordVec v) { return v; }
};
template <class FormatOf>
struct StoredFloat {
  using T = uint16_t;
  using Format = FormatOf;
  static HWY_INLINE WordVec Stored(WordVec v) { return Format::Stored(Words(), v); }
};

template <class Seq>
struct StoredMoves;
template <size_t... K>
struct StoredMoves<std::index_sequence<K...>> {
  using Code = Threads<std::index_sequence<K...>>;

  template <class S>
  static HWY_INLINE RawVec LoadAt(const std::byte* p, size_t k) {
    using T = typename S::T;
    const hn::Rebind<T, Raw> d;
    const T* from = reinterpret_cast<const T*>(p) + k * hn::Lanes(d);
    if constexpr (requires { typename S::Format; }) {
      return LoadFloats(typename S::Format(), Raw(), from);
    } else {
      const auto wide = hn::PromoteTo(hn::RebindToSigned<Raw>(), hn::LoadU(d, from));
      return hn::BitCast(Raw(), S::Held(hn::BitCast(Words(), wide)));
    }
  }
  template <class S>
  static HWY_INLINE void StoreAt(std::byte* p, size_t k, RawVec v) {
    using T = typename S::T;
    const hn::Rebind<T, Raw> d;
    T* to = reinterpret_cast<T*>(p) + k * hn::Lanes(d);
    if constexpr (kConvertsF16 && std::is_same_v<S, StoredFloat<HalfFormat>>) {
      StoreFloats(HalfFormat(), Raw(), v, to);
    } else {
      const auto stored = S::Stored(hn::BitCast(Words(), v));
      hn::StoreU(hn::DemoteTo(d, hn::BitCast(Ints(), stored)), d, to);
    }
  }
  template <class S>
  static void Load(const Instr* pc, Context* c, size_t i, RawVecAt<K>...) {
    const std::byte* p = EffectiveAddress(*c, pc->a, i);
    return Code::Go(pc + 1, c, i, LoadAt<S>(p, K)...);
  }
  template <class S>
  static void Store(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    std::byte* p = EffectiveAddress(*c, pc->a, i);
    (StoreAt<S>(p, K, v), ...);
    return Code::Go(pc + 1, c, i, v...);
  }
};

template <class S>
void Add(KernelTable& t, DType::Code code) {
  using Eight = StoredMoves<std::make_index_sequence<kVectors>>;
  using One = StoredMoves<std::make_index_sequence<1>>;
  t.load_stored[code] = {Erase(&Eight::template Load<S>), Erase(&One::template Load<S>)};
  t.store_stored[code] = {Erase(&Eight::template Store<S>), Erase(&One::template Store<S>)};
}

void AddStoredImpl(KernelTable& t) {
  Add<StoredBool>(t, DType::kBool);
  for (int code = DType::kBool; code <= DType::kF64; ++code) {
    const DType dtype(static_cast<DType::Code>(code)), stored = base::StoredAs(dtype);
    if (stored == i8) Add<StoredInteger<int8_t>>(t, dtype.code());
    if (stored == u8) Add<StoredInteger<uint8_t>>(t, dtype.code());
  }
  Add<StoredInteger<int16_t>>(t, DType::kI16);
  Add<StoredInteger<uint16_t>>(t, DType::kU16);
  Add<StoredFloat<HalfFormat>>(t, DType::kF16);
  Add<StoredFloat<BrainFormat>>(t, DType::kBF16);
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
HWY_EXPORT(AddStoredImpl);
void AddStored(KernelTable& table) { HWY_DYNAMIC_DISPATCH(AddStoredImpl)(table); }
}  // namespace tessera::kernels
#endif
