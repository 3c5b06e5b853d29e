// Passes of transforms over lanes, compiled once per target. A buffer holds, for each element of a
// transform, a vector of real parts and then one of imaginary parts: lane l belongs to transform l.
#if defined(TESSERA_SIMD_PASSES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_PASSES_H_
#undef TESSERA_SIMD_PASSES_H_
#else
#define TESSERA_SIMD_PASSES_H_
#endif

#include <hwy/highway.h>

#include <complex>
#include <utility>

#include "kernels/fourier/lengths.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using FourierTag = hn::ScalableTag<T>;
template <class T>
using LaneVector = hn::Vec<FourierTag<T>>;
template <class T>
HWY_INLINE int64_t LaneCount() {
  return static_cast<int64_t>(hn::Lanes(FourierTag<T>()));
}

// A complex number per lane.
template <class T>
struct ComplexLanes {
  LaneVector<T> re, im;

  static HWY_INLINE ComplexLanes Load(const T* at) {
    return {hn::Load(FourierTag<T>(), at),
            hn::Load(FourierTag<T>(), at + hn::Lanes(FourierTag<T>()))};
  }
  HWY_INLINE void Store(T* at) const {
    hn::Store(re, FourierTag<T>(), at);
    hn::Store(im, FourierTag<T>(), at + hn::Lanes(FourierTag<T>()));
  }
  friend HWY_INLINE ComplexLanes operator+(ComplexLanes a, ComplexLanes b) {
    return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
  }
  friend HWY_INLINE ComplexLanes operator-(ComplexLanes a, ComplexLanes b) {
    return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
  }
  friend HWY_INLINE ComplexLanes operator*(ComplexLanes a, ComplexLanes b) {
    return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
            hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im))};
  }
  friend HWY_INLINE ComplexLanes operator*(ComplexLanes a, std::complex<T> b) {
    return a * ComplexLanes{hn::Set(FourierTag<T>(), b.real()), hn::Set(FourierTag<T>(), b.imag())};
  }
  HWY_INLINE ComplexLanes Times(T real) const {
    const auto r = hn::Set(FourierTag<T>(), real);
    return {hn::Mul(re, r), hn::Mul(im, r)};
  }
  // Returns the product with -i.
  HWY_INLINE ComplexLanes Turned() const { return {im, hn::Neg(re)}; }
  HWY_INLINE ComplexLanes Conjugate() const { return {re, hn::Neg(im)}; }
};

// Transforms a[0], ..., a[radix - 1].
template <class T, int radix>
struct Butterfly;

template <class T>
struct Butterfly<T, 2> {
  static HWY_INLINE void Run(ComplexLanes<T>* a) {
    const ComplexLanes<T> sum = a[0] + a[1];
    a[1] = a[0] - a[1];
    a[0] = sum;
  }
};

template <class T>
struct Butterfly<T, 3> {
  static HWY_INLINE void Run(ComplexLanes<T>* a) {
    constexpr T kSine = T(0.866025403784438646763723170752936183L);
    const ComplexLanes<T> sum = a[1] + a[2], across = (a[1] - a[2]).Turned().Times(kSine);
    const ComplexLanes<T> middle = a[0] - sum.Times(T(0.5));
    a[0] = a[0] + sum;
    a[1] = middle + across;
    a[2] = middle - across;
  }
};

template <class T>
struct Butterfly<T, 4> {
  static HWY_INLINE void Run(ComplexLanes<T>* a) {
    const ComplexLanes<T> even = a[0] + a[2], even_less = a[0] - a[2];
    const ComplexLanes<T> odd = a[1] + a[3], odd_less = (a[1] - a[3]).Turned();
    a[0] = even + odd;
    a[1] = even_less + odd_less;
    a[2] = even - odd;
    a[3] = even_less - odd_less;
  }
};

template <class T>
struct Butterfly<T, 5> {
  static HWY_INLINE void Run(ComplexLanes<T>* a) {
    constexpr T kCosine1 = T(0.309016994374947424102293417182819059L);
    constexpr T kCosine2 = T(-0.809016994374947424102293417182819059L);
    constexpr T kSine1 = T(0.951056516295153572116439333379382143L);
    constexpr T kSine2 = T(0.587785252292473129168705954639072769L);
    const ComplexLanes<T> near = a[1] + a[4], near_less = (a[1] - a[4]).Turned();
    const ComplexLanes<T> far = a[2] + a[3], far_less = (a[2] - a[3]).Turned();
    const ComplexLanes<T> middle1 = a[0] + near.Times(kCosine1) + far.Times(kCosine2);
    const ComplexLanes<T> middle2 = a[0] + near.Times(kCosine2) + far.Times(kCosine1);
    const ComplexLanes<T> across1 = near_less.Times(kSine1) + far_less.Times(kSine2);
    const ComplexLanes<T> across2 = near_less.Times(kSine2) - far_less.Times(kSine1);
    a[0] = a[0] + near + far;
    a[1] = middle1 + across1;
    a[2] = middle2 + across2;
    a[3] = middle2 - across2;
    a[4] = middle1 - across1;
  }
};

template <class T>
struct Butterfly<T, 8> {
  static HWY_INLINE void Run(ComplexLanes<T>* a) {
    constexpr T kHalfRoot = T(0.707106781186547524400844362104849039L);
    ComplexLanes<T> even[4] = {a[0] + a[4], a[1] + a[5], a[2] + a[6], a[3] + a[7]};
    const ComplexLanes<T> less1 = a[1] - a[5], less3 = a[3] - a[7];
    // Products with exp(-i pi / 4) and exp(-3 i pi / 4).
    ComplexLanes<T> odd[4] = {a[0] - a[4], (less1 + less1.Turned()).Times(kHalfRoot),
                              (a[2] - a[6]).Turned(), (less3.Turned() - less3).Times(kHalfRoot)};
    Butterfly<T, 4>::Run(even);
    Butterfly<T, 4>::Run(odd);
    for (int k = 0; k < 4; ++k) a[2 * k] = even[k], a[2 * k + 1] = odd[k];
  }
};

// A pass of Stockham's algorithm: element q + s (p + m k) of x, for k in [0, radix), gives element
// q + s (radix p + j) of y, for j in [0, radix), with q in [0, s) and p in [0, m).
template <class T>
struct PassArgs {
  const typename LaneTransform<T>::RadixPass* pass;
  int64_t m, s;
};

template <class T, int radix>
void RunPass(const PassArgs<T>& c, const T* HWY_RESTRICT x, T* HWY_RESTRICT y) {
  const int64_t step = 2 * LaneCount<T>();
  for (int64_t p = 0; p < c.m; ++p) {
    const std::complex<T>* twiddles = c.pass->twiddles.data() + p * (radix - 1);
    const T* in = x + step * c.s * p;
    T* out = y + step * c.s * radix * p;
    for (int64_t q = 0; q < c.s; ++q, in += step, out += step) {
      ComplexLanes<T> a[radix];
      for (int k = 0; k < radix; ++k) a[k] = ComplexLanes<T>::Load(in + step * c.s * c.m * k);
      Butterfly<T, radix>::Run(a);
      a[0].Store(out);
      for (int j = 1; j < radix; ++j)
        (p == 0 ? a[j] : a[j] * twiddles[j - 1]).Store(out + step * c.s * j);
    }
  }
}

// The same for any odd radix: elements k and radix - k share their products.
template <class T>
void RunOddPass(const PassArgs<T>& c, const T* HWY_RESTRICT x, T* HWY_RESTRICT y) {
  const int64_t step = 2 * LaneCount<T>();
  const int radix = c.pass->radix, half = (radix - 1) / 2;
  const std::complex<T>* roots = c.pass->roots.data();
  ComplexLanes<T> sums[kLargestRadix / 2 + 1], turned[kLargestRadix / 2 + 1];
  for (int64_t p = 0; p < c.m; ++p) {
    const std::complex<T>* twiddles = c.pass->twiddles.data() + p * (radix - 1);
    for (int64_t q = 0; q < c.s; ++q) {
      const T* in = x + step * (q + c.s * p);
      T* out = y + step * (q + c.s * radix * p);
      const ComplexLanes<T> first = ComplexLanes<T>::Load(in);
      ComplexLanes<T> total = first;
      for (int k = 1; k <= half; ++k) {
        const auto a = ComplexLanes<T>::Load(in + step * c.s * c.m * k),
                   b = ComplexLanes<T>::Load(in + step * c.s * c.m * (radix - k));
        sums[k] = a + b;
        turned[k] = (a - b).Turned();
        total = total + sums[k];
      }
      total.Store(out);
      for (int j = 1; j <= half; ++j) {
        ComplexLanes<T> middle = first, across = turned[1].Times(-roots[j].imag());
        for (int k = 1; k <= half; ++k) {
          const std::complex<T> root = roots[j * k % radix];
          middle = middle + sums[k].Times(root.real());
          if (k > 1) across = across + turned[k].Times(-root.imag());
        }
        ((middle + across) * twiddles[j - 1]).Store(out + step * c.s * j);
        ((middle - across) * twiddles[radix - j - 1]).Store(out + step * c.s * (radix - j));
      }
    }
  }
}

// Two buffers of lanes. A step reads `from` and writes `to`, and then exchanges them.
template <class T>
struct LaneBuffers {
  T *from, *to;
  void Exchange() { std::swap(from, to); }
};

template <class T>
void RunPasses(const LaneTransform<T>& t, LaneBuffers<T>& buffers) {
  int64_t m = t.n, s = 1;
  for (const auto& pass : t.passes) {
    m /= pass.radix;
    const PassArgs<T> args{&pass, m, s};
    switch (pass.radix) {
      case 2:
        RunPass<T, 2>(args, buffers.from, buffers.to);
        break;
      case 3:
        RunPass<T, 3>(args, buffers.from, buffers.to);
        break;
      case 4:
        RunPass<T, 4>(args, buffers.from, buffers.to);
        break;
      case 5:
        RunPass<T, 5>(args, buffers.from, buffers.to);
        break;
      case 8:
        RunPass<T, 8>(args, buffers.from, buffers.to);
        break;
      default:
        RunOddPass<T>(args, buffers.from, buffers.to);
    }
    buffers.Exchange();
    s *= pass.radix;
  }
}

// Transforms all lanes of buffers.from; the result is there too.
template <class T>
void TransformLanes(const LaneTransform<T>& t, LaneBuffers<T>& buffers) {
  if (!t.chirped) return RunPasses(t, buffers);
  const int64_t step = 2 * LaneCount<T>();
  T* x = buffers.from;
  for (int64_t k = 0; k < t.n; ++k)
    (ComplexLanes<T>::Load(x + step * k) * t.chirp[k]).Store(x + step * k);
  const ComplexLanes<T> zero{hn::Zero(FourierTag<T>()), hn::Zero(FourierTag<T>())};
  for (int64_t k = t.n; k < t.chirped->n; ++k) zero.Store(x + step * k);
  RunPasses(*t.chirped, buffers);
  // The conjugate of the transform of a conjugate is the inverse transform.
  x = buffers.from;
  for (int64_t k = 0; k < t.chirped->n; ++k)
    (ComplexLanes<T>::Load(x + step * k) * t.filter[k]).Conjugate().Store(x + step * k);
  RunPasses(*t.chirped, buffers);
  x = buffers.from;
  for (int64_t k = 0; k < t.n; ++k)
    (ComplexLanes<T>::Load(x + step * k).Conjugate() * t.chirp[k]).Store(x + step * k);
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
