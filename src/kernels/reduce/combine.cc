// The combine functions of exchanges: combine several buffers into one.
#include "kernels/reduce/combine.h"

#include <algorithm>
#include <type_traits>

#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/combine.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
// Highway requires this order of includes: the targets first.
#include "kernels/elements/scalar_elements.h"
#include "kernels/elements/simd_arithmetic.h"
#include "kernels/elements/simd_formats.h"
#include "kernels/reduce/reduce_elements.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

using Sources = const std::byte* const*;

// Sources read in one pass. More would exceed the streams of the hardware prefetcher and the ways
// of L1.
constexpr int kAtOnce = 16;
constexpr int64_t kPartialBytes = 8192;  // bytes of the result between passes; it stays in L1

template <class T>
HWY_INLINE const T* ElementAt(const std::byte* p, int64_t i) {
  return reinterpret_cast<const T*>(p) + i;
}

template <class Op, class D, class T = hn::TFromD<D>>
HWY_INLINE void CombineVector(D d, Sources src, int k, T* dst, int64_t i) {
  auto all = hn::LoadU(d, ElementAt<T>(src[0], i));
  for (int j = 1; j < k; ++j) all = Op::Call(d, all, hn::LoadU(d, ElementAt<T>(src[j], i)));
  hn::StoreU(all, d, dst + i);
}

// Combines four vectors of each source in turn: with AVX2, two lines.
template <class Op, class D, class T = hn::TFromD<D>>
HWY_INLINE void CombineFour(D d, Sources src, int k, T* dst, int64_t i, bool stream) {
  const int64_t n = hn::Lanes(d);
  const T* s = ElementAt<T>(src[0], i);
  auto a = hn::LoadU(d, s), b = hn::LoadU(d, s + n);
  auto c = hn::LoadU(d, s + 2 * n), e = hn::LoadU(d, s + 3 * n);
  for (int j = 1; j < k; ++j) {
    s = ElementAt<T>(src[j], i);
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

// Returns the number of elements before the first aligned one, where non-temporal stores can start.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE int64_t Unaligned(D d, const T* dst, int64_t n) {
  const auto vector = static_cast<intptr_t>(hn::Lanes(d) * sizeof(T));
  const intptr_t bytes = -reinterpret_cast<intptr_t>(dst) & (vector - 1);
  return std::min(bytes / static_cast<int64_t>(sizeof(T)), n);
}

template <class T, class Op>
void CombineAtOnce(Sources src, int k, std::byte* out, int64_t n, bool stream) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const int64_t lanes = hn::Lanes(d);
  T* dst = reinterpret_cast<T*>(out);
  // Elements up to the first aligned one, and after the last whole vector, are combined one at
  // a time.
  int64_t i = 0, end = stream ? Unaligned(d, dst, n) : 0;
  for (;;) {
    for (; i < end; ++i) CombineVector<Op>(one, src, k, dst, i);
    if (i == n) break;
    for (; i + 4 * lanes <= n; i += 4 * lanes) CombineFour<Op>(d, src, k, dst, i, stream);
    for (; i + lanes <= n; i += lanes) CombineVector<Op>(d, src, k, dst, i);
    end = n;
  }
  if (stream) hwy::FlushStream();
}

// Combines some sources at a time. The result so far is the first source of the next pass.
void CombineInPasses(plan::CombineFn combine, int64_t itemsize, Sources src, int k, std::byte* out,
                     int64_t n, bool stream) {
  HWY_ALIGN std::byte partial[kPartialBytes];
  const std::byte* at[kAtOnce];
  const int64_t block = kPartialBytes / itemsize;
  for (int64_t i = 0; i < n; i += block) {
    const int64_t m = std::min(block, n - i);
    for (int begin = 0; begin < k;) {
      int count = 0;
      if (begin > 0) at[count++] = partial;
      for (; count < kAtOnce && begin < k; ++begin) at[count++] = src[begin] + i * itemsize;
      const bool last = begin == k;
      combine(at, count, last ? out + i * itemsize : partial, m, last && stream);
    }
  }
}

// Elements that vectors hold as memory stores them.
template <class T>
struct Native {
  template <class Op>
  static void Run(Sources src, int k, std::byte* out, int64_t n, bool stream) {
    if (k <= kAtOnce)
      CombineAtOnce<T, Op>(src, k, out, n, stream);
    else
      CombineInPasses(CombineAtOnce<T, Op>, sizeof(T), src, k, out, n, stream);
  }
};

// Bitwise functions do not depend on the dtype: they combine bytes.
template <size_t kSize, class Op>
void CombineBits(Sources src, int k, std::byte* out, int64_t n, bool stream) {
  Native<uint8_t>::Run<Op>(src, k, out, n * static_cast<int64_t>(kSize), stream);
}

// Highway has no product of 8-bit integers and, before AVX-512, none of 64-bit integers.
template <class T>
void MultiplyIntegers(Sources src, int k, std::byte* out, int64_t n, bool) {
  auto* dst = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    T product = 1;
    for (int j = 0; j < k; ++j) product = WrapMul(product, *ElementAt<T>(src[j], i));
    dst[i] = product;
  }
}

// Complex numbers one after the other.
template <class T, Reduction kReduction>
void CombineComplex(Sources src, int k, std::byte* out, int64_t n, bool) {
  auto* dst = reinterpret_cast<std::complex<T>*>(out);
  for (int64_t i = 0; i < n; ++i) {
    std::complex<T> all = *ElementAt<std::complex<T>>(src[0], i);
    for (int j = 1; j < k; ++j)
      all = Combine(kReduction, all, *ElementAt<std::complex<T>>(src[j], i));
    dst[i] = all;
  }
}

// Adds the parts of complex numbers.
template <class T>
void AddComplex(Sources src, int k, std::byte* out, int64_t n, bool stream) {
  Native<T>::template Run<Add>(src, k, out, 2 * n, stream);
}

template <class T>
plan::CombineFn OfComplex(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return AddComplex<T>;
    case Reduction::kProd:
      return CombineComplex<T, Reduction::kProd>;
    case Reduction::kMax:
      return CombineComplex<T, Reduction::kMax>;
    case Reduction::kMin:
      return CombineComplex<T, Reduction::kMin>;
    case Reduction::kAnd:
    case Reduction::kOr:
    case Reduction::kXor:
      return nullptr;
  }
  return nullptr;
}

// f16 and bf16: combined in f32 and rounded once.
template <class Format>
struct Narrow {
  template <class Op, class D>
  static HWY_INLINE void At(D d, Sources src, int k, uint16_t* dst, int64_t i) {
    auto all = LoadFloats(Format(), d, ElementAt<uint16_t>(src[0], i));
    for (int j = 1; j < k; ++j)
      all = Op::Call(d, all, LoadFloats(Format(), d, ElementAt<uint16_t>(src[j], i)));
    StoreFloats(Format(), d, all, dst + i);
  }
  template <class Op>
  static void Run(Sources src, int k, std::byte* out, int64_t n, bool) {
    const hn::ScalableTag<float> d;
    const hn::CappedTag<float, 1> one;
    auto* dst = reinterpret_cast<uint16_t*>(out);
    const int64_t lanes = hn::Lanes(d);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) At<Op>(d, src, k, dst, i);
    for (; i < n; ++i) At<Op>(one, src, k, dst, i);
  }
};

template <class T>
plan::CombineFn OfInteger(Reduction reduction) {
  using Unsigned = std::make_unsigned_t<T>;  // sums and products have the same bits
  switch (reduction) {
    case Reduction::kSum:
      return Native<Unsigned>::template Run<Add>;
    case Reduction::kProd:
      return MultiplyIntegers<Unsigned>;
    case Reduction::kMax:
      return Native<T>::template Run<Max>;
    case Reduction::kMin:
      return Native<T>::template Run<Min>;
    case Reduction::kAnd:
      return CombineBits<sizeof(T), And>;
    case Reduction::kOr:
      return CombineBits<sizeof(T), Or>;
    case Reduction::kXor:
      return CombineBits<sizeof(T), Xor>;
  }
  return nullptr;
}

template <class Elements>
plan::CombineFn OfFloat(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return Elements::template Run<Add>;
    case Reduction::kProd:
      return Elements::template Run<Mul>;
    case Reduction::kMax:
      return Elements::template Run<Max>;
    case Reduction::kMin:
      return Elements::template Run<Min>;
    case Reduction::kAnd:
    case Reduction::kOr:
    case Reduction::kXor:
      return nullptr;
  }
  return nullptr;
}

plan::CombineFn OfBool(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProd:
    case Reduction::kMin:
    case Reduction::kAnd:
      return CombineBits<1, And>;
    case Reduction::kSum:
    case Reduction::kMax:
    case Reduction::kOr:
      return CombineBits<1, Or>;
    case Reduction::kXor:
      return CombineBits<1, Xor>;
  }
  return nullptr;
}

plan::CombineFn FindCombine(DType dtype, Reduction reduction) {
  // A gather along a sharded dim sums slices, one of them not zero, and zero has no bits set.
  // Other reductions of storage dtypes are made in wider ones.
  if (dtype.is_storage())
    return reduction == Reduction::kSum ? OfInteger<uint8_t>(reduction) : nullptr;
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
    case DType::kKey:
      return OfInteger<uint64_t>(reduction);
    case DType::kF16:
      return OfFloat<Narrow<HalfFormat>>(reduction);
    case DType::kBF16:
      return OfFloat<Narrow<BrainFormat>>(reduction);
    case DType::kF32:
      return OfFloat<Native<float>>(reduction);
    case DType::kF64:
      return OfFloat<Native<double>>(reduction);
    case DType::kC64:
      return OfComplex<float>(reduction);
    case DType::kC128:
      return OfComplex<double>(reduction);
    default:
      return nullptr;
  }
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
HWY_EXPORT(FindCombine);

plan::CombineFn Combiner(DType dtype, Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(FindCombine)(dtype, reduction);
}

}  // namespace tessera::kernels
#endif  // HWY_ONCE
