// Fourier transforms in vectors. Compiled once per instruction set.
#include <algorithm>
#include <complex>
#include <cstring>

#include "base/simd_targets.h"
#include "kernels/fourier/fourier_config.h"
#include "kernels/parts.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fourier/simd_fourier.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Highway requires this order of includes: the targets first.
#include "kernels/fourier/simd_lanes.h"
#include "kernels/fourier/simd_passes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels {
namespace HWY_NAMESPACE {

// ---- many transforms at once --------------------------------------------------------------------

// With z[k] = x[2 k] + i x[2 k + 1] and h = n / 2, the transform of the real x is
// X[k] = (Z[k] + conj Z[h - k]) / 2 - i exp(-2 pi i k / n) (Z[k] - conj Z[h - k]) / 2.
template <class T>
void SplitPairs(const FourierConfig<T>& c, LaneBuffers<T>& buffers) {
  const int64_t step = 2 * LaneCount<T>(), h = c.length;
  for (int64_t k = 0; k <= h; ++k) {
    const auto a = ComplexLanes<T>::Load(buffers.from + step * (k % h));
    const auto b = ComplexLanes<T>::Load(buffers.from + step * ((h - k) % h)).Conjugate();
    ((a + b) + (a - b).Turned() * c.roots[k]).Times(T(0.5)).Store(buffers.to + step * k);
  }
  buffers.Exchange();
}

// The inverse: Z[k] = X[k] + conj X[h - k] + i exp(2 pi i k / n) (X[k] - conj X[h - k]). The parts
// of the result are exchanged.
template <class T>
void JoinPairs(const FourierConfig<T>& c, LaneBuffers<T>& buffers) {
  const int64_t step = 2 * LaneCount<T>(), h = c.length;
  const auto zero = hn::Zero(FourierTag<T>());
  for (int64_t end : {int64_t{0}, h})
    hn::Store(zero, FourierTag<T>(), buffers.from + step * end + LaneCount<T>());
  for (int64_t k = 0; k < h; ++k) {
    const auto a = ComplexLanes<T>::Load(buffers.from + step * k);
    const auto b = ComplexLanes<T>::Load(buffers.from + step * (h - k)).Conjugate();
    const ComplexLanes<T> odd = (a - b) * std::conj(c.roots[k]), even = a + b;
    ComplexLanes<T>{hn::Add(even.im, odd.re), hn::Sub(even.re, odd.im)}.Store(buffers.to +
                                                                              step * k);
  }
  buffers.Exchange();
}

// Sets numbers [n / 2 + 1, n) to the conjugates of numbers n - k, for an odd n, and exchanges all
// parts.
template <class T>
void Mirror(int64_t n, T* buffer) {
  const int64_t step = 2 * LaneCount<T>();
  hn::Store(hn::Zero(FourierTag<T>()), FourierTag<T>(), buffer + LaneCount<T>());
  for (int64_t k = 0; k <= n / 2; ++k) {
    const auto a = ComplexLanes<T>::Load(buffer + step * k);
    if (k > 0) ComplexLanes<T>{hn::Neg(a.im), a.re}.Store(buffer + step * (n - k));
    ComplexLanes<T>{a.im, a.re}.Store(buffer + step * k);
  }
}

// Returns where `array` has `count` transforms from number `first` on. Each has `length` elements;
// they are real if `imaginary` is 0. Pairs of real elements are seen as numbers.
template <class P, class T>
LaneView<P> ViewOf(const FourierConfig<T>& c, P* array, int64_t first, int64_t count,
                   int64_t length, bool is_real) {
  const int64_t inner = c.desc.inner, parts = is_real ? 1 : 2;
  LaneView<P> view;
  view.count = count;
  view.step = 2 * inner;
  view.imaginary = !is_real ? 1 : c.is_paired() ? inner : 0;
  if (is_real && !c.is_paired()) view.step = inner;
  for (int64_t l = 0; l < count; ++l) {
    const int64_t o = (first + l) / inner, i = (first + l) % inner;
    view.lane[static_cast<size_t>(l)] = array + parts * (o * length * inner + i);
  }
  view.is_adjacent =
      count == LaneCount<T>() && first % inner + count <= inner && (count > 1 || inner > 1);
  return view;
}

template <class T>
void TransformBlock(const FourierConfig<T>& c, const LaneView<const T>& in, const LaneView<T>& out,
                    LaneBuffers<T> buffers) {
  const FourierKind kind = c.desc.kind;
  const bool is_inverse = kind == FourierKind::kInverse;
  const int64_t complex_length = c.desc.n / 2 + 1;
  if (kind == FourierKind::kToReal) {
    LoadLanes(in, complex_length, false, buffers.from);
    if (c.is_paired())
      JoinPairs(c, buffers);
    else
      Mirror(c.desc.n, buffers.from);
  } else {
    LoadLanes(in, c.length, is_inverse, buffers.from);
  }
  TransformLanes(*c.lanes, buffers);
  if (kind == FourierKind::kFromReal && c.is_paired()) SplitPairs(c, buffers);
  StoreLanes(out, kind == FourierKind::kFromReal ? complex_length : c.length,
             is_inverse || kind == FourierKind::kToReal, static_cast<T>(c.desc.scale),
             buffers.from);
}

// Returns the elements of each of the two buffers.
template <class T>
int64_t BufferOf(const FourierConfig<T>& c, const LaneTransform<T>& t) {
  return 2 * LaneCount<T>() * std::max(t.buffer(), c.length + 1);
}

template <class T>
void RunLanes(const FourierConfig<T>& c, const plan::KernelArgs& call) {
  const auto* in = reinterpret_cast<const T*>(call.in[0]);
  auto* out = reinterpret_cast<T*>(call.out[0]);
  auto* scratch = reinterpret_cast<T*>(call.scratch);
  const int64_t transforms = c.desc.outer * c.desc.inner, lanes = LaneCount<T>();
  const Range range = Share(transforms, lanes, call.part, call.parts);
  for (int64_t first = range.begin; first < range.end; first += lanes) {
    const int64_t count = std::min(lanes, range.end - first);
    TransformBlock<T>(
        c,
        ViewOf<const T>(c, in, first, count, c.in_length(), c.desc.kind == FourierKind::kFromReal),
        ViewOf<T>(c, out, first, count, c.out_length(), c.desc.kind == FourierKind::kToReal),
        {scratch, scratch + BufferOf(c, *c.lanes)});
  }
}

// ---- row by row ---------------------------------------------------------------------------------

template <class T>
int64_t LargestBuffer(const FourierConfig<T>& c, const RowTransform<T>& t) {
  if (t.chirped) return LargestBuffer(c, *t.chirped);
  return std::max(BufferOf(c, *t.first), BufferOf(c, *t.second));
}

// A row of complex numbers, and memory for its transform.
template <class T>
struct RowArgs {
  const T* in;
  T* out;
  T* temporary;  // for all numbers
  LaneBuffers<T> buffers;
  bool exchanges_in = false, exchanges_out = false;
  T scale = 1;
};

// The columns of the row as a matrix, times the roots of their position and frequency.
template <class T>
void TransformColumns(const RowTransform<T>& t, const RowArgs<T>& row) {
  const int64_t rows = t.first->n, columns = t.second->n, lanes = LaneCount<T>();
  const FourierTag<T> d;
  for (int64_t c = 0; c < columns; c += lanes) {
    LaneView<const T> in;
    LaneView<T> out;
    in.count = out.count = std::min(lanes, columns - c);
    in.step = out.step = 2 * columns;
    in.is_adjacent = out.is_adjacent = in.count == lanes;
    for (int64_t l = 0; l < in.count; ++l) {
      in.lane[static_cast<size_t>(l)] = row.in + 2 * (c + l);
      out.lane[static_cast<size_t>(l)] = row.temporary + 2 * (c + l);
    }
    LaneBuffers<T> buffers = row.buffers;
    LoadLanes(in, rows, row.exchanges_in, buffers.from);
    TransformLanes(*t.first, buffers);
    for (int64_t k = 0; k < rows; ++k) {
      T* at = buffers.from + 2 * lanes * k;
      const T* near = t.near.data() + 2 * lanes * k;
      const ComplexLanes<T> root{hn::LoadU(d, near), hn::LoadU(d, near + lanes)};
      (ComplexLanes<T>::Load(at) * root * std::complex<T>(t.Root(k * c % t.n))).Store(at);
    }
    StoreLanes(out, rows, false, T{1}, buffers.from);
  }
}

// The rows of the matrix; the result is its transpose.
template <class T>
void TransformRows(const RowTransform<T>& t, const RowArgs<T>& row) {
  const int64_t rows = t.first->n, columns = t.second->n, lanes = LaneCount<T>();
  for (int64_t r = 0; r < rows; r += lanes) {
    LaneView<const T> in;
    LaneView<T> out;
    in.count = out.count = std::min(lanes, rows - r);
    in.step = 2;
    out.step = 2 * rows;
    out.is_adjacent = out.count == lanes;
    for (int64_t l = 0; l < in.count; ++l) {
      in.lane[static_cast<size_t>(l)] = row.temporary + 2 * (r + l) * columns;
      out.lane[static_cast<size_t>(l)] = row.out + 2 * (r + l);
    }
    LaneBuffers<T> buffers = row.buffers;
    LoadLanes(in, columns, false, buffers.from);
    TransformLanes(*t.second, buffers);
    StoreLanes(out, columns, row.exchanges_out, row.scale, buffers.from);
  }
}

template <class T>
std::complex<T> NumberAt(const T* row, int64_t k, bool exchanged) {
  return exchanged ? std::complex<T>(row[2 * k + 1], row[2 * k])
                   : std::complex<T>(row[2 * k], row[2 * k + 1]);
}
template <class T>
void SetNumber(T* row, int64_t k, bool exchanged, std::complex<T> to) {
  row[2 * k] = exchanged ? to.imag() : to.real();
  row[2 * k + 1] = exchanged ? to.real() : to.imag();
}
// C++ multiplies complex numbers with more cases, for infinities.
template <class T>
std::complex<T> Product(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class T>
void TransformRow(const RowTransform<T>& t, RowArgs<T> row);

template <class T>
void TransformByChirps(const RowTransform<T>& t, const RowArgs<T>& row) {
  const int64_t m = t.chirped->n;
  T *x = row.temporary, *y = x + 2 * m, *temporary = y + 2 * m;
  for (int64_t k = 0; k < t.n; ++k)
    SetNumber(x, k, false, Product(NumberAt(row.in, k, row.exchanges_in), t.chirp[k]));
  std::fill(x + 2 * t.n, x + 2 * m, T{0});
  TransformRow(*t.chirped, {x, y, temporary, row.buffers});
  for (int64_t k = 0; k < m; ++k)
    SetNumber(y, k, false, std::conj(Product(NumberAt(y, k, false), t.filter[k])));
  TransformRow(*t.chirped, {y, x, temporary, row.buffers});
  for (int64_t k = 0; k < t.n; ++k)
    SetNumber(row.out, k, row.exchanges_out,
              Product(std::conj(NumberAt(x, k, false)), t.chirp[k]) * row.scale);
}

// The operand may be the result.
template <class T>
void TransformRow(const RowTransform<T>& t, RowArgs<T> row) {
  if (t.chirped) return TransformByChirps(t, row);
  TransformColumns(t, row);
  TransformRows(t, row);
}

// Returns the numbers of all temporary rows of a transform.
template <class T>
int64_t TemporaryOf(const RowTransform<T>& t) {
  return t.chirped ? 3 * t.chirped->n : t.n;
}

// As SplitPairs does, in place: out has h numbers and gets h + 1.
template <class T>
void SplitRow(const FourierConfig<T>& c, T* out) {
  const int64_t h = c.length;
  const auto half = static_cast<T>(0.5);
  SetNumber(out, h, false, NumberAt(out, 0, false));
  for (int64_t k = 0; k <= h - k; ++k) {
    const std::complex<T> a = NumberAt(out, k, false), b = NumberAt(out, h - k, false);
    const std::complex<T> even = (a + std::conj(b)) * half, less = (a - std::conj(b)) * half;
    const std::complex<T> odd = Product(std::complex<T>(less.imag(), -less.real()), c.roots[k]);
    SetNumber(out, k, false, even + odd);
    SetNumber(out, h - k, false, std::conj(even - odd));
  }
}
// As JoinPairs does.
template <class T>
void JoinRow(const FourierConfig<T>& c, const T* in, T* out) {
  const int64_t h = c.length;
  const auto at = [&](int64_t k) {
    return k == 0 || k == h ? std::complex<T>(in[2 * k]) : NumberAt(in, k, false);
  };
  for (int64_t k = 0; k < h; ++k) {
    const std::complex<T> a = at(k), b = std::conj(at(h - k)), even = a + b;
    const std::complex<T> odd = Product(a - b, std::conj(c.roots[k]));
    SetNumber(out, k, true, {even.real() - odd.imag(), even.imag() + odd.real()});
  }
}

// Rows of numbers between the operand and the transform, or the transform and the result: of
// arrays whose other dims are inner ones, and of real arrays.
template <class T>
void ReadRow(const FourierConfig<T>& c, const T* in, int64_t o, int64_t i, T* row) {
  const int64_t inner = c.desc.inner, n = c.in_length();
  const bool is_real = c.desc.kind == FourierKind::kFromReal;
  if (is_real) {
    const T* at = in + o * n * inner + i;
    for (int64_t k = 0; k < n; ++k) {
      if (c.is_paired()) {
        row[k] = at[k * inner];
      } else {
        row[2 * k] = at[k * inner];
        row[2 * k + 1] = 0;
      }
    }
    return;
  }
  const T* at = in + 2 * (o * n * inner + i);
  for (int64_t k = 0; k < n; ++k) SetNumber(row, k, false, NumberAt(at, k * inner, false));
}
template <class T>
void WriteRow(const FourierConfig<T>& c, const T* row, int64_t o, int64_t i, T* out) {
  const int64_t inner = c.desc.inner, n = c.out_length();
  if (c.desc.kind == FourierKind::kToReal) {
    T* at = out + o * n * inner + i;
    for (int64_t k = 0; k < n; ++k) at[k * inner] = c.is_paired() ? row[k] : row[2 * k];
    return;
  }
  T* at = out + 2 * (o * n * inner + i);
  for (int64_t k = 0; k < n; ++k) SetNumber(at, k * inner, false, NumberAt(row, k, false));
}

// Sets the exchanged parts of n numbers from the n / 2 + 1 that `row` has. n is odd.
template <class T>
void MirrorRow(int64_t n, T* row) {
  row[1] = 0;
  for (int64_t k = 0; k <= n / 2; ++k) {
    const std::complex<T> a = NumberAt(row, k, false);
    if (k > 0) SetNumber(row, n - k, true, std::conj(a));
    SetNumber(row, k, true, a);
  }
}

template <class T>
void RunRows(const FourierConfig<T>& c, const plan::KernelArgs& call) {
  const auto* in = reinterpret_cast<const T*>(call.in[0]);
  auto* out = reinterpret_cast<T*>(call.out[0]);
  const FourierKind kind = c.desc.kind;
  const int64_t inner = c.desc.inner, numbers = 2 * (c.length + 1);
  const bool is_direct = inner == 1 && (!c.is_real() || c.is_paired());
  auto* buffers = reinterpret_cast<T*>(call.scratch);
  T* rows = buffers + 2 * LargestBuffer(c, *c.row);
  T *from_row = rows, *to_row = from_row + numbers, *temporary = to_row + numbers;
  const Range range = Share(c.desc.outer * inner, 1, call.part, call.parts);
  for (int64_t r = range.begin; r < range.end; ++r) {
    const int64_t o = r / inner, i = r % inner;
    const T* from = from_row;
    T* to = to_row;
    if (is_direct) {
      from = in + o * c.in_length() * (kind == FourierKind::kFromReal ? 1 : 2);
      to = out + o * c.out_length() * (kind == FourierKind::kToReal ? 1 : 2);
    } else {
      ReadRow(c, in, o, i, from_row);
    }
    if (kind == FourierKind::kToReal) {
      if (c.is_paired())
        JoinRow(c, from, from_row == from ? to_row : from_row);
      else
        MirrorRow(c.desc.n, from_row);
      if (c.is_paired()) from = from_row == from ? to_row : from_row;
    }
    const bool is_inverse = kind == FourierKind::kInverse;
    TransformRow(*c.row, {from,
                          to,
                          temporary,
                          {buffers, buffers + LargestBuffer(c, *c.row)},
                          is_inverse,
                          is_inverse || kind == FourierKind::kToReal,
                          static_cast<T>(c.desc.scale)});
    if (kind == FourierKind::kFromReal && c.is_paired()) SplitRow(c, to);
    if (!is_direct) WriteRow(c, to, o, i, out);
  }
}

// ---- both ---------------------------------------------------------------------------------------

template <class T>
int64_t ScratchOf(const FourierConfig<T>& c) {
  const auto bytes = static_cast<int64_t>(sizeof(T));
  if (c.lanes) return bytes * 2 * BufferOf(c, *c.lanes);
  return bytes * (2 * LargestBuffer(c, *c.row) + 4 * (c.length + 1) + 2 * TemporaryOf(*c.row));
}

template <class T>
void RunFourier(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const FourierConfig<T>*>(call.config);
  return c.lanes ? RunLanes(c, call) : RunRows(c, call);
}

FourierCode<float> NarrowCode() {
  return {LaneCount<float>(), &ScratchOf<float>, &RunFourier<float>};
}
FourierCode<double> WideCode() {
  return {LaneCount<double>(), &ScratchOf<double>, &RunFourier<double>};
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {

HWY_EXPORT(NarrowCode);
HWY_EXPORT(WideCode);

template <>
FourierCode<float> FourierCodeOf<float>() {
  return HWY_DYNAMIC_DISPATCH(NarrowCode)();
}
template <>
FourierCode<double> FourierCodeOf<double>() {
  return HWY_DYNAMIC_DISPATCH(WideCode)();
}

}  // namespace tessera::kernels
#endif
