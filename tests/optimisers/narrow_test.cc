// Optimisers of f16 and bf16 parameters: states and arithmetic are f32.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>

namespace tessera::optimisers_test {
namespace {

namespace o = optimisers;

std::vector<double> ElementsOf(const Array& x) { return x.astype(f64).to_vector<double>(); }

const std::vector<std::pair<std::string, Optimiser>>& Optimisers() {
  static const std::vector<std::pair<std::string, Optimiser>> all = {
      {"sgd", o::sgd(1e-2, {.momentum = 0.9})},
      {"adam", o::adam(1e-2)},
      {"adam.nesterov", o::adam(1e-2, {.nesterov = true})},
      {"adamw", o::adamw(1e-2)},
      {"lamb", o::lamb(1e-2)},
      {"lion", o::lion(1e-2)},
      {"rmsprop", o::rmsprop(1e-2)},
      {"rmsprop.centered", o::rmsprop(1e-2, {.centered = true, .momentum = 0.9})},
      {"adafactor", o::adafactor(1e-2)},
      {"adafactor.options", o::adafactor(1e-2, {.decay_offset = 2, .momentum = 0.9})},
      {"trust_ratio", chain({o::scale_by_trust_ratio(), o::scale(-1e-2)})},
      {"clip", chain({o::clip(1e-4), o::sgd(1)})},
      {"global_norm", chain({o::clip_by_global_norm(1), o::sgd(1e-2)})},
      {"block_rms", chain({o::clip_by_block_rms(0.1), o::sgd(1e-2)})},
      {"ema", chain({o::ema(0.9), o::sgd(1e-2)})},
      {"multi_steps", multi_steps(o::adam(1e-2), 2)},
      {"loss_scale", dynamic_loss_scale(o::adam(1e-2), {.initial = 1})},
      {"sharded", sharded(o::adam(1e-2), P("x"))},
  };
  return all;
}

// Gradients whose squares overflow, or become 0.
TEST(NarrowParameters, HaveTheUpdatesOfF32) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  for (DType t : {f16, bf16})
    for (double scale : {1.0, 3e4})
      for (const auto& [name, optimiser] : Optimisers()) {
        SCOPED_TRACE(testing::Message() << name << " of " << t.name() << " times " << scale);
        const Array p = array({1.0, 0.5, -1.0, 2.0}, {.dtype = t});
        const Array g = (array({0.0, 1e-4, 1e-3, 1.0}) * scale).astype(t);
        OptimiserState narrow = optimiser.init(p), wide = optimiser.init(p.astype(f32));
        for (int step = 0; step < 4; ++step) {
          const auto a = optimiser.update(g, narrow, p);
          const auto b = optimiser.update(g.astype(f32), wide, p.astype(f32));
          EXPECT_EQ(a.updates.dtype(), t);
          EXPECT_EQ(ElementsOf(a.updates), ElementsOf(b.updates.astype(t)));
          narrow = a.state, wide = b.state;
        }
        for (const auto& [array, x] : narrow) {
          EXPECT_NE(x.dtype(), t) << array;
          EXPECT_EQ(ElementsOf(x), ElementsOf(wide.at(array))) << array;
        }
      }
}

TEST(NarrowParameters, OptionsKeepStatesNarrow) {
  const std::vector<Optimiser> all = {
      o::sgd(1, {.momentum = 0.9, .accumulator_dtype = f16}),
      o::adam(1, {.mu_dtype = f16, .nu_dtype = f16}),
      o::adamw(1, {.mu_dtype = f16, .nu_dtype = f16}),
      o::lamb(1, {.mu_dtype = f16, .nu_dtype = f16}),
      o::lion(1, {.mu_dtype = f16}),
      o::rmsprop(1, {.centered = true,
                     .momentum = 0.5,
                     .mu_dtype = f16,
                     .nu_dtype = f16,
                     .accumulator_dtype = f16}),
      o::adafactor(1, {.momentum = 0.5, .dtype_momentum = f16, .dtype_squares = f16}),
      o::ema(0.9, {.accumulator_dtype = f16}),
  };
  const Array p = ones({4}, {.dtype = f16});
  for (const Optimiser& optimiser : all) {
    const OptimiserState state = optimiser.update(p, optimiser.init(p), p).state;
    for (const auto& [name, x] : state) EXPECT_EQ(x.dtype(), name == "count" ? i32 : f16) << name;
  }
}

// A step of adam with constant gradients is the rate. In f16 their squares, 1e-6, would be lost.
TEST(NarrowParameters, StepsOfConstantGradientsAreEqual) {
  const Optimiser optimiser = dynamic_loss_scale(o::adam(1e-3));
  EXPECT_EQ(loss_scale(multi_steps(optimiser, 3).init(ones({1}, f16))).item<float>(),
            loss_scale(optimiser.init(ones({1}, f16))).item<float>());
  const Array p = zeros({1}, {.dtype = f16});
  const auto step = jit([&](OptimiserState state) {
    const Array g = (loss_scale(state) * full({1}, 1e-3)).astype(f16);
    auto made = optimiser.update(g, std::move(state), p);
    return std::pair(made.updates, made.state);
  });
  OptimiserState state = optimiser.init(p);
  for (int i = 1; i <= 400; ++i) {
    auto [update, next] = step(state);
    state = next;
    EXPECT_NEAR(ElementsOf(update)[0], -1e-3, 1e-6) << i;
  }
}

TEST(Adafactor, TakesSquaresAsTheyAreBeforeItsOffset) {
  for (DType t : {f32, f64}) {
    const Optimiser optimiser = o::adafactor(1e-3, {.decay_offset = 2});
    Array p = ones({4}, {.dtype = t});
    OptimiserState state = optimiser.init(p);
    for (int i = 0; i < 5; ++i) {
      const auto made = optimiser.update(p * 0.1, state, p);
      EXPECT_TRUE(all_finite(made.updates).item<bool>()) << i;
      state = made.state;
    }
  }
}

using Params = std::map<std::string, Array>;

// A network of one hidden layer computed in `t`. Parameters are f32.
Array Loss(const Params& p, const Array& x, const Array& y, DType t) {
  const auto in = [&](const char* name) { return p.at(name).astype(t); };
  const Array hidden = tanh(matmul(x.astype(t), in("w0")) + in("b0"));
  const Array made = matmul(hidden, in("w1")) + in("b1");
  return mean(square(made.astype(f32) - y));
}

// Returns the losses of every hundredth of 500 steps by the route of docs/optimisers.md.
std::vector<double> Losses(DType t) {
  const Optimiser optimiser = dynamic_loss_scale(o::adam(3e-3));
  const auto step = jit([&](Params params, OptimiserState state, Array x, Array y) {
    const Array scale = loss_scale(state);
    const auto [loss, gradients] =
        value_and_grad([&](Params p) { return Loss(p, x, y, t) * scale; })(params);
    auto [updates, next] = optimiser.update(gradients, state, params);
    return std::tuple(apply_updates(params, updates), next, loss / scale);
  });
  Params params = {{"w0", random::normal(random::key(0), {8, 32}) * 0.3},
                   {"b0", zeros({32})},
                   {"w1", random::normal(random::key(1), {32, 4}) * 0.2},
                   {"b1", zeros({4})}};
  OptimiserState state = optimiser.init(params);
  const Array x = random::normal(random::key(2), {256, 8});
  const Array y = sin(matmul(x, random::normal(random::key(3), {8, 4})) * 0.7);
  std::vector<double> losses;
  for (int i = 1; i <= 500; ++i) {
    auto [new_params, new_state, loss] = step(params, state, x, y);
    params = new_params, state = new_state;
    if (i % 100 == 0) losses.push_back(loss.item<float>());
  }
  return losses;
}

TEST(NarrowParameters, TheRouteOfF16TrainsAsF32) {
  const std::vector<double> narrow = Losses(f16), wide = Losses(f32);
  EXPECT_LT(wide.back(), wide.front() / 2);
  for (size_t i = 0; i < wide.size(); ++i) EXPECT_NEAR(narrow[i], wide[i], 0.02 * wide[i]) << i;
}

}  // namespace
}  // namespace tessera::optimisers_test
