// Errors of grad, jvp and vjp. Each is one clear error, and the library is usable afterwards.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>

#include "cases.h"

namespace tessera::gradient_errors_test {
namespace {

void Copy(const KernelCall& call) {
  auto x = call.in[0].data<float>(), out = call.out[0].data<float>();
  std::copy(x.begin(), x.end(), out.begin());
}

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"not_scalar", [] { grad([](Array x) { return x * 2; })(ones({3})); }},
      {"not_floating", [] { grad([](Array x) { return sum(x).astype(i32); })(ones({3})); }},
      {"integer_argument",
       [] {
         grad([](Array x) { return sum(x * 2.0f); })(array({1, 2}));
       }},
      {"no_arrays", [] { grad([](int n, Array x) { return sum(x) * n; })(3, ones({2})); }},
      {"no_derivative", [] { grad([](Array x) { return sum(nextafter(x, 2 * x)); })(ones({3})); }},
      {"custom_op",
       [] {
         static const CustomOp same =
             register_op({.name = "same", .rule = "b -> b", .kernel = Copy});
         grad([](Array x) { return sum(same({x})); })(ones({3}));
       }},
      {"exponent_of_zeta", [] { grad([](Array s) { return zeta(s, 2.0); })(3.0); }},
      {"shape_of_betainc", [] { grad([](Array a) { return betainc(a, 2.0, 0.5); })(3.0); }},
      {"order_of_expn", [] { grad([](Array n) { return expn(n, 0.5); })(3.0); }},
      {"slope_of_igamma_grad_a", [] { grad([](Array x) { return igamma_grad_a(2.0, x); })(3.0); }},
      {"slope_of_random_gamma_grad",
       [] { grad([](Array x) { return random_gamma_grad(2.0, x); })(3.0); }},
      {"jacobian_of_integers", [] { jacfwd([](Array x) { return x.astype(i32); })(ones({3})); }},
      {"jacobian_in_integers",
       [] {
         jacrev([](Array x) { return x * 2; })(array({1, 2}));
       }},
      {"while_in_reverse",
       [] {
         grad([](Array x) {
           return while_loop([](Array v) { return v < 9.f; }, [](Array v) { return v * v; }, x);
         })(2.0);
       }},
      {"fori_in_reverse",
       [] {
         grad([](Array x) {
           return fori_loop(
               0, astype(x, i32), [](Array, Array v) { return v * v; }, x);
         })(2.0);
       }},
      {"item_inside", [] { grad([](Array x) { return x * x.item<float>(); })(2.0); }},
      {"updates_named_twice",
       [] {
         grad([](Array u) { return sum(ones({4}).at(array({1, 1})).multiply(u)); })(ones({2}));
       }},
      {"tangent_shape", [] { jvp([](Array x) { return x * 2; }, ones({3}), ones({4})); }},
      {"tangents_too_few",
       [] {
         jvp([](std::vector<Array> x) { return x[0] * x[1]; },
             std::vector<Array>{ones({3}), ones({3})}, std::vector<Array>{ones({3})});
       }},
      {"cotangents_too_many",
       [] {
         auto [out, pullback] = vjp([](Array x) { return std::vector<Array>{x}; }, ones({3}));
         pullback({ones({3}), ones({3})});
       }},
      {"cotangent_dtype",
       [] {
         auto [out, pullback] = vjp([](Array x) { return x * 2; }, ones({3}));
         pullback(array({1, 2, 3}));
       }},
      {"tangent_of_integers",
       [] {
         jvp([](Array i) { return i * 2; }, array({1, 2}), array({1.0f, 2.0f}));
       }},
      {"check_without_floats",
       [] {
         check_grads([](Array i) { return i * 2.0f; }, array({1, 2}));
       }},
      {"check_of_integers", [] { check_grads([](Array x) { return x.astype(i32); }, ones({2})); }},
  };
  return cases;
}

class GradientErrors : public testing::TestWithParam<RefusedCase> {};

TEST_P(GradientErrors, AreClear) {
  const RefusedCase& c = GetParam();
  ExpectRefused(std::string("gradient_") + c.name, c.program);
  ExpectUsable();
  EXPECT_EQ(grad([](Array x) { return x * x; })(3.0).item<float>(), 6);
}

INSTANTIATE_CASES(GradientErrors, Cases());

}  // namespace
}  // namespace tessera::gradient_errors_test
