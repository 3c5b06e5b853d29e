// Errors of custom rules, checkpoints, callbacks and tests of derivatives. Each is one clear error,
// and the library is usable afterwards.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>
#include <stdexcept>

#include "cases.h"

namespace tessera::call_errors_test {
namespace {

Array Twice(Array x) { return x * 2; }
Array Total(Array x) { return sum(x); }

template <class Rule>
void WithJvp(Rule rule) {
  grad([&](Array x) { return sum(custom_jvp(Twice, rule)(x)); })(ones({3}));
}
template <class Forward, class Backward>
void WithVjp(Forward forward, Backward backward) {
  grad([&](Array x) { return sum(custom_vjp(Twice, forward, backward)(x)); })(ones({3}));
}
std::pair<Array, Array> Keep(Array x) { return {x * 2, x}; }

void Register(std::function<std::vector<Array>(const std::vector<Array>&)> vjp) {
  register_op({.name = "errors_square",
               .rule = "i -> i",
               .kernel =
                   [](const KernelCall& call) {
                     auto x = call.in[0].data<float>(), y = call.out[0].data<float>();
                     for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] * x[i];
                   },
               .vjp = std::move(vjp)});
}

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"jvp_value",
       [] {
         WithJvp([](auto x, auto t) {
           return std::pair(std::get<0>(x).astype(f16), 2 * std::get<0>(t));
         });
       }},
      {"jvp_tangent",
       [] {
         WithJvp([](auto x, auto t) { return std::pair(2 * std::get<0>(x), sum(std::get<0>(t))); });
       }},
      {"jvp_product_of_tangents",
       [] {
         WithJvp([](auto x, auto t) {
           return std::pair(2 * std::get<0>(x), std::get<0>(t) * std::get<0>(t));
         });
       }},
      {"jvp_chosen_by_tangent",
       [] {
         WithJvp([](auto x, auto t) {
           auto [d] = t;
           return std::pair(2 * std::get<0>(x), where(d > 0, d, 2 * d));
         });
       }},
      {"jvp_sine_of_tangent",
       [] {
         WithJvp([](auto x, auto t) { return std::pair(2 * std::get<0>(x), sin(std::get<0>(t))); });
       }},
      {"jvp_captured",
       [] {
         grad([](Array w) {
           auto f = custom_jvp(
               [=](Array x) { return x * w; },
               [=](auto x, auto t) { return std::pair(std::get<0>(x) * w, std::get<0>(t) * w); });
           return f(w * 2);
         })(2.0);
       }},
      {"vjp_forward_value",
       [] {
         WithVjp([](Array x) { return std::pair(sum(x), x); },
                 [](Array, Array ct) { return ct * 2; });
       }},
      {"vjp_cotangent_shape", [] { WithVjp(Keep, [](Array, Array ct) { return sum(ct); }); }},
      {"vjp_cotangent_sharding",
       [] {
         SetDeviceCount(2);
         MeshScope scope(make_mesh({{"x", 2}}));
         auto f = custom_vjp(Twice, Keep, [](Array, Array ct) { return reshard(2 * ct, P()); });
         grad([&](Array x) { return sum(f(x)); })(reshard(ones({4}), P("x")));
       }},
      {"vjp_cotangent_reduced",
       [] {
         SetDeviceCount(2);
         MeshScope scope(make_mesh({{"x", 2}}));
         auto f = custom_vjp(Twice, Keep, [](Array x, Array) { return x; });
         grad([&](Array x) { return sum(f(x)); })(reshard(ones({4}), P().reduced("x")));
       }},
      {"vjp_too_many", [] { WithVjp(Keep, [](Array, Array ct) { return std::tuple(ct, ct); }); }},
      {"vjp_forward_mode",
       [] {
         auto f = custom_vjp(Twice, Keep, [](Array, Array ct) { return 2 * ct; });
         jvp(f, ones({3}), ones({3}));
       }},
      {"vjp_linear_map",
       [] {
         auto f = custom_vjp(Twice, Keep, [](Array, Array ct) { return 2 * ct; });
         linearize(f, ones({3})).second(ones({3}));
       }},
      {"not_linear", [] { linear_transpose([](Array x) { return sin(2 * x); }, ones({3})); }},
      {"not_linear_constant", [] { linear_transpose([](Array x) { return x + 1; }, ones({3})); }},
      {"not_linear_in_a_scan",
       [] {
         linear_transpose(
             [](Array x) {
               return fori_loop(
                   0, 3, [](Array, Array v) { return 2 * v - 1; }, x);
             },
             ones({3}));
       }},
      {"jvp_constant_beside_tangent",
       [] {
         WithJvp(
             [](auto x, auto t) { return std::pair(2 * std::get<0>(x), 2 * std::get<0>(t) + 1); });
       }},
      {"jvp_constant_tangent",
       [] { WithJvp([](auto x, auto) { return std::pair(2 * std::get<0>(x), ones({3})); }); }},
      {"checkpoint_name",
       [] {
         const auto f = checkpoint([](Array x) { return sum(sin(named(cos(x), "inner"))); },
                                   {.save = Remat::kNamed, .names = {"iner"}});
         grad(f)(ones({3}));
       }},
      {"checkpoint_of_no_names",
       [] {
         const auto f = checkpoint([](Array x) { return sum(sin(cos(x))); },
                                   {.save = Remat::kNamed, .names = {"inner"}});
         grad(f)(ones({3}));
       }},
      {"check_first",
       [] {
         check_grads(custom_jvp(Total,
                                [](auto x, auto t) {
                                  return std::pair(sum(std::get<0>(x)), 3 * sum(std::get<0>(t)));
                                }),
                     array({1.0, 2.0}, {.dtype = f64}));
       }},
      {"check_spmd",
       [] {
         SetDeviceCount(2);
         auto f = custom_vjp(Twice, Keep, [](Array, Array ct) {
           return 2 * ct * static_cast<double>(current_mesh().axis_size("x"));
         });
         check_spmd_grads(f, ones({4}), {make_mesh({{"x", 2}})});
       }},
      {"register_vjp",
       [] {
         Register([](const std::vector<Array>& v) { return std::vector<Array>{v[0] * v[1]}; });
       }},
      {"register_vjp_count",
       [] { Register([](const std::vector<Array>&) { return std::vector<Array>{}; }); }},
      {"register_vjp_type",
       [] { Register([](const std::vector<Array>& v) { return std::vector<Array>{sum(v[1])}; }); }},
      {"register_not_differentiable",
       [] {
         static const CustomOp op =
             register_op({.name = "errors_sorted",
                          .rule = "i -> i need_replication={i}",
                          .kernel =
                              [](const KernelCall& call) {
                                auto x = call.in[0].data<float>(), y = call.out[0].data<float>();
                                for (size_t i = 0; i < y.size(); ++i) y[i] = x[i];
                              },
                          .not_differentiable = "it only sorts; differentiate sort instead"});
         grad([&](Array x) { return sum(op({x})); })(ones({4}));
       }},
      {"out_sharding_of_several_results",
       [] {
         static const CustomOp op = register_op({.name = "errors_twice_and_square",
                                                 .rule = "ij -> ij, i",
                                                 .kernel = [](const KernelCall& call) {
                                                   auto x = call.in[0].data<float>();
                                                   for (size_t i = 0; i < x.size(); ++i) {
                                                     call.out[0].data<float>()[i] = 2 * x[i];
                                                     call.out[1].data<float>()[i] = x[i] * x[i];
                                                   }
                                                 }});
         const MeshScope scope(make_mesh({{"x", 2}}));
         op({ones({4, 2})}, {.out_sharding = P("x")});
       }},
      {"callback_count", [] { debug_callback([](Array, Array) {}, {ones({2})}); }},
      {"break_of_floats", [] { debug_break(ones({2})); }},
      {"callback_without_a_value", [] { debug_callback([](Array) {}, {Array()}); }},
      {"callback_throws",
       [] {
         jit([](Array x) {
           debug_callback([](Array) { throw std::runtime_error("no more"); }, {x});
           return x;
         })(ones({2}));
       }},
      {"callback_throws_eagerly",
       [] { debug_callback([] { throw std::runtime_error("no more"); }, {}); }},
      {"pure_callback_throws",
       [] {
         jit([](Array x) {
           return pure_callback([](Array) -> Array { throw std::runtime_error("no more"); }, x, x);
         })(ones({2}));
       }},
      {"pure_callback_throws_eagerly",
       [] {
         pure_callback([](Array) -> Array { throw std::runtime_error("no more"); }, ones({2}),
                       ones({2}));
       }},
      {"pure_callback_fails",
       [] {
         jit([](Array x) { return pure_callback([](Array y) { return y + ones({3}); }, x, x); })(
             ones({2}));
       }},
      {"pure_callback_shape",
       [] {
         jit([](Array x) { return pure_callback([](Array y) { return sum(y); }, x, x); })(
             ones({2}));
       }},
      {"pure_callback_shape_eagerly",
       [] { pure_callback([](Array y) { return sum(y); }, ones({2}), ones({2})); }},
      {"pure_callback_dtype",
       [] {
         jit([](Array x) { return pure_callback([](Array y) { return y.astype(i32); }, x, x); })(
             ones({2}));
       }},
      {"pure_callback_count",
       [] {
         jit([](Array x) {
           const auto f = [](Array y) { return std::vector{y}; };
           return pure_callback(f, std::vector{x, x}, x)[0];
         })(ones({2}));
       }},
      {"pure_callback_without_a_value",
       [] { pure_callback([](Array y) { return y; }, ones({2}), Array()); }},
      {"pure_callback_like_nothing",
       [] { pure_callback([](Array y) { return y; }, Array(), ones({2})); }},
      {"pure_callback_derivative",
       [] {
         grad([](Array x) { return sum(pure_callback([](Array y) { return y; }, x, x)); })(
             ones({2}));
       }},
      {"callback_of_a_tangent",
       [] {
         WithJvp([](auto x, auto t) {
           debug_callback([](Array) {}, {std::get<0>(t)});
           return std::pair(2 * std::get<0>(x), 2 * std::get<0>(t));
         });
       }},
      {"nan_watch",
       [] {
         NanWatch watch;
         const auto f = [](Array x) {
           return fori_loop(
               0, 3, [](Array, Array c) { return log(c); }, x);
         };
         jit(f)(ones({2}));
       }},
      {"nan_watch_backward",
       [] {
         NanWatch watch;
         grad([](Array x) { return sum(sqrt(x)); })(zeros({2}));
       }},
      {"nan_watch_pruned",  // grad alone computes no logarithm
       [] {
         NanWatch watch;
         grad([](Array x) { return sum(0.0 * log(x)); })(zeros({2}));
       }},
      {"nan_watch_derivative",
       [] {
         NanWatch watch;
         grad([](Array x) { return sum(acos(x)); })(ones({2}));
       }},
  };
  return cases;
}

class CallErrors : public testing::TestWithParam<RefusedCase> {};

TEST_P(CallErrors, AreClear) {
  const RefusedCase& c = GetParam();
  ExpectRefused(std::string("call_") + c.name, c.program);
  ExpectUsable();
  EXPECT_EQ(grad(custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, None); },
                            [](NoneType, Array ct) { return 3 * ct; }))(2.0)
                .item<float>(),
            3);
}

INSTANTIATE_CASES(CallErrors, Cases());

TEST(Calls, ProfilesTakeWhatWasLowered) {
  const Array x = ones({4});
  const Lowered lowered = jit([](Array a, Array b) { return a + b; }).lower(x, x);
  ExpectRefused("profile_count", [&] { lowered.profile(x); });
  ExpectRefused("profile_type", [&] { lowered.profile(x, ones({3}, f32)); });
  ExpectRefused("profile_file", [&] { lowered.profile(x, x).write("/no/such/folder/t.json"); });
}

}  // namespace
}  // namespace tessera::call_errors_test
