// Wrong shapes and options of signal processing, of special matrices, and of masked reductions.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "cases.h"

namespace tessera::signal_errors_test {
namespace {

const std::vector<RefusedCase>& Signal() {
  static const std::vector<RefusedCase> cases = {
      {"convolve_ranks",
       [] {
         signals::convolve(ones({3}), ones({2, 2}));
       }},
      {"convolve_nothing", [] { signals::convolve(ones({3}), ones({0})); }},
      {"convolve_sizes",
       [] {
         signals::convolve(ones({3, 1}), ones({2, 2}));
       }},
      {"convolve_fft_sharding",
       [] {
         signals::convolve(ones({3}), ones({2}),
                           {.method = signals::ConvolveMethod::kFft, .out_sharding = P("x")});
       }},
      {"correlate2d_rank", [] { signals::correlate2d(ones({3}), ones({2})); }},
      {"fftconvolve_dims",
       [] {
         signals::fftconvolve(ones({3, 2}), ones({3, 4}), {.dims = 0});
       }},
      {"fftconvolve_valid",
       [] {
         signals::fftconvolve(ones({3, 1}), ones({2, 2}), {.mode = ConvolveMode::kValid});
       }},
      {"detrend_break", [] { signals::detrend(ones({4}), {.breaks = {5}}); }},
      {"detrend_dim", [] { signals::detrend(ones({4}), {.dim = 1}); }},
      {"stft_nothing", [] { signals::stft(ones({0})); }},
      {"stft_nperseg", [] { signals::stft(ones({8}), {.nperseg = 0}); }},
      {"stft_noverlap", [] { signals::stft(ones({8}), {.nperseg = 4, .noverlap = 4}); }},
      {"stft_nfft", [] { signals::stft(ones({8}), {.nperseg = 4, .nfft = 3}); }},
      {"stft_fs", [] { signals::stft(ones({8}), {.fs = 0}); }},
      {"stft_window_rank",
       [] {
         signals::stft(ones({8}), {.window = ones({2, 2})});
       }},
      {"stft_window_size", [] { signals::stft(ones({8}), {.window = ones({4}), .nperseg = 3}); }},
      {"stft_window_longer", [] { signals::stft(ones({3}), {.window = ones({4})}); }},
      {"stft_dim",
       [] { signals::stft(ones({8}), {.boundary = signals::Boundary::kConstant, .dim = 3}); }},
      {"istft_rank", [] { signals::istft(ones({4})); }},
      {"istft_dims",
       [] {
         signals::istft(ones({4, 4}), {.time_dim = 0, .freq_dim = -2});
       }},
      {"istft_nothing",
       [] {
         signals::istft(ones({4, 0}));
       }},
      {"welch_window", [] { signals::welch(ones({4}), {.window = ones({8})}); }},
      {"csd_ranks",
       [] {
         signals::csd(ones({4}), ones({4, 4}));
       }},
  };
  return cases;
}

const std::vector<RefusedCase>& Matrices() {
  static const std::vector<RefusedCase> cases = {
      {"invhilbert_size", [] { linalg::invhilbert(-1); }},
      {"helmert_size", [] { linalg::helmert(0); }},
      {"hadamard_size", [] { linalg::hadamard(6); }},
      {"dft_dtype", [] { linalg::dft(4, {.dtype = f32}); }},
      {"pascal_sharding",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::pascal(5, {.out_sharding = P("x")});
       }},
      {"hankel_batches",
       [] {
         linalg::hankel(ones({2, 3}), ones({3, 3}));
       }},
      {"circulant_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         linalg::circulant(abstract_array("f32[4@x]"));
       }},
      {"leslie_sizes", [] { linalg::leslie(ones({3}), ones({3})); }},
      {"leslie_small", [] { linalg::leslie(ones({1}), ones({0})); }},
      {"companion_size", [] { linalg::companion(ones({1})); }},
      {"fiedler_companion_size", [] { linalg::fiedler_companion(ones({0})); }},
      {"convolution_matrix_size", [] { linalg::convolution_matrix(ones({3}), 0); }},
      {"convolution_matrix_rank", [] { linalg::convolution_matrix(ones({}), 2); }},
      {"convolution_matrix_empty", [] { linalg::convolution_matrix(ones({0}), 2); }},
      {"qr_multiply_columns",
       [] {
         linalg::qr_multiply(ones({4, 3}), ones({2, 3}));
       }},
      {"qr_multiply_rows",
       [] {
         linalg::qr_multiply(ones({4, 3}), ones({4, 2}), {.mode = linalg::QrSide::kLeft});
       }},
      {"expm_frechet_shapes",
       [] {
         linalg::expm_frechet(ones({3, 3}), ones({2, 2}));
       }},
      {"funm_shape",
       [] {
         linalg::funm(ones({3, 3}), [](Array) { return ones({2}); });
       }},
      {"conv_local_groups",
       [] {
         conv_general_dilated_local(ones({1, 2, 4}), ones({2, 4, 3}), {1}, "VALID", {2},
                                    {.feature_group_count = 2});
       }},
  };
  return cases;
}

const std::vector<RefusedCase>& Masks() {
  static const std::vector<RefusedCase> cases = {
      {"where_ints",
       [] {
         sum(ones({3}), All, {.where = array({1, 0, 1})});
       }},
      {"where_shape", [] { mean(ones({3}), All, {.where = ones({2}, bool_)}); }},
      {"where_rank",
       [] {
         var(ones({3}), All, {.where = ones({2, 3}, bool_)});
       }},
      {"max_where", [] { max(ones({3}), All, {.where = ones({3}, bool_)}); }},
      {"nanmin_where", [] { nanmin(ones({3}), All, {.where = ones({3}, bool_)}); }},
      {"initial_shape", [] { sum(ones({3}), All, {.initial = ones({1})}); }},
      {"mean_initial", [] { mean(ones({3}), All, {.initial = 1}); }},
      {"any_initial", [] { any(ones({3}), All, {.initial = true}); }},
      {"logmeanexp_initial", [] { logmeanexp(ones({3}), All, {.initial = 1}); }},
      {"nanmean_initial", [] { nanmean(ones({3}), All, {.initial = 1}); }},
      {"count_nonzero_initial", [] { count_nonzero(ones({3}), All, {.initial = 1}); }},
      {"ptp_where", [] { ptp(ones({3}), All, {.where = ones({3}, bool_)}); }},
      {"where_sharded_otherwise",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}, {"y", 2}}));
         sum(abstract_array("f32[4@x,4]"), 1, {.where = abstract_array("bool[4@y,4]")});
       }},
  };
  return cases;
}

class SignalErrors : public testing::TestWithParam<RefusedCase> {};
TEST_P(SignalErrors, NameTheMistake) {
  ExpectRefused(std::string("signal_") + GetParam().name, GetParam().program);
  ExpectUsable();
}
INSTANTIATE_CASES(SignalErrors, Signal());

class MatrixErrors : public testing::TestWithParam<RefusedCase> {};
TEST_P(MatrixErrors, NameTheMistake) {
  ExpectRefused(std::string("linalg_") + GetParam().name, GetParam().program);
  ExpectUsable();
}
INSTANTIATE_CASES(MatrixErrors, Matrices());

class MaskErrors : public testing::TestWithParam<RefusedCase> {};
TEST_P(MaskErrors, NameTheMistake) {
  ExpectRefused(std::string("reduce_") + GetParam().name, GetParam().program);
  ExpectUsable();
}
INSTANTIATE_CASES(MaskErrors, Masks());

}  // namespace
}  // namespace tessera::signal_errors_test
