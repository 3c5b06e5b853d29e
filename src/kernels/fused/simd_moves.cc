// Kernels that move the accumulator: loads, stores, selects, the loop, and calls of blocks.
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused/simd_moves.cc"
#include <hwy/foreach_target.h>
// Highway requires this order of includes: the targets first.
#include <hwy/cache_control.h>

#include <cstring>

#include "kernels/fused/kernel_table.h"
#include "kernels/fused/simd_threads.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

constexpr size_t kLaneCount = HWY_MAX_BYTES / 4;

template <class Seq>
struct Moves;
template <size_t... K>
struct Moves<std::index_sequence<K...>> {
  using T = Threads<std::index_sequence<K...>>;
  static constexpr size_t kCount = sizeof...(K);

  static void Enter(const Instr* pc, Context* c, size_t begin, size_t end, size_t step) {
    for (size_t i = begin; i < end; i += step)
      T::Go(pc, c, i, (static_cast<void>(K), hn::Zero(Raw()))...);
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    // Kernels leave the upper halves of registers dirty, which would slow down SSE code of
    // the caller.
    _mm256_zeroupper();
#endif
  }
  static HWY_INLINE RawVec HalfAt(const float* p, size_t k) {
    if (k < kCount / 2) return hn::LoadU(Raw(), p + k * kLaneCount);
    return hn::Zero(Raw());
  }
  static void LoadHalf(const Instr* pc, Context* c, size_t i, RawVecAt<K>...) {
    auto p = reinterpret_cast<const float*>(EffectiveAddress(*c, pc->a, i));
    if constexpr (kCount == 1) {
      const hn::Half<Raw> half;
      return T::Go(pc + 1, c, i, hn::ZeroExtendVector(Raw(), hn::LoadU(half, p)));
    } else {
      return T::Go(pc + 1, c, i, HalfAt(p, K)...);
    }
  }
  static void StoreHalf(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    auto p = reinterpret_cast<float*>(EffectiveAddress(*c, pc->a, i));
    if constexpr (kCount == 1) {
      (hn::StoreU(hn::LowerHalf(v), hn::Half<Raw>(), p), ...);
    } else {
      (static_cast<void>(K < kCount / 2 ? hn::StoreU(v, Raw(), p + K * kLaneCount) : void()), ...);
    }
    return T::Go(pc + 1, c, i, v...);
  }
  static void Stream(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    auto p = reinterpret_cast<float*>(EffectiveAddress(*c, pc->a, i));
    (hn::Stream(v, Raw(), p + K * kLaneCount), ...);
    return T::Go(pc + 1, c, i, v...);
  }
  // Stores the first element as often as it fits in the first kBytes of a slot.
  template <class U, size_t kBytes>
  static void Broadcast(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    const Tag<U> d;
    auto p = reinterpret_cast<U*>(EffectiveAddress(*c, pc->a, i));
    const auto first = std::get<0>(std::make_tuple(v...));
    const auto all = hn::Set(d, hn::GetLane(hn::BitCast(d, first)));
    for (size_t k = 0; k < kBytes / sizeof(U); k += hn::Lanes(d)) hn::StoreU(all, d, p + k);
    return T::Go(pc + 1, c, i, v...);
  }
  static void Stop(const Instr*, Context*, size_t, RawVecAt<K>...) {}
  static void Block(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    (hn::Store(v, Raw(), reinterpret_cast<float*>(c->buffer) + K * kLaneCount), ...);
    pc->block(*pc, *c, i, kCount == 1 ? c->lanes : pc->tile, c->buffer);
    return T::Go(pc + 1, c, i, T::template At<float>(c->buffer, K)...);
  }
  static HWY_INLINE RawVec Blend(RawVec p, RawVec a, RawVec b) {
    const hn::RebindToUnsigned<Raw> d;  // a select is bitwise, so it works for lanes of any size
    return hn::BitCast(Raw(),
                       hn::IfVecThenElse(hn::BitCast(d, p), hn::BitCast(d, a), hn::BitCast(d, b)));
  }
  template <int kOperand>
  static void Select(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    const std::byte *a = EffectiveAddress(*c, pc->a, i), *b = EffectiveAddress(*c, pc->b, i);
    if constexpr (kOperand == 0)
      return T::Go(pc + 1, c, i,
                   Blend(v, T::template At<float>(a, K), T::template At<float>(b, K))...);
    else if constexpr (kOperand == 1)
      return T::Go(pc + 1, c, i,
                   Blend(T::template At<float>(a, K), v, T::template At<float>(b, K))...);
    else
      return T::Go(pc + 1, c, i,
                   Blend(T::template At<float>(a, K), T::template At<float>(b, K), v)...);
  }
};
using TileMoves = Moves<std::make_index_sequence<kVectors>>;
using SingleMoves = Moves<std::make_index_sequence<1>>;

void AddMovesImpl(KernelTable& t) {
  t.vector_bytes = HWY_MAX_BYTES;
  t.enter_tile = &TileMoves::Enter;
  t.enter_vector = &SingleMoves::Enter;
  t.load = {Erase(&Tile::Load<>), Erase(&Single::Load<>)};
  t.load_half = {Erase(&TileMoves::LoadHalf), Erase(&SingleMoves::LoadHalf)};
  t.store = {Erase(&Tile::Store<>), Erase(&Single::Store<>)};
  t.store_half = {Erase(&TileMoves::StoreHalf), Erase(&SingleMoves::StoreHalf)};
  t.stream = {Erase(&TileMoves::Stream), Erase(&Single::Store<>)};
  constexpr size_t kTile = kVectors * HWY_MAX_BYTES;
  t.broadcast4 = {nullptr, Erase(&SingleMoves::Broadcast<uint32_t, kTile>)};
  t.broadcast8 = {nullptr, Erase(&SingleMoves::Broadcast<uint64_t, kTile>)};
  t.fill4 = {nullptr, Erase(&SingleMoves::Broadcast<uint32_t, kSlotBytes>)};
  t.fill8 = {nullptr, Erase(&SingleMoves::Broadcast<uint64_t, kSlotBytes>)};
  t.stop = {Erase(&TileMoves::Stop), Erase(&SingleMoves::Stop)};
  t.block = {Erase(&TileMoves::Block), Erase(&SingleMoves::Block)};
  t.select[0] = {Erase(&TileMoves::Select<0>), Erase(&SingleMoves::Select<0>)};
  t.select[1] = {Erase(&TileMoves::Select<1>), Erase(&SingleMoves::Select<1>)};
  t.select[2] = {Erase(&TileMoves::Select<2>), Erase(&SingleMoves::Select<2>)};
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
HWY_EXPORT(AddMovesImpl);
void AddMoves(KernelTable& table) { HWY_DYNAMIC_DISPATCH(AddMovesImpl)(table); }
}  // namespace tessera::kernels
#endif
