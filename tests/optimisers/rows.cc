// Rows of optimisers.h, each with every option.

#include "optimisers/rows.h"

namespace tessera::optimisers_test {

namespace o = optimisers;
namespace s = schedules;

namespace {
bool IsMatrix(const std::string&, const Array& p) { return p.rank() > 1; }
}  // namespace

const std::vector<OptimiserRow>& OptimiserRows() {
  static const std::vector<OptimiserRow> rows = {
      {"sgd", "optax.sgd(0.1)", [](AxisSet) { return o::sgd(0.1); }},
      {"sgd.momentum", "optax.sgd(0.05, momentum=0.9)",
       [](AxisSet) { return o::sgd(0.05, {.momentum = 0.9}); }},
      {"sgd.nesterov", "optax.sgd(0.05, momentum=0.9, nesterov=True)",
       [](AxisSet) { return o::sgd(0.05, {.momentum = 0.9, .nesterov = true}); }},
      {"sgd.accumulator", "optax.sgd(0.05, momentum=0.9, accumulator_dtype='bfloat16')",
       [](AxisSet) { return o::sgd(0.05, {.momentum = 0.9, .accumulator_dtype = bf16}); }, false,
       2e-2},
      {"adam", "optax.adam(0.01)", [](AxisSet) { return o::adam(0.01); }},
      {"adam.options", "optax.adam(0.01, b1=0.8, b2=0.95, eps=1e-4, eps_root=1e-3)",
       [](AxisSet) {
         return o::adam(0.01, {.b1 = 0.8, .b2 = 0.95, .eps = 1e-4, .eps_root = 1e-3});
       }},
      {"adam.nesterov", "optax.adam(0.01, nesterov=True)",
       [](AxisSet) { return o::adam(0.01, {.nesterov = true}); }},
      {"adam.mu_dtype",
       "(lambda a: optax.GradientTransformation(a.init, lambda g, s, p: (lambda u, n: (u, "
       "(n[0]._replace(mu=jax.tree.map(lambda x: jax.lax.reduce_precision(x, 8, 7), n[0].mu)), "
       "*n[1:])))(*a.update(g, s, p))))(optax.adam(0.01))",
       [](AxisSet) { return o::adam(0.01, {.mu_dtype = bf16}); }, false, 1e-2},
      {"adam.f64", "optax.adam(0.01)", [](AxisSet) { return o::adam(0.01); }, false, 1e-12, "f64"},
      {"adam.bf16", "optax.adam(0.03)",
       [](AxisSet) { return o::adam(0.03, {.mu_dtype = bf16, .nu_dtype = bf16}); }, false, 0.05,
       "bf16"},
      {"adamw", "optax.adamw(0.01)", [](AxisSet) { return o::adamw(0.01); }},
      {"adamw.options",
       "optax.adamw(0.01, b1=0.8, b2=0.95, eps=1e-4, eps_root=1e-3, weight_decay=0.1)",
       [](AxisSet) {
         return o::adamw(
             0.01, {.b1 = 0.8, .b2 = 0.95, .eps = 1e-4, .eps_root = 1e-3, .weight_decay = 0.1});
       }},
      {"adamw.mask", "optax.adamw(0.01, weight_decay=0.5, mask=matrices)",
       [](AxisSet) { return o::adamw(0.01, {.weight_decay = 0.5, .mask = IsMatrix}); }},
      {"adamw.decay_schedule",
       "optax.adamw(0.01, weight_decay=optax.linear_schedule(0.1, 0.9, 50))",
       [](AxisSet) { return o::adamw(0.01, {.weight_decay = s::linear(0.1, 0.9, 50)}); }},
      {"adamw.nesterov", "optax.adamw(0.01, weight_decay=0.1, nesterov=True)",
       [](AxisSet) { return o::adamw(0.01, {.weight_decay = 0.1, .nesterov = true}); }},
      {"adamw.schedule",
       "optax.chain(optax.clip_by_global_norm(1.0), optax.adamw("
       "optax.warmup_cosine_decay_schedule(0., 0.02, 10, 100, 0.002), weight_decay=0.1))",
       [](AxisSet axes) {
         return chain({o::clip_by_global_norm(1, {axes}),
                       o::adamw(s::warmup_cosine_decay(0, 0.02, 10, 100, {.end_value = 0.002}),
                                {.weight_decay = 0.1})});
       }},
      {"lion", "optax.lion(0.003)", [](AxisSet) { return o::lion(0.003); }},
      {"lion.options", "optax.lion(0.003, b1=0.95, b2=0.98, weight_decay=0.1, mask=matrices)",
       [](AxisSet) {
         return o::lion(0.003, {.b1 = 0.95, .b2 = 0.98, .weight_decay = 0.1, .mask = IsMatrix});
       }},
      {"lion.mu_dtype", "optax.lion(0.003, mu_dtype='float16')",
       [](AxisSet) { return o::lion(0.003, {.mu_dtype = f16}); }, false, 2e-2},
      {"adafactor", "optax.adafactor(0.05)", [](AxisSet) { return o::adafactor(0.05); }, true},
      {"adafactor.factored", "optax.adafactor(0.05, min_dim_size_to_factor=2)",
       [](AxisSet) { return o::adafactor(0.05, {.min_dim_size_to_factor = 2}); }, true},
      {"adafactor.not_factored", "optax.adafactor(0.05, min_dim_size_to_factor=2, factored=False)",
       [](AxisSet) { return o::adafactor(0.05, {.min_dim_size_to_factor = 2, .factored = false}); },
       true},
      {"adafactor.options",
       "optax.adafactor(0.02, min_dim_size_to_factor=2, decay_rate=0.6, "
       "multiply_by_parameter_scale=False, clipping_threshold=0.5, momentum=0.9, "
       "weight_decay_rate=1e-3, eps=1e-4, weight_decay_mask=matrices)",
       [](AxisSet) {
         return o::adafactor(0.02, {.min_dim_size_to_factor = 2,
                                    .decay_rate = 0.6,
                                    .multiply_by_parameter_scale = false,
                                    .clipping_threshold = 0.5,
                                    .momentum = 0.9,
                                    .weight_decay_rate = 1e-3,
                                    .eps = 1e-4,
                                    .weight_decay_mask = IsMatrix});
       },
       true},
      {"adafactor.no_clip", "optax.adafactor(0.02, clipping_threshold=None, decay_offset=-3)",
       [](AxisSet) {
         return o::adafactor(0.02, {.decay_offset = -3, .clipping_threshold = std::nullopt});
       },
       true},
      {"rmsprop", "optax.rmsprop(0.01)", [](AxisSet) { return o::rmsprop(0.01); }},
      {"rmsprop.options",
       "optax.rmsprop(0.01, decay=0.8, eps=1e-3, initial_scale=0.5, eps_in_sqrt=False)",
       [](AxisSet) {
         return o::rmsprop(0.01,
                           {.decay = 0.8, .eps = 1e-3, .initial_scale = 0.5, .eps_in_sqrt = false});
       }},
      {"rmsprop.centered",
       "optax.rmsprop(0.01, eps=1e-3, centered=True, momentum=0.9, nesterov=True)",
       [](AxisSet) {
         return o::rmsprop(0.01,
                           {.eps = 1e-3, .centered = true, .momentum = 0.9, .nesterov = true});
       },
       false, 1e-5},
      {"rmsprop.bias_correction",
       "optax.rmsprop(0.01, centered=True, eps=1e-3, momentum=0.5, bias_correction=True)",
       [](AxisSet) {
         return o::rmsprop(
             0.01, {.eps = 1e-3, .centered = true, .momentum = 0.5, .bias_correction = true});
       },
       false, 1e-5},
      {"rmsprop.debiased", "optax.rmsprop(0.01, bias_correction=True)",
       [](AxisSet) { return o::rmsprop(0.01, {.bias_correction = true}); }},
      {"lamb", "optax.lamb(0.01)", [](AxisSet axes) { return o::lamb(0.01, {.axes = axes}); }},
      {"lamb.options",
       "optax.lamb(0.01, b1=0.8, b2=0.95, eps=1e-4, eps_root=1e-3, weight_decay=0.1, "
       "mask=matrices)",
       [](AxisSet axes) {
         return o::lamb(0.01, {.b1 = 0.8,
                               .b2 = 0.95,
                               .eps = 1e-4,
                               .eps_root = 1e-3,
                               .weight_decay = 0.1,
                               .mask = IsMatrix,
                               .axes = axes});
       }},
      {"clip", "optax.chain(optax.clip(0.1), optax.sgd(0.05))",
       [](AxisSet) {
         return chain({o::clip(0.1), o::sgd(0.05)});
       }},
      {"clip_by_global_norm", "optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.05))",
       [](AxisSet axes) {
         return chain({o::clip_by_global_norm(0.5, {axes}), o::sgd(0.05)});
       }},
      {"clip_by_global_norm.inactive",
       "optax.chain(optax.clip_by_global_norm(100.), optax.sgd(0.05))",
       [](AxisSet axes) {
         return chain({o::clip_by_global_norm(100, {axes}), o::sgd(0.05)});
       }},
      {"clip_by_block_rms", "optax.chain(optax.clip_by_block_rms(0.2), optax.sgd(0.05))",
       [](AxisSet) {
         return chain({o::clip_by_block_rms(0.2), o::sgd(0.05)});
       },
       true},
      {"scale_by_adam",
       "optax.chain(optax.scale_by_adam(b1=0.5), optax.add_decayed_weights(0.1, matrices), "
       "optax.scale_by_learning_rate(optax.constant_schedule(0.01)))",
       [](AxisSet) {
         return chain({o::scale_by_adam({.b1 = 0.5}), o::add_decayed_weights(0.1, IsMatrix),
                       o::scale_by_learning_rate(s::constant(0.01))});
       }},
      {"scale_by_trust_ratio", "optax.chain(optax.scale_by_trust_ratio(), optax.scale(-0.01))",
       [](AxisSet axes) {
         return chain({o::scale_by_trust_ratio({axes}), o::scale(-0.01)});
       }},
      {"trace",
       "optax.chain(optax.trace(0.5), optax.trace(0.8, nesterov=True), optax.scale(-0.01))",
       [](AxisSet) {
         return chain({o::trace(0.5), o::trace(0.8, true), o::scale(-0.01)});
       }},
      {"ema", "optax.chain(optax.ema(0.9), optax.scale(-0.05))",
       [](AxisSet) {
         return chain({o::ema(0.9), o::scale(-0.05)});
       }},
      {"ema.options", "optax.chain(optax.ema(0.9, debias=False), optax.scale(-0.05))",
       [](AxisSet) {
         return chain({o::ema(0.9, {.debias = false}), o::scale(-0.05)});
       }},
      {"stateless",
       "optax.chain(optax.stateless(lambda u, p: jax.tree.map(lambda a, b: a + b * b / 8, u, p)), "
       "optax.sgd(0.05))",
       [](AxisSet) {
         return chain(
             {o::stateless([](Array u, Array p) { return u + p * p / 8.0; }), o::sgd(0.05)});
       }},
      {"multi_steps", "optax.MultiSteps(optax.adam(0.05), 4).gradient_transformation()",
       [](AxisSet) { return multi_steps(o::adam(0.05), 4); }},
      {"multi_steps.after_a_schedule",
       "optax.chain(optax.scale_by_learning_rate(optax.linear_schedule(1.0, 0.1, 60)), "
       "optax.MultiSteps(optax.chain(optax.adam(0.05), optax.scale(-1.0)), 4)"
       ".gradient_transformation())",
       [](AxisSet) {
         return chain({o::scale_by_learning_rate(s::linear(1, 0.1, 60)),
                       multi_steps(chain({o::adam(0.05), o::scale(-1)}), 4)});
       }},
      {"multi_steps.sum",
       "optax.MultiSteps(optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.1, "
       "momentum=0.9)), "
       "3, use_grad_mean=False).gradient_transformation()",
       [](AxisSet axes) {
         return multi_steps(
             chain({o::clip_by_global_norm(0.5, {axes}), o::sgd(0.1, {.momentum = 0.9})}), 3,
             {.use_grad_mean = false});
       }},
  };
  return rows;
}

const std::vector<ScheduleRow>& ScheduleRows() {
  static const std::vector<ScheduleRow> rows = {
      {"constant", "optax.constant_schedule(0.3)", [] { return s::constant(0.3); }},
      {"linear", "optax.linear_schedule(0.1, 0.9, 12)", [] { return s::linear(0.1, 0.9, 12); }},
      {"linear.begin", "optax.linear_schedule(0.9, 0.1, 12, 5)",
       [] { return s::linear(0.9, 0.1, 12, 5); }},
      {"polynomial", "optax.polynomial_schedule(0.9, 0.1, 2.5, 12, 3)",
       [] { return s::polynomial(0.9, 0.1, 2.5, 12, 3); }},
      {"piecewise_constant", "optax.piecewise_constant_schedule(0.8, {3: 0.5, 10: 0.1, 20: 4.0})",
       [] {
         return s::piecewise_constant(0.8, {{3, 0.5}, {10, 0.1}, {20, 4.0}});
       }},
      {"exponential_decay", "optax.exponential_decay(0.8, 7, 0.6)",
       [] { return s::exponential_decay(0.8, 7, 0.6); }},
      {"exponential_decay.options",
       "optax.exponential_decay(0.8, 7, 0.6, transition_begin=4, staircase=True, end_value=0.2)",
       [] {
         return s::exponential_decay(0.8, 7, 0.6,
                                     {.transition_begin = 4, .staircase = true, .end_value = 0.2});
       }},
      {"exponential_decay.grows", "optax.exponential_decay(0.1, 5, 1.5, end_value=0.7)",
       [] { return s::exponential_decay(0.1, 5, 1.5, {.end_value = 0.7}); }},
      {"cosine_decay", "optax.cosine_decay_schedule(0.7, 20)",
       [] { return s::cosine_decay(0.7, 20); }},
      {"cosine_decay.options", "optax.cosine_decay_schedule(0.7, 20, alpha=0.1, exponent=1.5)",
       [] { return s::cosine_decay(0.7, 20, {.alpha = 0.1, .exponent = 1.5}); }},
      {"warmup_cosine_decay", "optax.warmup_cosine_decay_schedule(0.0, 1.0, 5, 25)",
       [] { return s::warmup_cosine_decay(0, 1, 5, 25); }},
      {"warmup_cosine_decay.options",
       "optax.warmup_cosine_decay_schedule(0.1, 2.0, 5, 25, end_value=0.3, exponent=2.0)",
       [] { return s::warmup_cosine_decay(0.1, 2, 5, 25, {.end_value = 0.3, .exponent = 2}); }},
      {"join",
       "optax.join_schedules([optax.constant_schedule(0.2), optax.linear_schedule(0.2, 1.0, 8), "
       "optax.exponential_decay(1.0, 4, 0.5)], [4, 14])",
       [] {
         return s::join({0.2, s::linear(0.2, 1, 8), s::exponential_decay(1, 4, 0.5)}, {4, 14});
       }},
  };
  return rows;
}

}  // namespace tessera::optimisers_test
