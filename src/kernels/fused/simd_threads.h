// The templates of register-threaded kernels, compiled once per target.
#if defined(TESSERA_SIMD_THREADS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_THREADS_H_
#undef TESSERA_SIMD_THREADS_H_
#else
#define TESSERA_SIMD_THREADS_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <utility>

#include "kernels/fused/fused_program.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The type of the accumulator's registers. Kernels reinterpret them.
using Raw = hn::ScalableTag<float>;
using RawVec = hn::Vec<Raw>;
template <class T>
using Tag = hn::ScalableTag<T>;

// Kernels of tiles of as many vectors as K has numbers. They end in a tail call, which g++ at -O2
// turns into a jump. Without that (sanitizers) the stack grows only with the length of the program.
template <size_t>
using RawVecAt = RawVec;

template <class Seq>
struct Threads;
template <size_t... K>
struct Threads<std::index_sequence<K...>> {
  using Fn = void (*)(const Instr*, Context*, size_t, RawVecAt<K>...);

  static HWY_INLINE void Go(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    return reinterpret_cast<Fn>(const_cast<void*>(pc->kernel))(pc, c, i, v...);
  }
  // Where a vector takes many instructions, vectors are computed one after the other: the arguments
  // of a call would be computed at the same time, in more registers than there are.
  //
  // Kernels end in Next::Go. The default jumps to the kernel of the next step; a kernel of two
  // steps passes one that does the next step instead.
  template <class Next = Threads>
  static void Load(const Instr* pc, Context* c, size_t i, RawVecAt<K>...) {
    const std::byte* p = EffectiveAddress(*c, pc->a, i);
    FetchAhead(*c, *pc, p);
    return Next::Go(pc + 1, c, i, At<float>(p, K)...);
  }
  template <class Next = Threads>
  static void Store(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    auto p = reinterpret_cast<float*>(EffectiveAddress(*c, pc->a, i));
    (hn::StoreU(v, Raw(), p + K * hn::Lanes(Raw())), ...);
    return Next::Go(pc + 1, c, i, v...);
  }
  template <class T>
  static HWY_INLINE hn::Vec<Tag<T>> At(const std::byte* p, size_t k) {
    const Tag<T> d;
    return hn::LoadU(d, reinterpret_cast<const T*>(p) + k * hn::Lanes(d));
  }

  // Fetches the line of a tile that begins at byte kAt, if one does.
  template <size_t kAt>
  static HWY_INLINE void FetchLine(const std::byte* tile) {
    if constexpr (kAt % 64 == 0) hwy::Prefetch(tile + sizeof...(K) * HWY_MAX_BYTES + kAt);
  }
  static HWY_INLINE void FetchAhead(const Context& c, const Instr& instr, const std::byte* p) {
    if constexpr (sizeof...(K) > 1)
      if (c.ahead != 0 && instr.info == 0) (FetchLine<K * HWY_MAX_BYTES>(p + c.ahead), ...);
  }

  template <class T, class F, class Next = Threads>
  static void Unary(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    const Tag<T> d;
    ((v = hn::BitCast(Raw(), F::Call(d, hn::BitCast(d, v)))), ...);
    return Next::Go(pc + 1, c, i, v...);
  }
  template <class T, class F, class Next = Threads>
  static void Binary(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    const Tag<T> d;
    const std::byte* p = EffectiveAddress(*c, pc->a, i);
    FetchAhead(*c, *pc, p);
    return Next::Go(pc + 1, c, i,
                    hn::BitCast(Raw(), F::Call(d, hn::BitCast(d, v), At<T>(p, K)))...);
  }
  template <class T, class F, class Next = Threads>
  static void Reversed(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    const Tag<T> d;
    const std::byte* p = EffectiveAddress(*c, pc->a, i);
    return Next::Go(pc + 1, c, i,
                    hn::BitCast(Raw(), F::Call(d, At<T>(p, K), hn::BitCast(d, v)))...);
  }
  // Returns one number for all elements.
  template <class T>
  static HWY_INLINE hn::Vec<Tag<T>> Number(const Context& c, const Address& at) {
    return hn::Set(Tag<T>(), *reinterpret_cast<const T*>(EffectiveAddress(c, at, 0)));
  }
  template <class T, class F, class Next = Threads>
  static void WithNumber(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    const Tag<T> d;
    const auto number = Number<T>(*c, pc->a);
    return Next::Go(pc + 1, c, i, hn::BitCast(Raw(), F::Call(d, hn::BitCast(d, v), number))...);
  }
  // Combines with the product of a stream and a number. The product is rounded before it
  // is combined, so files that use this are compiled without contraction of
  // floating-point expressions.
  template <class T, class F, bool kReverse, class Next = Threads>
  static void WithScaled(const Instr* pc, Context* c, size_t i, RawVecAt<K>... v) {
    const std::byte* p = EffectiveAddress(*c, pc->a, i);
    const auto number = Number<T>(*c, pc->b);
    FetchAhead(*c, *pc, p);
    return Next::Go(pc + 1, c, i, Scaled<T, F, kReverse>(v, hn::Mul(At<T>(p, K), number))...);
  }
  template <class T, class F, bool kReverse>
  static HWY_INLINE RawVec Scaled(RawVec v, hn::Vec<Tag<T>> product) {
    const Tag<T> d;
    const auto acc = hn::BitCast(d, v);
    return hn::BitCast(Raw(), kReverse ? F::Call(d, product, acc) : F::Call(d, acc, product));
  }
};

using Tile = Threads<std::make_index_sequence<kVectors>>;
using Single = Threads<std::make_index_sequence<1>>;

template <class F>
inline const void* Erase(F* f) {
  return reinterpret_cast<const void*>(f);
}
template <class T, class F>
KernelPair UnaryPair() {
  return {Erase(&Tile::Unary<T, F>), Erase(&Single::Unary<T, F>)};
}
template <class T, class F>
KernelPair BinaryPair() {
  return {Erase(&Tile::Binary<T, F>), Erase(&Single::Binary<T, F>)};
}
template <class T, class F>
KernelPair ReversedPair() {
  return {Erase(&Tile::Reversed<T, F>), Erase(&Single::Reversed<T, F>)};
}

template <class T, class F>
KernelPair NumberPair() {
  return {Erase(&Tile::WithNumber<T, F>), Erase(&Single::WithNumber<T, F>)};
}
template <class T, class F, bool kReverse>
KernelPair ScaledPair() {
  return {Erase(&Tile::WithScaled<T, F, kReverse>), Erase(&Single::WithScaled<T, F, kReverse>)};
}

template <class T>
constexpr Lane LaneOf() {
  if constexpr (std::is_same_v<T, float>)
    return Lane::kF32;
  else if constexpr (std::is_same_v<T, int32_t>)
    return Lane::kI32;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return Lane::kU32;
  else if constexpr (std::is_same_v<T, double>)
    return Lane::kF64;
  else if constexpr (std::is_same_v<T, int64_t>)
    return Lane::kI64;
  else
    return Lane::kU64;
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggled guard
