// Rows of signal.h.
#include <tessera/signal.h>

#include "functions/rows.h"

namespace tessera::functions {

using signals::Boundary;
using signals::ConvolveMethod;
using signals::Trend;

namespace {
R Of(const signals::Stft& made) { return {made.frequencies, made.times, made.values}; }
R Of(const signals::Spectrum& made) { return {made.frequencies, made.power}; }
R Of(const signals::Istft& made) { return {made.times, made.x}; }
}  // namespace

const Rows& SignalRows() {
  static const Rows rows = {
      {"signals::convolve", "jss.convolve(a, b)", "f64[4,3] f64[2,2]",
       [](A a) -> R { return {signals::convolve(a[0], a[1])}; }},
      {"signals::convolve.same", "jss.convolve(a, b, mode='same')", "f64[6] f64[4]",
       [](A a) -> R { return {signals::convolve(a[0], a[1], {.mode = ConvolveMode::kSame})}; }},
      {"signals::convolve.same_of_small", "jss.convolve(a, b, mode='same')", "f64[2] f64[5]",
       [](A a) -> R { return {signals::convolve(a[0], a[1], {.mode = ConvolveMode::kSame})}; }},
      {"signals::convolve.valid", "jss.convolve(a, b, mode='valid')", "i32[3,1] f32[5,2]",
       [](A a) -> R { return {signals::convolve(a[0], a[1], {.mode = ConvolveMode::kValid})}; }},
      {"signals::convolve.fft", "jss.convolve(a, b, method='fft')", "f64[6] f64[3]",
       [](A a) -> R { return {signals::convolve(a[0], a[1], {.method = ConvolveMethod::kFft})}; }},
      {"signals::correlate", "jss.correlate(a, b)", "c128[5] c128[3]",
       [](A a) -> R { return {signals::correlate(a[0], a[1])}; }},
      {"signals::correlate.valid", "jss.correlate(a, b, mode='valid')", "f64[4,4] f64[2,3]",
       [](A a) -> R { return {signals::correlate(a[0], a[1], {.mode = ConvolveMode::kValid})}; }},
      {"signals::correlate.same", "jss.correlate(a, b, mode='same')", "f64[3] f64[6]",
       [](A a) -> R { return {signals::correlate(a[0], a[1], {.mode = ConvolveMode::kSame})}; }},
      {"signals::convolve2d", "jss.convolve2d(a, b)", "f64[4,3] f64[2,3]",
       [](A a) -> R { return {signals::convolve2d(a[0], a[1])}; }},
      {"signals::convolve2d.same", "jss.convolve2d(a, b, mode='same')", "f64[4,6] f64[2,2]",
       [](A a) -> R { return {signals::convolve2d(a[0], a[1], {.mode = ConvolveMode::kSame})}; }},
      {"signals::correlate2d", "jss.correlate2d(a, b)", "c128[2,2] c128[3,4]",
       [](A a) -> R { return {signals::correlate2d(a[0], a[1])}; }},
      {"signals::correlate2d.same", "jss.correlate2d(a, b, mode='same')", "f64[4,5] f64[2,2]",
       [](A a) -> R { return {signals::correlate2d(a[0], a[1], {.mode = ConvolveMode::kSame})}; }},
      {"signals::correlate2d.valid", "jss.correlate2d(a, b, mode='valid')", "c128[2,2] c128[3,4]",
       [](A a) -> R { return {signals::correlate2d(a[0], a[1], {.mode = ConvolveMode::kValid})}; }},
      {"signals::fftconvolve", "jss.fftconvolve(a, b)", "f64[4,3] f64[2,5]",
       [](A a) -> R { return {signals::fftconvolve(a[0], a[1])}; }},
      {"signals::fftconvolve.same", "jss.fftconvolve(a, b, mode='same', axes=1)",
       "c128[2,4] c128[2,3]",
       [](A a) -> R {
         return {signals::fftconvolve(a[0], a[1], {.mode = ConvolveMode::kSame, .dims = 1})};
       }},
      {"signals::fftconvolve.valid", "jss.fftconvolve(a, b, mode='valid')", "f64[2,1] f64[4,3]",
       [](A a) -> R { return {signals::fftconvolve(a[0], a[1], {.mode = ConvolveMode::kValid})}; }},
      {"signals::detrend", "jss.detrend(a)", "f64[2,6]",
       [](A a) -> R { return {signals::detrend(a[0])}; }},
      {"signals::detrend.constant", "jss.detrend(a, type='constant', axis=0)", "c128[4,2]",
       [](A a) -> R { return {signals::detrend(a[0], {.dim = 0, .type = Trend::kConstant})}; }},
      {"signals::detrend.breaks", "jss.detrend(a, axis=0, bp=[3, 7])", "f64[8,2]",
       [](A a) -> R {
         return {signals::detrend(a[0], {.dim = 0, .breaks = {7, 3}})};
       },
       1e-10},
      {"signals::stft", "list(jss.stft(a, nperseg=6))", "f64[2,20]",
       [](A a) -> R { return Of(signals::stft(a[0], {.nperseg = 6})); }},
      {"signals::stft.options",
       "list(jss.stft(a, fs=8, window=b, nperseg=5, noverlap=3, nfft=8, detrend='linear', "
       "boundary='even', padded=False, axis=0))",
       "f64[16,2] f64[5]:0.5:1",
       [](A a) -> R {
         return Of(signals::stft(a[0], {.fs = 8,
                                        .window = a[1],
                                        .nperseg = 5,
                                        .noverlap = 3,
                                        .nfft = 8,
                                        .detrend = Trend::kLinear,
                                        .boundary = Boundary::kEven,
                                        .padded = false,
                                        .dim = 0}));
       },
       1e-10},
      {"signals::stft.complex",
       "list(jss.stft(a, nperseg=4, boundary='odd', return_onesided=False))", "c128[11]",
       [](A a) -> R {
         return Of(signals::stft(
             a[0], {.nperseg = 4, .return_onesided = false, .boundary = Boundary::kOdd}));
       }},
      {"signals::stft.no_boundary", "list(jss.stft(a, nperseg=4, boundary=None))", "f32[9]",
       [](A a) -> R {
         return Of(signals::stft(a[0], {.nperseg = 4, .boundary = Boundary::kNone}));
       }},
      {"signals::stft.constant", "list(jss.stft(a, boundary='constant'))", "f64[6]",
       [](A a) -> R { return Of(signals::stft(a[0], {.boundary = Boundary::kConstant})); }},
      {"signals::istft", "list(jss.istft(a))", "c128[4,5]",
       [](A a) -> R { return Of(signals::istft(a[0])); }},
      {"signals::istft.options",
       "jss.istft(a, fs=4, window=b, nperseg=5, noverlap=2, nfft=6, boundary=False, time_axis=0, "
       "freq_axis=1)[1]",
       "c128[4,4,2] f64[5]:0.5:1",
       [](A a) -> R {
         return {signals::istft(a[0], {.fs = 4,
                                       .window = a[1],
                                       .nperseg = 5,
                                       .noverlap = 2,
                                       .nfft = 6,
                                       .boundary = false,
                                       .time_dim = 0,
                                       .freq_dim = 1})
                     .x};
       },
       1e-10},
      {"signals::istft.twosided", "list(jss.istft(a, input_onesided=False))", "c128[4,6]",
       [](A a) -> R { return Of(signals::istft(a[0], {.input_onesided = false})); }},
      {"signals::welch", "list(jss.welch(a, nperseg=8))", "f64[2,30]",
       [](A a) -> R { return Of(signals::welch(a[0], {.nperseg = 8})); }},
      {"signals::welch.options",
       "list(jss.welch(a, fs=2, nperseg=7, noverlap=2, detrend='linear', scaling='spectrum', "
       "axis=0, average='median'))",
       "f64[24,2]",
       [](A a) -> R {
         return Of(signals::welch(a[0], {.fs = 2,
                                         .nperseg = 7,
                                         .noverlap = 2,
                                         .detrend = Trend::kLinear,
                                         .scaling = signals::Scaling::kSpectrum,
                                         .dim = 0,
                                         .average = signals::SpectrumAverage::kMedian}));
       },
       1e-10},
      {"signals::csd", "list(jss.csd(a, b, nperseg=6))", "f64[20] f64[16]",
       [](A a) -> R { return Of(signals::csd(a[0], a[1], {.nperseg = 6})); }},
      {"signals::csd.median", "list(jss.csd(a, b, nperseg=4, detrend=False, average='median'))",
       "c128[12] c128[12]",
       [](A a) -> R {
         return Of(signals::csd(a[0], a[1],
                                {.nperseg = 4,
                                 .detrend = Trend::kNone,
                                 .average = signals::SpectrumAverage::kMedian}));
       }},
  };
  return rows;
}

}  // namespace tessera::functions
