// Errors of complex numbers. Each is one clear error, and the library is usable afterwards.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <complex>

#include "cases.h"

namespace tessera::complex_errors_test {
namespace {

using namespace std::complex_literals;

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"clip", [] { clip(ones({2}, c64), 0.0, 1.0); }},
      {"clamp", [] { clamp(Array(0.0).astype(c64), ones({2}, c64), Array(1.0).astype(c64)); }},
      {"relu", [] { relu(ones({2}, c64)); }},
      {"logaddexp", [] { logaddexp(ones({2}, c64), 1.0); }},
      {"argmax", [] { argmax(ones({2}, c64), 0); }},
      {"quantile", [] { quantile(ones({2}, c64), 0.5); }},
      {"fraction", [] { percentile(ones({2}), ones({1}, c64)); }},
      {"max_pool",
       [] {
         max_pool(ones({2, 1}, c64), {2});
       }},
      {"windows", [] { reduce_window(ones({2}, c64), Reduction::kProd, {2}); }},
      {"convolution_summed_as_reals",
       [] {
         conv(ones({1, 1, 4}, c64), ones({1, 1, 2}), {1}, "VALID", {.dtype = f32});
       }},
      {"top_k", [] { top_k(ones({2}, c64), 1); }},
      {"floor", [] { floor(ones({2}, c64)); }},
      {"hypot", [] { hypot(ones({2}, c64), 1.0); }},
      {"rem", [] { rem(ones({2}, c64), 2.0); }},
      {"erf", [] { erf(ones({2}, c64)); }},
      {"parts_of_16_bits", [] { complex(ones({2}, f16), ones({2}, f16)); }},
      {"bitcast", [] { bitcast_convert_type(ones({2}, c64), u64); }},
      {"range", [] { arange(0, 3i); }},
      {"number_for_a_real_dtype", [] { full({2}, 1i, {.dtype = f32}); }},
      {"update_of_reals", [] { ones({2}).at({0}).set(1i); }},
      {"update_of_reals_by_an_array", [] { ones({2}).at({0}).set(ones({}, c64)); }},
      {"read_as_reals", [] { ones({2}, c64).to_vector<float>(); }},
      {"uniform", [] { random::uniform(random::key(0), {2}, {.dtype = c64}); }},
      {"file",
       [] {
         const std::map<std::string, Array> z{{"z", ones({2}, c128)}};
         save_safetensors("/nowhere/z.safetensors", z);
       }},
      {"gradient", [] { grad([](Array x) { return x * x; })(Array(1i)); }},
      {"gradient_of_a_real_value",
       [] { grad([](Array x) { return abs(x); }, {.holomorphic = true})(Array(1i)); }},
      {"gradient_in_a_real_argument",
       [] { grad([](Array x) { return x * 1i; }, {.holomorphic = true})(Array(1.0)); }},
      {"jacfwd", [] { jacfwd([](Array x) { return x * x; })(ones({2}, c64)); }},
      {"jacrev", [] { jacrev([](Array x) { return x * x; })(ones({2}, c64)); }},
      {"jacfwd_of_a_real_value",
       [] { jacfwd([](Array x) { return real(x); }, {.holomorphic = true})(ones({2}, c64)); }},
  };
  return cases;
}

TEST(ComplexErrors, AreAsShown) {
  for (const RefusedCase& c : Cases()) {
    ExpectRefused(std::string("complex_") + c.name, c.program);
    ExpectUsable();
  }
}

}  // namespace
}  // namespace tessera::complex_errors_test
