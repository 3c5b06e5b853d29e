// Trends of signals, and Fourier transforms of their segments.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "api/core/positions.h"
#include "base/at.h"
#include "base/dtype.h"
#include "tessera/fft.h"
#include "tessera/lookup.h"
#include "tessera/quantiles.h"
#include "tessera/signal.h"

namespace tessera::signals {

using namespace api;

static std::string Code(Trend v) {
  return v == Trend::kNone       ? "signals::Trend::kNone"
         : v == Trend::kConstant ? "signals::Trend::kConstant"
                                 : "signals::Trend::kLinear";
}
static std::string Code(const DetrendOptions& v) {
  return OptionFields()
      .Add("dim", v.dim, -1)
      .Add("type", v.type, Trend::kLinear)
      .Add("breaks", v.breaks, {})
      .code();
}
static std::string Code(Boundary v) {
  static constexpr const char* kNames[] = {"kNone", "kZeros", "kEven", "kOdd", "kConstant"};
  return fmt::format("signals::Boundary::{}", kNames[static_cast<size_t>(v)]);
}
// Adds the fields that all transforms of segments have.
template <class Options>
static OptionFields& AddSegments(OptionFields& fields, const Options& v) {
  return fields.Add("fs", v.fs, 1.0)
      .AddNamed("window", v.window)
      .Add("nperseg", v.nperseg)
      .Add("noverlap", v.noverlap)
      .Add("nfft", v.nfft);
}
static std::string Code(const StftOptions& v) {
  OptionFields fields;
  return AddSegments(fields, v)
      .Add("detrend", v.detrend, Trend::kNone)
      .Add("return_onesided", v.return_onesided, true)
      .Add("boundary", v.boundary, Boundary::kZeros)
      .Add("padded", v.padded, true)
      .Add("dim", v.dim, -1)
      .code();
}
static std::string Code(const IstftOptions& v) {
  OptionFields fields;
  return AddSegments(fields, v)
      .Add("input_onesided", v.input_onesided, true)
      .Add("boundary", v.boundary, true)
      .Add("time_dim", v.time_dim, -1)
      .Add("freq_dim", v.freq_dim, -2)
      .code();
}
static std::string Code(Scaling v) {
  return v == Scaling::kSpectrum ? "signals::Scaling::kSpectrum" : "signals::Scaling::kDensity";
}
static std::string Code(SpectrumAverage v) {
  return v == SpectrumAverage::kMedian ? "signals::SpectrumAverage::kMedian"
                                       : "signals::SpectrumAverage::kMean";
}
static std::string Code(const SpectrumOptions& v) {
  OptionFields fields;
  return AddSegments(fields, v)
      .Add("detrend", v.detrend, Trend::kConstant)
      .Add("return_onesided", v.return_onesided, true)
      .Add("scaling", v.scaling, Scaling::kDensity)
      .Add("dim", v.dim, -1)
      .Add("average", v.average, SpectrumAverage::kMean)
      .code();
}

namespace {

// Returns x[first:limit] along the dim.
Located Part(const Located& x, int64_t dim, int64_t first, int64_t limit) {
  base::Shape starts(x.shape().size(), 0), limits = x.shape();
  base::At(starts, dim) = first;
  base::At(limits, dim) = limit;
  return x.With(slice(x, starts, limits, {}, x.loc()));
}

// Returns x with this many zeros at both ends of the dim.
Located Padded(const Located& x, int64_t dim, int64_t before, int64_t behind, Call call) {
  if (before == 0 && behind == 0) return x;
  std::vector<Padding> edges(x.shape().size());
  base::At(edges, dim) = {before, behind};
  return x.With(pad(x, edges, StrongScalar(0, x.dtype(), call), call.loc));
}

// ---- trends ----

Located WithoutMean(const Located& x, int64_t dim) {
  return x - x.With(mean(x, dim, {.keepdims = true}, x.loc()));
}

// Subtracts the line of least squares: its slope is the covariance with the places over theirs.
Located WithoutLine(const Located& x, int64_t dim, Call call) {
  const int64_t n = base::At(x.shape(), dim);
  const Located away = WithoutMean(x, dim);
  if (n < 2) return away;
  const DType t = base::PartOf(x.dtype());
  const double middle = static_cast<double>(n - 1) / 2;
  const Located place = x.With(Positions(x, dim, t, call)) - middle;
  const auto size = static_cast<double>(n);
  const double spread = size * (size * size - 1) / 12;
  const Located slope = x.With(sum(away * place, dim, {.keepdims = true}, call.loc)) / spread;
  return away - slope * place;
}

Array Detrended(const Located& x, const DetrendOptions& options, Call call) {
  const int64_t dim = NormalDim(options.dim, Rank(x), call), n = base::At(x.shape(), dim);
  for (int64_t at : options.breaks)
    if (at < 0 || at > n)
      FailShape(call, 17, fmt::format("there is no element {} in a dim of {}", at, n));
  if (options.type == Trend::kNone) return api::Same(x);
  if (options.type == Trend::kConstant) return WithoutMean(x, dim);
  std::vector<int64_t> ends = options.breaks;
  ends.push_back(0);
  ends.push_back(n);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  if (ends.size() <= 2) return WithoutLine(x, dim, call);
  std::vector<Array> parts;
  for (size_t i = 0; i + 1 < ends.size(); ++i)
    parts.push_back(WithoutLine(Part(x, dim, ends[i], ends[i + 1]), dim, call));
  return concatenate(parts, static_cast<int>(dim), call.loc);
}

// ---- segments ----

struct Sizes {
  int64_t segment, overlap, transform;
  int64_t step() const { return segment - overlap; }
};

// Returns the sizes of segments of n samples, where `usual` samples are one by default.
template <class Options>
Sizes SizesOf(const Options& options, int64_t usual, Call call) {
  const Array& window = options.window;
  if (window.is_given() && Rank(window) != 1)
    FailShape(call, 17,
              fmt::format("a window has rank 1, not shape {}", ir::FieldText(ShapeOf(window))));
  Sizes sizes{};
  sizes.segment = options.nperseg.value_or(window.is_given() ? ShapeOf(window)[0] : usual);
  if (sizes.segment < 1) FailShape(call, 17, fmt::format("segments of {} samples", sizes.segment));
  if (window.is_given() && ShapeOf(window)[0] != sizes.segment)
    FailShape(call, 18,
              fmt::format("segments have {} samples, and the window {}", sizes.segment,
                          ShapeOf(window)[0]));
  sizes.overlap = options.noverlap.value_or(sizes.segment / 2);
  sizes.transform = options.nfft.value_or(sizes.segment);
  if (sizes.overlap < 0 || sizes.overlap >= sizes.segment)
    FailShape(call, 17,
              fmt::format("segments of {} samples overlap by {}", sizes.segment, sizes.overlap));
  if (sizes.transform < sizes.segment)
    FailShape(call, 17,
              fmt::format("transforms of {} samples do not hold segments of {}", sizes.transform,
                          sizes.segment));
  if (!(options.fs > 0))
    FailShape(call, 17, fmt::format("there are {} samples per unit of time", options.fs));
  return sizes;
}

// As SizesOf, for segments of a signal of n samples: they are no longer than it.
template <class Options>
Sizes SizesIn(Options options, int64_t n, int64_t usual, Call call) {
  if (n == 0) FailShape(call, 17, "the signal has no samples");
  if (options.window.is_given()) {
    if (Rank(options.window) == 1 && ShapeOf(options.window)[0] > n)
      FailShape(call, 18,
                fmt::format("the window has {} samples, and the signal {}",
                            ShapeOf(options.window)[0], n));
  } else {
    options.nperseg = std::min(options.nperseg.value_or(usual), n);
  }
  return SizesOf(options, usual, call);
}

// Returns the window in a dtype, which is Hann's by default: [n].
Located WindowOf(const Array& given, int64_t n, DType t, Call call) {
  if (given.is_given()) {
    const bool is_complex = TypeOf(given)->dtype().is_complex();
    return {Convert(given, is_complex ? base::ComplexOf(base::PartOf(t)) : t, call), call.loc};
  }
  std::vector<double> values(base::Size(n), 1);
  for (int64_t i = 0; i < n && n > 1; ++i)
    base::At(values, i) =
        std::pow(std::sin(std::numbers::pi * static_cast<double>(i) / static_cast<double>(n)), 2);
  return {Convert(array(values, {}, call.loc), t, call), call.loc};
}

// Returns x [..., n] with `n` more samples at both ends.
Located Extended(const Located& x, Boundary boundary, int64_t n, Call call) {
  const int64_t dim = Rank(x) - 1, all = x.shape().back();
  if (boundary == Boundary::kNone || n == 0) return x;
  if (boundary == Boundary::kZeros) return Padded(x, dim, n, n, call);
  const Located first = Part(x, dim, 0, 1), last = Part(x, dim, all - 1, all);
  const auto joined = [&](const Array& before, const Array& behind) {
    return x.With(concatenate({before, x, behind}, static_cast<int>(dim), call.loc));
  };
  if (boundary == Boundary::kConstant)
    return joined(repeat(first, n, static_cast<int>(dim), {}, call.loc),
                  repeat(last, n, static_cast<int>(dim), {}, call.loc));
  const Located before = x.With(flip(Part(x, dim, 1, n + 1), -1, call.loc));
  const Located behind = x.With(flip(Part(x, dim, all - 1 - n, all - 1), -1, call.loc));
  if (boundary == Boundary::kEven) return joined(before, behind);
  return joined(2 * first - before, 2 * last - behind);
}

// Returns x [..., n] with zeros at its end, so that segments end with it.
Located Completed(const Located& x, const Sizes& sizes, Call call) {
  const int64_t rest = (x.shape().back() - sizes.segment) % sizes.step();
  const int64_t more = rest == 0 ? 0 : (sizes.step() - rest) % sizes.segment;
  return Padded(x, Rank(x) - 1, 0, more, call);
}

// Returns the transforms of the segments of x [..., n]: [..., segments, frequencies].
Located Transformed(const Located& x, const Located& window, const Sizes& sizes, Trend trend,
                    bool is_onesided, Call call) {
  const Loc loc = call.loc;
  const int64_t count = (x.shape().back() - sizes.segment) / sizes.step() + 1;
  const Located start(iota({count, 1}, 0, {.dtype = i64}, loc), loc);
  const Array place =
      start * sizes.step() + start.With(iota({1, sizes.segment}, 1, {.dtype = i64}, loc));
  const Located parts = x.With(take(x, place, -1, {}, loc));
  const Located level = x.With(Detrended(parts, {.type = trend}, call));
  const fft::FftOptions options{.n = sizes.transform};
  const Located weighted = window * level;
  return is_onesided ? x.With(fft::rfft(real(weighted, loc), options, loc))
                     : x.With(fft::fft(weighted, options, loc));
}

Array Frequencies(const Sizes& sizes, bool is_onesided, double fs, DType t, Loc loc) {
  const fft::FftfreqOptions options{.d = 1 / fs, .dtype = t};
  return is_onesided ? fft::rfftfreq(sizes.transform, options, loc)
                     : fft::fftfreq(sizes.transform, options, loc);
}

// Returns x [..., dim, ...] with the dim at the end.
Located ToEnd(const Located& x, int64_t dim) { return x.With(moveaxis(x, dim, -1, x.loc())); }

}  // namespace

Array detrend(Operand x, DetrendOptions options, Loc loc) {
  const Call call{"detrend", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    return Detrended(Located(ToFloat(operand, call), loc), options, call);
  });
}

Stft stft(Operand x, StftOptions options, Loc loc) {
  const Call call{"stft", loc};
  const std::vector<Array> made = AsOneWith(
      call, {{"operand", x}, options}, {{"window", &options.window}}, [&](const Operands& xs) {
        const Located a(ToFloat(xs[0], call), loc);
        const DType t = a.dtype(), part = base::PartOf(t);
        const int64_t dim = NormalDim(options.dim, Rank(a), call), n = base::At(a.shape(), dim);
        const Sizes sizes = SizesIn(options, n, 256, call);
        const Located window = WindowOf(options.window, sizes.segment, part, call);
        Located samples = Extended(ToEnd(a, dim), options.boundary, sizes.segment / 2, call);
        if (options.padded) samples = Completed(samples, sizes, call);
        const bool is_onesided = options.return_onesided && !t.is_complex();
        const Located values =
            Transformed(samples, window, sizes, options.detrend, is_onesided, call);
        const Located total = a.With(sum(window, All, {}, loc));
        const double half = static_cast<double>(sizes.segment) / 2;
        const int64_t segments = base::At(values.shape(), Rank(values) - 2);
        const Located number(iota({segments}, 0, {.dtype = part}, loc), loc);
        const Located time = number * static_cast<double>(sizes.step()) +
                             (options.boundary == Boundary::kNone ? half : 0.0);
        return std::vector<Array>{Frequencies(sizes, is_onesided, options.fs, part, loc),
                                  time / options.fs,
                                  moveaxis(values / total, -1, static_cast<int>(dim), loc)};
      });
  return {made[0], made[1], made[2]};
}

namespace {

// Returns the sums of frames [..., frames, n] that begin `step` samples apart.
Located Overlapped(const Located& frames, int64_t step, Call call) {
  const int64_t count = base::At(frames.shape(), Rank(frames) - 2), n = frames.shape().back();
  const Located start(iota({count, 1}, 0, {.dtype = i64}, call.loc), call.loc);
  const Array place = start * step + start.With(iota({1, n}, 1, {.dtype = i64}, call.loc));
  base::Shape shape(frames.shape().begin(), frames.shape().end() - 2);
  shape.push_back(step * (count - 1) + n);
  return frames.With(zeros(shape, {.dtype = frames.dtype()}, call.loc)
                         .at({Ellipsis, place})
                         .add(frames, {}, call.loc));
}

// Returns the samples of the transform z [..., frequencies, segments], along its last dim.
Array Synthesised(const Located& z, const IstftOptions& options, Call call) {
  const Loc loc = call.loc;
  const int64_t found = base::At(z.shape(), Rank(z) - 2);
  const int64_t usual = options.input_onesided ? 2 * (found - 1) : found;
  IstftOptions given = options;
  if (!given.nfft && given.nperseg.value_or(usual) <= usual) given.nfft = usual;
  const Sizes sizes = SizesOf(given, usual, call);
  if (z.shape().back() == 0) FailShape(call, 17, "there are no segments");
  const fft::FftOptions how{.n = sizes.transform, .dim = -2};
  const Located all =
      z.With(options.input_onesided ? fft::irfft(z, how, loc) : fft::ifft(z, how, loc));
  const Located parts = z.With(swapaxes(Part(all, Rank(all) - 2, 0, sizes.segment), -1, -2, loc));
  const Located window = WindowOf(options.window, sizes.segment, base::PartOf(parts.dtype()), call);
  const Located total = z.With(sum(window, All, {}, loc));
  Located samples = Overlapped(parts * total * window, sizes.step(), call);
  const base::Shape frames{z.shape().back(), sizes.segment};
  Located weights =
      Overlapped(z.With(BroadcastTo(window * window, frames, call)), sizes.step(), call);
  if (const int64_t cut = sizes.segment / 2; options.boundary && cut > 0) {
    const int64_t end = samples.shape().back() - cut;
    if (end < cut) FailShape(call, 18, "the segments are no longer than their boundaries");
    samples = Part(samples, Rank(samples) - 1, cut, end);
    weights = Part(weights, 0, cut, end);
  }
  return samples / If(Abs(weights) > 1e-10, weights, 1.0);
}

}  // namespace

Istft istft(Operand z, IstftOptions options, Loc loc) {
  const Call call{"istft", loc};
  const std::vector<Array> made = AsOneWith(
      call, {{"operand", z}, options}, {{"window", &options.window}}, [&](const Operands& xs) {
        const Array a = ToArray(xs[0], call);
        const int64_t rank = Rank(a);
        if (rank < 2)
          FailShape(call, 17, fmt::format("a transform has rank 2 or more, not {}", rank));
        const int64_t time = NormalDim(options.time_dim, rank, call),
                      frequency = NormalDim(options.freq_dim, rank, call);
        if (time == frequency)
          FailShape(call, 18, "the dims of the times and of the frequencies differ");
        const DType t = base::ComplexOf(base::PartOf(FloatOf(TypeOf(a)->dtype())));
        const Array moved = moveaxis(Convert(a, t, call), {frequency, time}, {-2, -1}, loc);
        const Array samples = Synthesised(Located(moved, loc), options, call);
        const int64_t n = ShapeOf(samples).back();
        const Located number(iota({n}, 0, {.dtype = base::PartOf(t)}, loc), loc);
        return std::vector<Array>{number / options.fs,
                                  moveaxis(samples, -1, time - (frequency < time ? 1 : 0), loc)};
      });
  return {made[0], made[1]};
}

// ---- power ----

namespace {

// Returns the expected value of the median of n powers, relative to their mean (Allen et al.,
// FINDCHIRP, 2012).
double MedianBias(int64_t n) {
  double bias = 1;
  for (int64_t i = 2; i < n; i += 2)
    bias += 1 / static_cast<double>(i + 1) - 1 / static_cast<double>(i);
  return bias;
}

Located Averaged(const Located& power, SpectrumAverage average) {
  const Loc loc = power.loc();
  if (average == SpectrumAverage::kMean) return power.With(mean(power, -1, {}, loc));
  const auto middle = [&](const Array& x) { return median(x, -1, {}, loc); };
  const Located made =
      power.With(power.dtype().is_complex()
                     ? complex(middle(real(power, loc)), middle(imag(power, loc)), {}, loc)
                     : middle(power));
  return made / MedianBias(power.shape().back());
}

// Returns x and y with as many samples, and the dim at the end.
std::vector<Located> Signals(const std::vector<Array>& xs, int64_t dim, Call call) {
  std::vector<Located> signals;
  int64_t n = 0;
  for (const Array& x : xs) {
    signals.push_back(ToEnd(Located(x, call.loc), dim));
    n = std::max(n, signals.back().shape().back());
  }
  for (Located& x : signals) x = Padded(x, Rank(x) - 1, 0, n - x.shape().back(), call);
  return signals;
}

// Returns the frequencies and the power of one signal, or the cross power of two.
std::vector<Array> PowerOf(const std::vector<Array>& xs, const SpectrumOptions& options,
                           Call call) {
  const Loc loc = call.loc;
  if (xs.size() == 2 && Rank(xs[0]) != Rank(xs[1]))
    FailShape(call, 18, fmt::format("the signals have ranks {} and {}", Rank(xs[0]), Rank(xs[1])));
  const int64_t dim = NormalDim(options.dim, Rank(xs[0]), call);
  const int64_t n = base::At(ShapeOf(xs[0]), dim);
  const Sizes sizes = SizesIn(options, n, n, call);
  const DType t = TypeOf(xs[0])->dtype(), part = base::PartOf(t);
  const bool is_onesided = options.return_onesided && !t.is_complex();
  const Located window = WindowOf(options.window, sizes.segment, part, call);
  std::vector<Located> spectra;
  for (const Located& x : Signals(xs, dim, call))
    spectra.push_back(Transformed(x, window, sizes, options.detrend, is_onesided, call));
  const Located first = spectra[0].With(conj(spectra[0], loc));
  Located power = first * spectra.back();
  if (xs.size() == 1) power = power.With(real(power, loc));
  const bool is_density = options.scaling == Scaling::kDensity;
  const Located weight = window.With(sum(is_density ? window * window : window, All, {}, loc));
  power = is_density ? power / (weight * options.fs) : power / (weight * weight);
  if (is_onesided) {
    // All frequencies but 0 and the highest of an even transform stand for two.
    const int64_t ends = sizes.transform / 2 + (sizes.transform % 2 == 0 ? 0 : 1);
    const Located number = power.With(Positions(power, Rank(power) - 1, i32, call));
    power = If((number > 0) & (number < ends), 2 * power, power);
  }
  power = power.With(moveaxis(power, -1, static_cast<int>(dim), loc));
  return {Frequencies(sizes, is_onesided, options.fs, part, loc), Averaged(power, options.average)};
}

}  // namespace

Spectrum welch(Operand x, SpectrumOptions options, Loc loc) {
  const Call call{"welch", loc};
  const std::vector<Array> made =
      AsOneWith(call, {{"operand", x}, options}, {{"window", &options.window}},
                [&](const Operands& xs) { return PowerOf({ToFloat(xs[0], call)}, options, call); });
  return {made[0], made[1]};
}

Spectrum csd(Operand x, Operand y, SpectrumOptions options, Loc loc) {
  const Call call{"csd", loc};
  const std::vector<Array> made = AsOneWith(
      call, {{"x", x}, {"y", y}, options}, {{"window", &options.window}}, [&](const Operands& xs) {
        const DType t = FloatOf(PromotedDType({xs[0], xs[1]}, call));
        const auto given = [&](const Operand& o) { return Convert(ToArray(o, call), t, call); };
        return PowerOf({given(xs[0]), given(xs[1])}, options, call);
      });
  return {made[0], made[1]};
}

}  // namespace tessera::signals
