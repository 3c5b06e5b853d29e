// Signal processing: convolutions of any rank, trends, and spectra of segments.
//
//   auto [f, t, z] = signals::stft(x, {.fs = 16000, .nperseg = 512});
//   auto [f, p] = signals::welch(x, {.nperseg = 256});
//
// The names are those of jax.scipy.signal; `signal` itself is a function of C. A dim along which a
// signal is convolved or transformed must be whole, unless a comment says otherwise; the other dims
// keep their mesh axes. Ints and bools become floats.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/ops.h"
#include "tessera/statistics.h"

namespace TESSERA_PUBLIC tessera {
namespace signals {

// ---- convolutions ----

// Sums of products, or by Fourier transforms: faster for large kernels, and less exact.
enum class ConvolveMethod : uint8_t { kDirect, kFft };
struct ConvolveOptions {
  ConvolveMode mode = ConvolveMode::kFull;  // kSame: the middle of the size of a
  ConvolveMethod method = ConvolveMethod::kDirect;
  std::optional<PartitionSpec> out_sharding = {};  // with kDirect
};
// Returns the sums of a[i - k] v[k] over all dims. Directly, the dims of the larger array may be
// sharded, as for conv_general_dilated. Throws ShapeError for arrays of different rank or without
// elements, and unless one is no larger than the other in every dim.
Array convolve(Operand a, Operand v, ConvolveOptions options = {}, Loc loc = Loc::Current());
// Returns the sums of a[i + k] conj(v[k]).
Array correlate(Operand a, Operand v, ConvolveOptions options = {}, Loc loc = Loc::Current());

struct Convolve2dOptions {
  ConvolveMode mode = ConvolveMode::kFull;
  std::optional<PartitionSpec> out_sharding = {};
};
// Return the same for matrices. Throw ShapeError for other ranks.
Array convolve2d(Operand a, Operand v, Convolve2dOptions options = {}, Loc loc = Loc::Current());
Array correlate2d(Operand a, Operand v, Convolve2dOptions options = {}, Loc loc = Loc::Current());

struct FftConvolveOptions {
  ConvolveMode mode = ConvolveMode::kFull;
  Dims dims = All;  // dims that are convolved; the others have equal sizes
};
// Returns the convolution by Fourier transforms.
Array fftconvolve(Operand a, Operand v, FftConvolveOptions options = {}, Loc loc = Loc::Current());

// ---- spectra ----

// The trend of a signal: none, its mean, or the line of least squares.
enum class Trend : uint8_t { kNone, kConstant, kLinear };
struct DetrendOptions {
  int dim = -1;
  Trend type = Trend::kLinear;
  std::vector<int64_t> breaks = {};  // elements at which another line begins
};
// Returns x without its trend along a dim, which may be sharded if there are no breaks.
Array detrend(Operand x, DetrendOptions options = {}, Loc loc = Loc::Current());

// The continuation of a signal at its ends, by half a segment: none, zeros, the mirrored signal,
// the signal mirrored in its end point, or the last element.
enum class Boundary : uint8_t { kNone, kZeros, kEven, kOdd, kConstant };
struct StftOptions {
  double fs = 1;                         // samples per unit of time
  Array window = {};                     // [nperseg]; default: Hann's
  std::optional<int64_t> nperseg = {};   // samples of a segment; default: the window's, or 256,
                                         // and never more than x has
  std::optional<int64_t> noverlap = {};  // of neighbouring segments; default: half of nperseg
  std::optional<int64_t> nfft = {};      // samples, with zeros at the end; default: nperseg
  Trend detrend = Trend::kNone;          // of each segment
  bool return_onesided = true;           // of a real signal
  Boundary boundary = Boundary::kZeros;
  bool padded = true;  // zeros at the end complete the last segment
  int dim = -1;
};
struct Stft {
  Array frequencies, times;
  Array values;  // complex: frequencies in place of the dim, and segments as the last dim
};
// Returns the Fourier transforms of segments, divided by the sum of the window. Throws ShapeError
// for sizes that do not fit.
Stft stft(Operand x, StftOptions options = {}, Loc loc = Loc::Current());

struct IstftOptions {
  double fs = 1;
  Array window = {};
  std::optional<int64_t> nperseg = {};  // default: from the number of frequencies
  std::optional<int64_t> noverlap = {};
  std::optional<int64_t> nfft = {};
  bool input_onesided = true;
  bool boundary = true;  // the signal was continued at its ends
  int time_dim = -1, freq_dim = -2;
};
struct Istft {
  Array times;
  Array x;  // samples in place of the segments, and no dim of frequencies
};
// Returns the signal that has this transform, by least squares of the windowed segments.
Istft istft(Operand z, IstftOptions options = {}, Loc loc = Loc::Current());

// Power per unit of frequency, or of a frequency.
enum class Scaling : uint8_t { kDensity, kSpectrum };
// How the segments' spectra become one.
enum class SpectrumAverage : uint8_t { kMean, kMedian };
struct SpectrumOptions {
  double fs = 1;
  Array window = {};
  std::optional<int64_t> nperseg = {};  // default: the window's, or all samples of x
  std::optional<int64_t> noverlap = {};
  std::optional<int64_t> nfft = {};
  Trend detrend = Trend::kConstant;
  bool return_onesided = true;
  Scaling scaling = Scaling::kDensity;
  int dim = -1;
  SpectrumAverage average = SpectrumAverage::kMean;
};
struct Spectrum {
  Array frequencies;
  Array power;  // frequencies in place of the dim
};
// Returns the power spectrum, averaged over segments (Welch, 1967).
Spectrum welch(Operand x, SpectrumOptions options = {}, Loc loc = Loc::Current());
// Returns the cross spectrum of two signals, which is complex. Their other dims broadcast, and the
// shorter one is continued by zeros.
Spectrum csd(Operand x, Operand y, SpectrumOptions options = {}, Loc loc = Loc::Current());

}  // namespace signals
}  // namespace tessera
