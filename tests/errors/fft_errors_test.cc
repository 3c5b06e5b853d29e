// Fourier transforms of wrong sizes, dims, dtypes and shardings.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "cases.h"

namespace tessera::fft_errors_test {
namespace {

Array Sharded() { return abstract_array("c64[8@x,8,4]"); }

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"no_elements",
       [] {
         fft::fft(ones({3, 0}));
       }},
      {"n_zero", [] { fft::fft(ones({4}), {.n = 0}); }},
      {"n_negative", [] { fft::rfft(ones({4}), {.n = -2}); }},
      {"irfft_of_one", [] { fft::irfft(ones({1})); }},
      {"scalar", [] { fft::fft(1.0); }},
      {"no_such_dim", [] { fft::ifft(ones({4}), {.dim = 1}); }},
      {"rfft_of_complex", [] { fft::rfft(ones({4}, c64)); }},
      {"ihfft_of_complex", [] { fft::ihfft(ones({4}, c64)); }},
      {"key", [] { fft::fft(random::key(0).reshape({1})); }},
      {"repeated_dim",
       [] {
         fft::fftn(ones({4, 4}), {.dims = {{0, -2}}});
       }},
      {"sizes_of_other_dims",
       [] {
         fft::fftn(ones({4, 4}), {.sizes = {{4}}, .dims = {{0, 1}}});
       }},
      {"too_many_sizes",
       [] {
         fft::ifftn(ones({4}), {.sizes = {{4, 4}}});
       }},
      {"fft2_of_a_vector", [] { fft::fft2(ones({4})); }},
      {"fft2_of_three_dims",
       [] {
         fft::fft2(ones({4, 4, 4}), {.dims = {{0, 1, 2}}});
       }},
      {"rfftn_of_no_dims", [] { fft::rfftn(ones({4}), {.dims = {{}}}); }},
      {"no_frequencies", [] { fft::fftfreq(0); }},
      {"samples_in_one_place", [] { fft::rfftfreq(4, {.d = 0}); }},
      {"integer_frequencies", [] { fft::fftfreq(4, {.dtype = i32}); }},
      {"sharded_dim", [] { fft::fft(Sharded(), {.dim = 0}); }},
      {"sharded_dims", [] { fft::fftn(Sharded()); }},
      {"uneven_result",
       [] {
         fft::rfftn(ones({8, 8, 8}), {.out_sharding = P(None, None, "x")});
       }},
  };
  return cases;
}

class FftErrors : public testing::TestWithParam<RefusedCase> {};

TEST_P(FftErrors, AreClear) {
  const RefusedCase& c = GetParam();
  MeshScope scope(abstract_mesh({{"x", 2}}));
  ExpectRefused(std::string("fft_") + c.name, c.program);
}

INSTANTIATE_CASES(FftErrors, Cases());

}  // namespace
}  // namespace tessera::fft_errors_test
