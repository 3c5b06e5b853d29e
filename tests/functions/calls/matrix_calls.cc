// Calls of linalg, of special matrices and of signal.
#include "functions/calls/calls.h"

namespace tessera::functions {

namespace {

using C = const RandomCall&;
using R = std::vector<Array>;

ConvolveMode ModeOf(C c) {
  const std::string mode = c.text("mode", "full");
  return mode == "full"   ? ConvolveMode::kFull
         : mode == "same" ? ConvolveMode::kSame
                          : ConvolveMode::kValid;
}
signals::Trend TrendOf(C c, const char* usual) {
  const std::string type = c.text("detrend", usual);
  return type == "none"     ? signals::Trend::kNone
         : type == "linear" ? signals::Trend::kLinear
                            : signals::Trend::kConstant;
}
signals::SpectrumOptions SpectrumOf(C c) {
  return {.fs = c.number("fs", 1),
          .window = c.at("window"),
          .nperseg = c.maybe("nperseg"),
          .noverlap = c.maybe("noverlap"),
          .nfft = c.maybe("nfft"),
          .detrend = TrendOf(c, "constant"),
          .return_onesided = c.flag("return_onesided", true),
          .scaling = c.text("scaling", "density") == "density" ? signals::Scaling::kDensity
                                                               : signals::Scaling::kSpectrum,
          .dim = c.axis(),
          .average = c.text("average", "mean") == "mean" ? signals::SpectrumAverage::kMean
                                                         : signals::SpectrumAverage::kMedian};
}
signals::Boundary BoundaryOf(C c) {
  const std::string name = c.text("boundary", "zeros");
  return name == "even"       ? signals::Boundary::kEven
         : name == "odd"      ? signals::Boundary::kOdd
         : name == "constant" ? signals::Boundary::kConstant
         : name == "none"     ? signals::Boundary::kNone
                              : signals::Boundary::kZeros;
}
linalg::PascalKind KindOf(C c) {
  const std::string kind = c.text("kind", "symmetric");
  return kind == "lower"   ? linalg::PascalKind::kLower
         : kind == "upper" ? linalg::PascalKind::kUpper
                           : linalg::PascalKind::kSymmetric;
}

}  // namespace

const CallTable& MatrixCalls() {
  static const CallTable table = {
      {"circulant", [](C c) -> R { return {linalg::circulant(c[0])}; }},
      {"hankel", [](C c) -> R { return {linalg::hankel(c[0], c[1])}; }},
      {"toeplitz", [](C c) -> R { return {linalg::toeplitz(c[0], c[1])}; }},
      {"leslie", [](C c) -> R { return {linalg::leslie(c[0], c[1])}; }},
      {"companion", [](C c) -> R { return {linalg::companion(c[0])}; }},
      {"fiedler", [](C c) -> R { return {linalg::fiedler(c[0])}; }},
      {"fiedler_companion", [](C c) -> R { return {linalg::fiedler_companion(c[0])}; }},
      {"convolution_matrix",
       [](C c) -> R { return {linalg::convolution_matrix(c[0], c.integer("n", 1), ModeOf(c))}; }},
      {"helmert",
       [](C c) -> R { return {linalg::helmert(c.integer("n", 1), {.full = c.flag("full")})}; }},
      {"hadamard", [](C c) -> R { return {linalg::hadamard(c.integer("n", 1))}; }},
      {"dft", [](C c) -> R { return {linalg::dft(c.integer("n", 1))}; }},
      {"invhilbert", [](C c) -> R { return {linalg::invhilbert(c.integer("n", 1))}; }},
      {"invpascal",
       [](C c) -> R { return {linalg::invpascal(c.integer("n", 1), {.kind = KindOf(c)})}; }},
      {"pascal", [](C c) -> R { return {linalg::pascal(c.integer("n", 1), {.kind = KindOf(c)})}; }},
      {"block_diag", [](C c) -> R { return {linalg::block_diag(c.arrays())}; }},
      {"det", [](C c) -> R { return {linalg::det(c[0])}; }},
      {"inv", [](C c) -> R { return {linalg::inv(c[0])}; }},
      {"solve", [](C c) -> R { return {linalg::solve(c[0], c[1])}; }},
      {"slogdet",
       [](C c) -> R {
         const auto made = linalg::slogdet(c[0]);
         return {made.sign, made.logabsdet};
       }},
      {"matrix_power", [](C c) -> R { return {linalg::matrix_power(c[0], c.integer("n", 1))}; }},
      {"expm", [](C c) -> R { return {linalg::expm(c[0])}; }},
      {"norm", [](C c) -> R { return {norm(c[0], c.dims(), {.keepdims = c.flag("keepdims")})}; }},
      {"vector_norm",
       [](C c) -> R {
         return {linalg::vector_norm(c[0], c.dims(),
                                     {.ord = c.number("ord", 2), .keepdims = c.flag("keepdims")})};
       }},
      {"matrix_norm",
       [](C c) -> R { return {linalg::matrix_norm(c[0], {.keepdims = c.flag("keepdims")})}; }},
      {"cross", [](C c) -> R { return {linalg::cross(c[0], c[1])}; }},
      {"svdvals", [](C c) -> R { return {linalg::svdvals(c[0])}; }},
      {"pinv", [](C c) -> R { return {linalg::pinv(c[0])}; }},
      {"signal.convolve",
       [](C c) -> R { return {signals::convolve(c[0], c[1], {.mode = ModeOf(c)})}; }},
      {"signal.correlate",
       [](C c) -> R { return {signals::correlate(c[0], c[1], {.mode = ModeOf(c)})}; }},
      {"correlate2d",
       [](C c) -> R { return {signals::correlate2d(c[0], c[1], {.mode = ModeOf(c)})}; }},
      {"fftconvolve",
       [](C c) -> R {
         return {signals::fftconvolve(c[0], c[1], {.mode = ModeOf(c), .dims = c.dims("axes")})};
       }},
      {"detrend",
       [](C c) -> R {
         return {signals::detrend(
             c[0], {.dim = c.axis(), .type = TrendOf(c, "linear"), .breaks = c.list("bp")})};
       }},
      {"welch",
       [](C c) -> R {
         const auto made = signals::welch(c[0], SpectrumOf(c));
         return {made.frequencies, made.power};
       }},
      {"csd",
       [](C c) -> R {
         const auto made = signals::csd(c[0], c[1], SpectrumOf(c));
         return {made.frequencies, made.power};
       }},
      {"stft",
       [](C c) -> R {
         const auto made = signals::stft(c[0], {.fs = c.number("fs", 1),
                                                .window = c.at("window"),
                                                .nperseg = c.maybe("nperseg"),
                                                .noverlap = c.maybe("noverlap"),
                                                .nfft = c.maybe("nfft"),
                                                .detrend = TrendOf(c, "none"),
                                                .return_onesided = c.flag("return_onesided", true),
                                                .boundary = BoundaryOf(c),
                                                .padded = c.flag("padded", true),
                                                .dim = c.axis()});
         return {made.frequencies, made.times, made.values};
       }},
      {"istft",
       [](C c) -> R {
         return {signals::istft(c[0], {.noverlap = c.maybe("noverlap"),
                                       .input_onesided = c.flag("input_onesided", true)})
                     .x};
       }},
  };
  return table;
}

}  // namespace tessera::functions
