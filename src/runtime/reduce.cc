#include "runtime/reduce.h"

#include <algorithm>
#include <type_traits>

#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/reduce.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::runtime::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sources read in one pass; more would outrun the hardware's prefetchers and the L1's ways.
constexpr int kAtOnce = 16;
constexpr int64_t kBlock = 1024;  // elements of the partial result between passes: stays in L1

struct Add {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    return hn::Add(a, b);
  }
};
struct Mul {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    return hn::Mul(a, b);
  }
};
struct And {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    return hn::And(a, b);
  }
};
struct Or {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    return hn::Or(a, b);
  }
};

// Equal operands differ at most in the sign of zero: and keeps +0, or keeps -0.
struct Max {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    if constexpr (!hwy::IsFloat<hn::TFromD<D>>())
      return hn::Max(a, b);
    else {
      const V most = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), hn::Max(a, b));
      return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, most));
    }
  }
};
struct Min {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    if constexpr (!hwy::IsFloat<hn::TFromD<D>>())
      return hn::Min(a, b);
    else {
      const V least = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), hn::Min(a, b));
      return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, least));
    }
  }
};

template <class Op, class D, class T>
HWY_INLINE void CombineVector(D d, const T* const* src, int k, T* dst, int64_t i) {
  auto sum = hn::LoadU(d, src[0] + i);
  for (int j = 1; j < k; ++j) sum = Op::Call(d, sum, hn::LoadU(d, src[j] + i));
  hn::StoreU(sum, d, dst + i);
}

// Four vectors of every source in turn: as many bytes as two lines with AVX2.
template <class Op, class D, class T>
HWY_INLINE void CombineFour(D d, const T* const* src, int k, T* dst, int64_t i, bool stream) {
  const int64_t n = hn::Lanes(d);
  auto a = hn::LoadU(d, src[0] + i), b = hn::LoadU(d, src[0] + i + n);
  auto c = hn::LoadU(d, src[0] + i + 2 * n), e = hn::LoadU(d, src[0] + i + 3 * n);
  for (int j = 1; j < k; ++j) {
    const T* s = src[j] + i;
    a = Op::Call(d, a, hn::LoadU(d, s));
    b = Op::Call(d, b, hn::LoadU(d, s + n));
    c = Op::Call(d, c, hn::LoadU(d, s + 2 * n));
    e = Op::Call(d, e, hn::LoadU(d, s + 3 * n));
  }
  if (stream) {
    hn::Stream(a, d, dst + i), hn::Stream(b, d, dst + i + n);
    hn::Stream(c, d, dst + i + 2 * n), hn::Stream(e, d, dst + i + 3 * n);
  } else {
    hn::StoreU(a, d, dst + i), hn::StoreU(b, d, dst + i + n);
    hn::StoreU(c, d, dst + i + 2 * n), hn::StoreU(e, d, dst + i + 3 * n);
  }
}

template <class Op, class T>
HWY_NOINLINE void Combine(const T* const* src, int k, T* dst, int64_t n, bool stream) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const int64_t lanes = hn::Lanes(d);
  int64_t i = 0;
  if (stream) {  // streamed stores must be aligned
    const int64_t vector = lanes * static_cast<int64_t>(sizeof(T));
    const auto address = reinterpret_cast<intptr_t>(dst);
    const int64_t head = (-address & (vector - 1)) / static_cast<int64_t>(sizeof(T));
    for (; i < std::min(head, n); ++i) CombineVector<Op>(one, src, k, dst, i);
  }
  for (; i + 4 * lanes <= n; i += 4 * lanes) CombineFour<Op>(d, src, k, dst, i, stream);
  for (; i + lanes <= n; i += lanes) CombineVector<Op>(d, src, k, dst, i);
  for (; i < n; ++i) CombineVector<Op>(one, src, k, dst, i);
  if (stream) hwy::FlushStream();
}

template <class T, class Op>
void ReduceNative(const std::byte* const* src, int k, std::byte* out, int64_t n, bool stream) {
  auto* dst = reinterpret_cast<T*>(out);
  const T* at[kAtOnce];
  if (k <= kAtOnce) {
    for (int j = 0; j < k; ++j) at[j] = reinterpret_cast<const T*>(src[j]);
    return Combine<Op>(at, k, dst, n, stream);
  }
  HWY_ALIGN T partial[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    for (int begin = 0; begin < k;) {
      int count = 0;
      if (begin > 0) at[count++] = partial;
      for (; count < kAtOnce && begin < k; ++begin) {
        at[count++] = reinterpret_cast<const T*>(src[begin]) + i;
      }
      if (begin < k)
        Combine<Op>(at, count, partial, m, false);
      else
        Combine<Op>(at, count, dst + i, m, stream);
    }
  }
}

// Bits have no dtype: the elements of any are bytes here.
template <size_t kSize, class Op>
void ReduceBits(const std::byte* const* src, int k, std::byte* out, int64_t n, bool stream) {
  ReduceNative<uint8_t, Op>(src, k, out, n * static_cast<int64_t>(kSize), stream);
}

// Highway has no product of 8-bit and, before AVX-512, of 64-bit integers. Unsigned: may wrap.
template <class T>
void MultiplyIntegers(const std::byte* const* src, int k, std::byte* out, int64_t n, bool) {
  auto* dst = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    uint64_t product = 1;
    for (int j = 0; j < k; ++j) {
      product *= static_cast<uint64_t>(reinterpret_cast<const T*>(src[j])[i]);
    }
    dst[i] = static_cast<T>(product);
  }
}

struct Half {
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const uint16_t* p) {
    const hn::Rebind<hwy::float16_t, D> dh;
    return hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(p)));
  }
  // To nearest even with integer operations: not every target has a conversion that rounds so.
  template <class D>
  static HWY_INLINE void Store(D d, hn::Vec<D> v, uint16_t* p) {
    const hn::RebindToUnsigned<D> du;
    const auto set = [du](uint32_t x) HWY_ATTR { return hn::Set(du, x); };
    const auto all = hn::BitCast(du, v);
    const auto x = hn::And(all, set(0x7fffffff));
    const auto odd = hn::And(hn::ShiftRight<13>(x), set(1));
    const auto normal = hn::ShiftRight<13>(hn::Add(hn::Add(x, odd), set(0xfffu - 0x38000000u)));
    const auto tiny =
        hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(d, x), hn::Set(d, 0.5f))), set(0x3f000000));
    auto half = hn::IfThenElse(hn::Lt(x, set(0x38800000)), tiny, normal);
    half = hn::IfThenElse(hn::Gt(x, set(0x477fefff)), set(0x7c00), half);
    half = hn::IfThenElse(hn::Gt(x, set(0x7f800000)), set(0x7e00), half);
    const auto sign = hn::And(hn::ShiftRight<16>(all), set(0x8000));
    const hn::Rebind<uint16_t, D> d16;
    hn::StoreU(hn::TruncateTo(d16, hn::Or(half, sign)), d16, p);
  }
};

struct BHalf {
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const uint16_t* p) {
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<uint16_t, D> d16;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(d16, p))));
  }
  template <class D>
  static HWY_INLINE void Store(D, hn::Vec<D> v, uint16_t* p) {
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<uint16_t, D> d16;
    const auto x = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(x), hn::Set(du, 1));
    const auto rounded = hn::Add(hn::Add(x, odd), hn::Set(du, 0x7fff));
    const auto quiet = hn::Or(x, hn::Set(du, 0x400000));
    const auto nan = hn::RebindMask(du, hn::IsNaN(v));
    const auto high = hn::ShiftRight<16>(hn::IfThenElse(nan, quiet, rounded));
    hn::StoreU(hn::TruncateTo(d16, high), d16, p);
  }
};

template <class Format, class Op, class D>
HWY_INLINE void CombineNarrow(D d, const uint16_t* const* src, int k, uint16_t* dst, int64_t i) {
  auto sum = Format::Load(d, src[0] + i);
  for (int j = 1; j < k; ++j) sum = Op::Call(d, sum, Format::Load(d, src[j] + i));
  Format::Store(d, sum, dst + i);
}

template <class Format, class Op>
void ReduceNarrow(const std::byte* const* src, int k, std::byte* out, int64_t n, bool) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const auto* at = reinterpret_cast<const uint16_t* const*>(src);
  auto* dst = reinterpret_cast<uint16_t*>(out);
  const int64_t lanes = hn::Lanes(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) CombineNarrow<Format, Op>(d, at, k, dst, i);
  for (; i < n; ++i) CombineNarrow<Format, Op>(one, at, k, dst, i);
}

template <class T>
ReduceFn OfInteger(Reduction reduction) {
  using Unsigned = std::make_unsigned_t<T>;  // sums and products have the same bits
  switch (reduction) {
    case Reduction::kSum:
      return ReduceNative<Unsigned, Add>;
    case Reduction::kProd:
      return MultiplyIntegers<Unsigned>;
    case Reduction::kMax:
      return ReduceNative<T, Max>;
    case Reduction::kMin:
      return ReduceNative<T, Min>;
    case Reduction::kAnd:
      return ReduceBits<sizeof(T), And>;
    default:
      return ReduceBits<sizeof(T), Or>;
  }
}

template <class T>
ReduceFn OfFloat(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return ReduceNative<T, Add>;
    case Reduction::kProd:
      return ReduceNative<T, Mul>;
    case Reduction::kMax:
      return ReduceNative<T, Max>;
    case Reduction::kMin:
      return ReduceNative<T, Min>;
    default:
      return nullptr;
  }
}

template <class Format>
ReduceFn OfNarrow(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return ReduceNarrow<Format, Add>;
    case Reduction::kProd:
      return ReduceNarrow<Format, Mul>;
    case Reduction::kMax:
      return ReduceNarrow<Format, Max>;
    case Reduction::kMin:
      return ReduceNarrow<Format, Min>;
    default:
      return nullptr;
  }
}

ReduceFn OfBool(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProd:
    case Reduction::kMin:
    case Reduction::kAnd:
      return ReduceBits<1, And>;
    default:
      return ReduceBits<1, Or>;
  }
}

ReduceFn Find(DType dtype, Reduction reduction) {
  switch (dtype.code()) {
    case DType::kBool:
      return OfBool(reduction);
    case DType::kI8:
      return OfInteger<int8_t>(reduction);
    case DType::kI16:
      return OfInteger<int16_t>(reduction);
    case DType::kI32:
      return OfInteger<int32_t>(reduction);
    case DType::kI64:
      return OfInteger<int64_t>(reduction);
    case DType::kU8:
      return OfInteger<uint8_t>(reduction);
    case DType::kU16:
      return OfInteger<uint16_t>(reduction);
    case DType::kU32:
      return OfInteger<uint32_t>(reduction);
    case DType::kU64:
      return OfInteger<uint64_t>(reduction);
    case DType::kF16:
      return OfNarrow<Half>(reduction);
    case DType::kBF16:
      return OfNarrow<BHalf>(reduction);
    case DType::kF32:
      return OfFloat<float>(reduction);
    case DType::kF64:
      return OfFloat<double>(reduction);
    default:
      return nullptr;
  }
}

void Stream(std::byte* dst, const std::byte* src, int64_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const int64_t n = hn::Lanes(d);
  auto* to = reinterpret_cast<uint8_t*>(dst);
  const auto* from = reinterpret_cast<const uint8_t*>(src);
  const int64_t head = std::min(bytes, -reinterpret_cast<intptr_t>(dst) & (n - 1));
  std::copy_n(from, head, to);
  int64_t i = head;
  // Not unrolled: several lines in flight to one stream cost two busy cores 20 %.
  for (; i + n <= bytes; i += n) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  std::copy(from + i, from + bytes, to + i);
}

}  // namespace tessera::runtime::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::runtime {
HWY_EXPORT(Find);
HWY_EXPORT(Stream);

ReduceFn FindReduce(DType dtype, Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(Find)(dtype, reduction);
}

void StreamCopy(std::byte* dst, const std::byte* src, int64_t bytes) {
  HWY_DYNAMIC_DISPATCH(Stream)(dst, src, bytes);
}
void FinishStreams() { hwy::FlushStream(); }

}  // namespace tessera::runtime
#endif  // HWY_ONCE
