// Rows of signal.h.
#include <tessera/signal.h>

#include "functions/rows.h"

namespace tessera::functions {

using signal::Boundary;
using signal::ConvolveMethod;
using signal::Trend;

namespace {
R Of(const signal::Stft& made) { return {made.frequencies, made.times, made.values}; }
R Of(const signal::Spectrum& made) { return {made.frequencies, made.power}; }
R Of(const signal::Istft& made) { return {made.times, made.x}; }
}  // namespace

const Rows& SignalRows() {
  static const Rows rows = {
      {"signal::convolve", "jss.convolve(a, b)", "f64[4,3] f64[2,2]",
       [](A a) -> R { return {signal::convolve(a[0], a[1])}; }},
      {"signal::convolve.same", "jss.convolve(a, b, mode='same')", "f64[6] f64[4]",
       [](A a) -> R { return {signal::convolve(a[0], a[1], {.mode = ConvolveMode::kSame})}; }},
      {"signal::convolve.same_of_small", "jss.convolve(a, b, mode='same')", "f64[2] f64[5]",
       [](A a) -> R { return {signal::convolve(a[0], a[1], {.mode = ConvolveMode::kSame})}; }},
      {"signal::convolve.valid", "jss.convolve(a, b, mode='valid')", "i32[3,1] f32[5,2]",
       [](A a) -> R { return {signal::convolve(a[0], a[1], {.mode = ConvolveMode::kValid})}; }},
      {"signal::convolve.fft", "jss.convolve(a, b, method='fft')", "f64[6] f64[3]",
       [](A a) -> R { return {signal::convolve(a[0], a[1], {.method = ConvolveMethod::kFft})}; }},
      {"signal::correlate", "jss.correlate(a, b)", "c128[5] c128[3]",
       [](A a) -> R { return {signal::correlate(a[0], a[1])}; }},
      {"signal::correlate.valid", "jss.correlate(a, b, mode='valid')", "f64[4,4] f64[2,3]",
       [](A a) -> R { return {signal::correlate(a[0], a[1], {.mode = ConvolveMode::kValid})}; }},
      {"signal::correlate.same", "jss.correlate(a, b, mode='same')", "f64[3] f64[6]",
       [](A a) -> R { return {signal::correlate(a[0], a[1], {.mode = ConvolveMode::kSame})}; }},
      {"signal::convolve2d", "jss.convolve2d(a, b)", "f64[4,3] f64[2,3]",
       [](A a) -> R { return {signal::convolve2d(a[0], a[1])}; }},
      {"signal::convolve2d.same", "jss.convolve2d(a, b, mode='same')", "f64[4,6] f64[2,2]",
       [](A a) -> R { return {signal::convolve2d(a[0], a[1], {.mode = ConvolveMode::kSame})}; }},
      {"signal::correlate2d", "jss.correlate2d(a, b)", "c128[2,2] c128[3,4]",
       [](A a) -> R { return {signal::correlate2d(a[0], a[1])}; }},
      {"signal::correlate2d.same", "jss.correlate2d(a, b, mode='same')", "f64[4,5] f64[2,2]",
       [](A a) -> R { return {signal::correlate2d(a[0], a[1], {.mode = ConvolveMode::kSame})}; }},
      {"signal::correlate2d.valid", "jss.correlate2d(a, b, mode='valid')", "c128[2,2] c128[3,4]",
       [](A a) -> R { return {signal::correlate2d(a[0], a[1], {.mode = ConvolveMode::kValid})}; }},
      {"signal::fftconvolve", "jss.fftconvolve(a, b)", "f64[4,3] f64[2,5]",
       [](A a) -> R { return {signal::fftconvolve(a[0], a[1])}; }},
      {"signal::fftconvolve.same", "jss.fftconvolve(a, b, mode='same', axes=1)",
       "c128[2,4] c128[2,3]",
       [](A a) -> R {
         return {signal::fftconvolve(a[0], a[1], {.mode = ConvolveMode::kSame, .dims = 1})};
       }},
      {"signal::fftconvolve.valid", "jss.fftconvolve(a, b, mode='valid')", "f64[2,1] f64[4,3]",
       [](A a) -> R { return {signal::fftconvolve(a[0], a[1], {.mode = ConvolveMode::kValid})}; }},
      {"signal::detrend", "jss.detrend(a)", "f64[2,6]",
       [](A a) -> R { return {signal::detrend(a[0])}; }},
      {"signal::detrend.constant", "jss.detrend(a, type='constant', axis=0)", "c128[4,2]",
       [](A a) -> R { return {signal::detrend(a[0], {.dim = 0, .type = Trend::kConstant})}; }},
      {"signal::detrend.breaks", "jss.detrend(a, axis=0, bp=[3, 7])", "f64[8,2]",
       [](A a) -> R {
         return {signal::detrend(a[0], {.dim = 0, .breaks = {7, 3}})};
       },
       1e-10},
      {"signal::stft", "list(jss.stft(a, nperseg=6))", "f64[2,20]",
       [](A a) -> R { return Of(signal::stft(a[0], {.nperseg = 6})); }},
      {"signal::stft.options",
       "list(jss.stft(a, fs=8, window=b, nperseg=5, noverlap=3, nfft=8, detrend='linear', "
       "boundary='even', padded=False, axis=0))",
       "f64[16,2] f64[5]:0.5:1",
       [](A a) -> R {
         return Of(signal::stft(a[0], {.fs = 8,
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
      {"signal::stft.complex",
       "list(jss.stft(a, nperseg=4, boundary='odd', return_onesided=False))", "c128[11]",
       [](A a) -> R {
         return Of(signal::stft(
             a[0], {.nperseg = 4, .return_onesided = false, .boundary = Boundary::kOdd}));
       }},
      {"signal::stft.no_boundary", "list(jss.stft(a, nperseg=4, boundary=None))", "f32[9]",
       [](A a) -> R {
         return Of(signal::stft(a[0], {.nperseg = 4, .boundary = Boundary::kNone}));
       }},
      {"signal::stft.constant", "list(jss.stft(a, boundary='constant'))", "f64[6]",
       [](A a) -> R { return Of(signal::stft(a[0], {.boundary = Boundary::kConstant})); }},
      {"signal::istft", "list(jss.istft(a))", "c128[4,5]",
       [](A a) -> R { return Of(signal::istft(a[0])); }},
      {"signal::istft.options",
       "jss.istft(a, fs=4, window=b, nperseg=5, noverlap=2, nfft=6, boundary=False, time_axis=0, "
       "freq_axis=1)[1]",
       "c128[4,4,2] f64[5]:0.5:1",
       [](A a) -> R {
         return {signal::istft(a[0], {.fs = 4,
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
      {"signal::istft.twosided", "list(jss.istft(a, input_onesided=False))", "c128[4,6]",
       [](A a) -> R { return Of(signal::istft(a[0], {.input_onesided = false})); }},
      {"signal::welch", "list(jss.welch(a, nperseg=8))", "f64[2,30]",
       [](A a) -> R { return Of(signal::welch(a[0], {.nperseg = 8})); }},
      {"signal::welch.options",
       "list(jss.welch(a, fs=2, nperseg=7, noverlap=2, detrend='linear', scaling='spectrum', "
       "axis=0, average='median'))",
       "f64[24,2]",
       [](A a) -> R {
         return Of(signal::welch(a[0], {.fs = 2,
                                        .nperseg = 7,
                                        .noverlap = 2,
                                        .detrend = Trend::kLinear,
                                        .scaling = signal::Scaling::kSpectrum,
                                        .dim = 0,
                                        .average = signal::SpectrumAverage::kMedian}));
       },
       1e-10},
      {"signal::csd", "list(jss.csd(a, b, nperseg=6))", "f64[20] f64[16]",
       [](A a) -> R { return Of(signal::csd(a[0], a[1], {.nperseg = 6})); }},
      {"signal::csd.median", "list(jss.csd(a, b, nperseg=4, detrend=False, average='median'))",
       "c128[12] c128[12]",
       [](A a) -> R {
         return Of(signal::csd(
             a[0], a[1],
             {.nperseg = 4, .detrend = Trend::kNone, .average = signal::SpectrumAverage::kMedian}));
       }},
  };
  return rows;
}

}  // namespace tessera::functions
