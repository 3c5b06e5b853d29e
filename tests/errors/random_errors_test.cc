// Wrong keys, shapes and parameters of draws, arithmetic on keys, and keys that are used twice.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "cases.h"

namespace tessera::random_errors_test {
namespace {

const std::vector<RefusedCase>& Wrong() {
  static const std::vector<RefusedCase> cases = {
      {"array_for_a_key", [] { random::normal(ones({2}, u32), {3}); }},
      {"number_for_a_key", [] { random::normal(0, {3}); }},
      {"keys_for_a_key", [] { random::normal(random::split(random::key(0)), {3}); }},
      {"split_of_keys", [] { random::split(random::split(random::key(0))); }},
      {"float_seed", [] { random::key(0.5); }},
      {"float_array_seed", [] { random::key(ones({})); }},
      {"seeds", [] { random::key(iota({3}, 0)); }},
      {"fold_in_float", [] { random::fold_in(random::key(0), 0.5); }},
      {"fold_in_array", [] { random::fold_in(random::key(0), iota({3}, 0)); }},
      {"words", [] { random::wrap_key_data(zeros({3}, u32)); }},
      {"add_keys",
       [] {
         const Array k = random::key(0);
         k + k;
       }},
      {"add_number", [] { random::key(0) + 1; }},
      {"add_array", [] { ones({3}) * random::key(0); }},
      {"order_of_keys",
       [] {
         const Array k = random::key(0);
         k < k;
       }},
      {"sum_of_keys", [] { sum(random::split(random::key(0))); }},
      {"key_as_float", [] { random::key(0).astype(f32); }},
      {"float_as_key", [] { ones({3}).astype(key_dtype); }},
      {"key_on_the_host", [] { random::key(0).to_vector<uint64_t>(); }},
      {"key_index", [] { ones({5})[random::key(0)]; }},
      {"gradient_of_a_key",
       [] { grad([](Array k) { return sum(random::normal(k, {3})); })(random::key(0)); }},
      {"negative_shape", [] { random::normal(random::key(0), {-3}); }},
      {"negative_split", [] { random::split(random::key(0), -1); }},
      {"integer_normal", [] { random::normal(random::key(0), {3}, {.dtype = i32}); }},
      {"signed_bits", [] { random::bits(random::key(0), {3}, {.dtype = i32}); }},
      {"float_randint", [] { random::randint(random::key(0), {3}, 0, 5, {.dtype = f32}); }},
      {"bounds_do_not_broadcast", [] { random::randint(random::key(0), {3}, 0, iota({4}, 0)); }},
      {"minval_does_not_broadcast",
       [] { random::uniform(random::key(0), {3}, {.minval = zeros({4})}); }},
      {"integer_probability", [] { random::bernoulli(random::key(0), iota({3}, 0)); }},
      {"parameters_do_not_broadcast", [] { random::beta(random::key(0), ones({3}), ones({4})); }},
      {"shape_of_parameters", [] { random::gamma(random::key(0), ones({3}), {4}); }},
      {"dirichlet_of_a_number", [] { random::dirichlet(random::key(0), 1.0); }},
      {"integer_success", [] { random::geometric(random::key(0), iota({3}, 0)); }},
      {"float_geometric", [] { random::geometric(random::key(0), 0.5, {3}, {.dtype = f32}); }},
      {"integer_binomial", [] { random::binomial(random::key(0), 3, 0.5, {3}, {.dtype = i32}); }},
      {"counts_do_not_broadcast", [] { random::binomial(random::key(0), ones({3}), ones({4})); }},
      {"shape_of_chisquare", [] { random::chisquare(random::key(0), ones({3}), {4}); }},
      {"integer_t", [] { random::t(random::key(0), 3.0, {3}, {.dtype = i32}); }},
      {"shape_of_weibull", [] { random::weibull_min(random::key(0), ones({3}), 1.0, {2}); }},
      {"mean_of_a_number", [] { random::multivariate_normal(random::key(0), 1.0, eye(2)); }},
      {"covariance_of_another_size",
       [] { random::multivariate_normal(random::key(0), zeros({3}), eye(2)); }},
      {"covariances_do_not_broadcast",
       [] {
         random::multivariate_normal(random::key(0), zeros({4, 2}), zeros({3, 2, 2}));
       }},
      {"shape_of_vectors",
       [] {
         random::multivariate_normal(random::key(0), zeros({4, 2}), eye(2), Shape(3));
       }},
      {"sharded_covariance",
       [] {
         SetDeviceCount(2);
         MeshScope scope(make_mesh({{"x", 2}}));
         random::multivariate_normal(random::key(0), zeros({2}), eye(2, {.out_sharding = P("x")}));
       }},
      {"negative_orthogonal", [] { random::orthogonal(random::key(0), -2); }},
      {"integer_orthogonal", [] { random::orthogonal(random::key(0), 2, {}, {.dtype = i32}); }},
      {"negative_ball", [] { random::ball(random::key(0), -1); }},
      {"ball_without_a_norm", [] { random::ball(random::key(0), 3, {}, {.p = 0}); }},
      {"number_for_a_key_of_a_ball", [] { random::ball(0, 3); }},
      {"unsigned_rademacher", [] { random::rademacher(random::key(0), {3}, {.dtype = u8}); }},
      {"integer_logits", [] { random::categorical(random::key(0), iota({3}, 0)); }},
      {"no_classes",
       [] {
         random::categorical(random::key(0), ones({2, 0}));
       }},
      {"categorical_shape",
       [] {
         random::categorical(random::key(0), ones({2, 3}), -1, {.shape = Shape(3)});
       }},
      {"too_many_classes",
       [] {
         random::categorical(random::key(0), ones({3}), -1, {.shape = Shape(4), .replace = false});
       }},
      {"permutation_of_a_scalar", [] { random::permutation(random::key(0), Array(5)); }},
      {"permutation_of_a_float", [] { random::permutation(random::key(0), 5.0); }},
      {"choice_of_nothing", [] { random::choice(random::key(0), 0, {3}); }},
      {"too_many_choices", [] { random::choice(random::key(0), 3, {4}, {.replace = false}); }},
      {"weights_of_others", [] { random::choice(random::key(0), 3, {2}, {.p = ones({4})}); }},
      {"spec_without_mesh", [] { random::normal(random::key(0), {8}, {.out_sharding = P("x")}); }},
  };
  return cases;
}

const std::vector<RefusedCase>& Reused() {
  static const std::vector<RefusedCase> cases = {
      {"twice",
       [] {
         const Array key = random::key(0);
         random::normal(key, {3});
         random::uniform(key, {3});
       }},
      {"by_value",
       [] {
         random::normal(random::key(0), {3});
         random::split(random::key(0));
       }},
      {"of_an_array",
       [] {
         const Array keys = random::split(random::key(0));
         random::normal(keys[0], {3});
         vmap([](Array k) { return random::normal(k); })(keys);
       }},
      {"traced",
       [] {
         jit([](Array key) {
           const Array a = random::split(key)[0];
           Array x = random::normal(a, {3});
           return x + random::normal(random::fold_in(key, 1), {3}) + random::normal(a, {3});
         })(random::key(0));
       }},
      {"of_equal_expressions",
       [] {
         jit([](Array key) {
           Array x = random::normal(random::fold_in(key, 1), {3});
           return x + random::normal(random::fold_in(key, 1), {3});
         })(random::key(0));
       }},
      {"jitted_twice",
       [] {
         const auto f = jit([](Array key) { return random::normal(key, {3}); });
         const Array key = random::key(0);
         f(key);
         f(key);
       }},
      {"captured_by_jit",
       [] {
         const Array key = random::key(0);
         const auto f = jit([key](Array x) { return x + random::normal(key, {3}); });
         f(ones({3}));
         f(ones({3}));
       }},
      {"in_each_iteration",
       [] {
         const Array key = random::key(0);
         fori_loop(
             0, 3, [&](Array, Array x) { return x + random::normal(key, {3}); }, ones({3}));
       }},
      {"carried_unchanged",
       [] {
         fori_loop(
             0, 3,
             [&](Array, std::pair<Array, Array> c) {
               return std::pair(c.first, c.second + random::normal(c.first, {3}));
             },
             std::pair(random::key(0), ones({3})));
       }},
      {"beside_a_branch",
       [] {
         const Array key = random::key(0);
         random::normal(key, {3});
         cond(
             Array(true), [](Array k) { return random::normal(k, {3}); },
             [](Array k) { return random::uniform(k, {3}); }, key);
       }},
      {"in_a_gradient",
       [] {
         const auto loss = [](Array w, Array key) { return sum(w * random::normal(key, {3})); };
         const Array key = random::key(0);
         grad(loss)(ones({3}), key);
         random::normal(key, {3});
       }},
  };
  return cases;
}

class BadDraw : public testing::TestWithParam<RefusedCase> {};
TEST_P(BadDraw, IsOneClearError) {
  const RefusedCase& c = GetParam();
  ExpectRefused(std::string("random_") + c.name, c.program);
  ExpectUsable();
}
INSTANTIATE_CASES(BadDraw, Wrong());

class ReusedKey : public testing::TestWithParam<RefusedCase> {};
TEST_P(ReusedKey, IsOneClearErrorInsideOfTheCheck) {
  const RefusedCase& c = GetParam();
  EXPECT_NO_THROW(c.program());
  KeyReuseCheck check;
  ExpectRefused(std::string("reused_key_") + c.name, c.program);
}
INSTANTIATE_CASES(ReusedKey, Reused());

// Programs that use each key once.
TEST(KeyReuse, AllowsKeysThatAreSplit) {
  KeyReuseCheck check;
  Array key = random::key(0);
  // The numbers start at 2, because split folds in 0 and 1.
  for (int i = 2; i < 5; ++i) random::normal(random::fold_in(key, i), {2});
  const auto [a, b] = random::split<2>(key);
  random::key_data(a);
  const auto step = jit([](Array k, Array x) {
    const auto [now, next] = random::split<2>(k);
    return std::pair(next, x + random::normal(now, {2}));
  });
  auto state = std::pair(a, ones({2}));
  for (int i = 0; i < 3; ++i) state = step(state.first, state.second);
  const Array keys = random::split(b, 4);
  vmap([](Array k) { return random::normal(k); })(keys);
  const Array others = random::split(random::key(1), 4);
  scan([](Array c, Array k) { return std::pair(c + random::normal(k), None); }, Array(0.0f),
       others);
  const Array base = random::key(2);
  fori_loop(
      0, 3, [&](Array i, Array x) { return x + random::normal(random::fold_in(base, i)); },
      Array(0.0f));
  cond(
      Array(true), [](Array k) { return random::normal(k, {3}); },
      [](Array k) { return random::uniform(k, {3}); }, random::key(3));
  const auto loss = [](Array w, Array k) { return sum(w * random::normal(k, {2})); };
  grad([&](Array w) { return checkpoint(loss)(w, random::key(4)); })(ones({2}));
}

// A function that is traced for its types, its program or its costs draws nothing.
TEST(KeyReuse, CountsWhatRunsAlone) {
  KeyReuseCheck check;
  const Array key = random::key(0), other = random::key(1);
  const auto noisy = [&](Array x) { return x + random::normal(key, {3}); };
  eval_shape(noisy, ones({3}));
  eval_shape(noisy, ones({3}));
  noisy(ones({3}));
  const auto step = jit([&](Array x) { return x + random::normal(other, {3}); });
  EXPECT_NE(step.trace(ones({3})).text(), "");
  EXPECT_GT(step.lower(ones({3})).peak_bytes(), 0);
  step(ones({3}));
  EXPECT_THROW(step(ones({3})), TraceError);
}

// A call that is refused draws nothing, nor do the edits of it that are tried.
TEST(KeyReuse, IsNotOfACallThatIsRefused) {
  SetDeviceCount(2);
  {
    MeshScope scope(make_mesh({{"x", 2}}));
    KeyReuseCheck check;
    const Array key = random::key(0), other = random::key(1);
    const Array rows = reshard(ones({4, 4}), P("x")), columns = reshard(ones({4, 4}), P(None, "x"));
    EXPECT_THROW(random::normal(key, {5}, {.out_sharding = P("x")}), ShardingError);
    random::normal(key, {6}, {.out_sharding = P("x")});
    EXPECT_THROW(random::normal(key, {6}), TraceError);
    EXPECT_THROW(random::beta(other, rows, columns), ShardingError);
    random::beta(other, rows, rows);
    EXPECT_THROW(random::beta(other, rows, rows), TraceError);
  }
  SetDeviceCount(1);
}

}  // namespace
}  // namespace tessera::random_errors_test
