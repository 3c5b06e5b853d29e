// Copies numbers between arrays and the buffers of lanes, compiled once per target.
#if defined(TESSERA_SIMD_LANES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_LANES_H_
#undef TESSERA_SIMD_LANES_H_
#else
#define TESSERA_SIMD_LANES_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/fourier/simd_passes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

// Where an array has the elements of the transforms of the lanes. P is float, double, or one of
// these that is const. Number k of lane l has its real part at lane[l][step * k].
template <class P>
struct LaneView {
  using T = std::remove_const_t<P>;
  std::array<P*, hn::MaxLanes(FourierTag<T>())> lane = {};
  int64_t count = 0;  // of lanes
  int64_t step = 2;
  int64_t imaginary = 1;     // from a real part to its imaginary part; 0: numbers are real
  bool is_adjacent = false;  // a full vector of lanes, whose numbers follow each other
};

// A 4 x 4 transpose of f32 or a 2 x 2 transpose of f64, in the smallest vectors of all targets.
inline constexpr int64_t kBlockBytes = 16;
template <class T>
using BlockTag = hn::FixedTag<T, kBlockBytes / sizeof(T)>;
template <class T>
using BlockOf = hn::Vec<BlockTag<T>>;

HWY_INLINE void TransposeBlock(BlockOf<float>* v) {
  const BlockTag<float> d;
  const auto even0 = hn::InterleaveLower(d, v[0], v[2]), odd0 = hn::InterleaveLower(d, v[1], v[3]);
  const auto even1 = hn::InterleaveUpper(d, v[0], v[2]), odd1 = hn::InterleaveUpper(d, v[1], v[3]);
  v[0] = hn::InterleaveLower(d, even0, odd0);
  v[1] = hn::InterleaveUpper(d, even0, odd0);
  v[2] = hn::InterleaveLower(d, even1, odd1);
  v[3] = hn::InterleaveUpper(d, even1, odd1);
}
HWY_INLINE void TransposeBlock(BlockOf<double>* v) {
  const BlockTag<double> d;
  const auto low = hn::InterleaveLower(d, v[0], v[1]);
  v[1] = hn::InterleaveUpper(d, v[0], v[1]);
  v[0] = low;
}

// A block has this many lanes, and half as many numbers of each.
template <class T>
inline constexpr int64_t kBlockLanes = kBlockBytes / static_cast<int64_t>(sizeof(T));

// The planes of a buffer: the real parts, and the imaginary parts.
template <class T>
struct Planes {
  T *re, *im;
  // Inverse transforms are transforms between numbers whose parts are exchanged.
  Planes(T* buffer, bool exchanged) : re(buffer), im(buffer + LaneCount<T>()) {
    if (exchanged) std::swap(re, im);
  }
  static int64_t step() { return 2 * LaneCount<T>(); }
};

// Where the lanes of a view are copied in blocks, and where one by one.
template <class P>
struct BlockRange {
  int64_t lanes = 0, numbers = 0;
  BlockRange(const LaneView<P>& view, int64_t n) {
    using T = typename LaneView<P>::T;
    if (view.step != 2 || view.imaginary != 1) return;
    lanes = view.count / kBlockLanes<T> * kBlockLanes<T>;
    numbers = n / (kBlockLanes<T> / 2) * (kBlockLanes<T> / 2);
  }
};

// Calls f(l, k) for all numbers outside of the blocks.
template <class P, class F>
void ForEachRest(const LaneView<P>& view, const BlockRange<P>& blocks, int64_t n, F f) {
  for (int64_t l = 0; l < view.count; ++l)
    for (int64_t k = l < blocks.lanes ? blocks.numbers : 0; k < n; ++k) f(l, k);
}

template <class T>
void LoadAdjacent(const LaneView<const T>& view, int64_t n, Planes<T> to) {
  const FourierTag<T> d;
  const T* from = view.lane[0];
  for (int64_t k = 0; k < n; ++k, from += view.step) {
    LaneVector<T> re, im = hn::Zero(d);
    if (view.imaginary == 1) {
      hn::LoadInterleaved2(d, from, re, im);
    } else {
      re = hn::LoadU(d, from);
      if (view.imaginary != 0) im = hn::LoadU(d, from + view.imaginary);
    }
    hn::Store(re, d, to.re + to.step() * k);
    hn::Store(im, d, to.im + to.step() * k);
  }
}

// Reads numbers [0, n) of each lane. Lanes without a transform become zero.
template <class T>
void LoadLanes(const LaneView<const T>& view, int64_t n, bool exchanged, T* buffer) {
  const Planes<T> to(buffer, exchanged);
  if (view.is_adjacent) return LoadAdjacent(view, n, to);
  if (view.count < LaneCount<T>() || view.imaginary == 0) std::fill_n(buffer, to.step() * n, T{0});
  const BlockRange<const T> blocks(view, n);
  constexpr int64_t kNumbers = kBlockLanes<T> / 2;
  const BlockTag<T> d;
  for (int64_t l = 0; l < blocks.lanes; l += kBlockLanes<T>)
    for (int64_t k = 0; k < blocks.numbers; k += kNumbers) {
      BlockOf<T> v[kBlockLanes<T>];
      for (int64_t j = 0; j < kBlockLanes<T>; ++j) v[j] = hn::LoadU(d, view.lane[l + j] + 2 * k);
      TransposeBlock(v);
      for (int64_t i = 0; i < kNumbers; ++i) {
        hn::StoreU(v[2 * i], d, to.re + to.step() * (k + i) + l);
        hn::StoreU(v[2 * i + 1], d, to.im + to.step() * (k + i) + l);
      }
    }
  ForEachRest(view, blocks, n, [&](int64_t l, int64_t k) {
    const T* from = view.lane[l] + view.step * k;
    to.re[to.step() * k + l] = from[0];
    if (view.imaginary != 0) to.im[to.step() * k + l] = from[view.imaginary];
  });
}

template <class T>
void StoreAdjacent(const LaneView<T>& view, int64_t n, T scale, Planes<T> from) {
  const FourierTag<T> d;
  const auto by = hn::Set(d, scale);
  T* to = view.lane[0];
  for (int64_t k = 0; k < n; ++k, to += view.step) {
    const auto re = hn::Mul(hn::Load(d, from.re + from.step() * k), by);
    const auto im = hn::Mul(hn::Load(d, from.im + from.step() * k), by);
    if (view.imaginary == 1) {
      hn::StoreInterleaved2(re, im, d, to);
    } else {
      hn::StoreU(re, d, to);
      if (view.imaginary != 0) hn::StoreU(im, d, to + view.imaginary);
    }
  }
}

// Writes numbers [0, n) of each lane, times `scale`.
template <class T>
void StoreLanes(const LaneView<T>& view, int64_t n, bool exchanged, T scale, T* buffer) {
  const Planes<T> from(buffer, exchanged);
  if (view.is_adjacent) return StoreAdjacent(view, n, scale, from);
  const BlockRange<T> blocks(view, n);
  constexpr int64_t kNumbers = kBlockLanes<T> / 2;
  const BlockTag<T> d;
  const auto by = hn::Set(d, scale);
  for (int64_t l = 0; l < blocks.lanes; l += kBlockLanes<T>)
    for (int64_t k = 0; k < blocks.numbers; k += kNumbers) {
      BlockOf<T> v[kBlockLanes<T>];
      for (int64_t i = 0; i < kNumbers; ++i) {
        v[2 * i] = hn::LoadU(d, from.re + from.step() * (k + i) + l);
        v[2 * i + 1] = hn::LoadU(d, from.im + from.step() * (k + i) + l);
      }
      TransposeBlock(v);
      for (int64_t j = 0; j < kBlockLanes<T>; ++j)
        hn::StoreU(hn::Mul(v[j], by), d, view.lane[l + j] + 2 * k);
    }
  ForEachRest(view, blocks, n, [&](int64_t l, int64_t k) {
    T* to = view.lane[l] + view.step * k;
    to[0] = from.re[from.step() * k + l] * scale;
    if (view.imaginary != 0) to[view.imaginary] = from.im[from.step() * k + l] * scale;
  });
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
