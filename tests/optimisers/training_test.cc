// A training step: its memory and communication, sharded states, files, skipped steps, averages.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "optimisers/problem.h"

namespace tessera::optimisers_test {
namespace {

namespace o = optimisers;

using testing::ElementsAre;

double BytesOf(const Profile& profile) {
  double bytes = 0;
  for (const ProfileStep& step : profile.steps()) bytes += step.bytes;
  return bytes;
}

// A step reads the gradient, the parameter and two means, and writes all but the gradient once:
// nothing else is in memory. Clipping reads the gradient once more.
TEST(Training, IsOnePassPerParameter) {
  const int64_t n = 1 << 16;
  const Params params = {{"v", ones({512, n / 512})}, {"w", ones({256, n / 256})}};
  const Optimiser adamw = o::adamw(schedules::warmup_cosine_decay(0, 1e-3, 10, 100));
  for (const bool clips : {false, true}) {
    const Optimiser optimiser = clips ? chain({o::clip_by_global_norm(1), adamw}) : adamw;
    const auto step = jit(
        [&](Params p, OptimiserState s, Params g) {
          auto [updates, next] = optimiser.update(g, s, p);
          return std::pair(apply_updates(p, updates), next);
        },
        {.donate = {0, 1}});
    const OptimiserState state = optimiser.init(params);
    const Lowered lowered = step.lower(params, state, params);
    const double array = 4.0 * n;
    EXPECT_LT(static_cast<double>(lowered.peak_bytes()), 2 * 7.001 * array);  // in and out
    const Profile profile = lowered.profile(params, state, params);
    EXPECT_LT(BytesOf(profile), 2 * (clips ? 8.001 : 7.001) * array) << profile.text();
  }
}

Params Loss(const Params& p, Array x) {
  return grad([&](Params w) {
    const Array h = tanh(matmul(x, w.at("w")) + w.at("b"));
    return mean(square(h - 0.5));
  })(p);
}

// Gradients that are partial sums are scattered, and updates are gathered: nothing else moves.
TEST(Training, OfShardedStatesScattersAndGathers) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 8}}));
  const auto optimiser = [] { return chain({o::clip_by_global_norm(0.1), o::adamw(0.05)}); };
  const Optimiser whole = optimiser(), zero = sharded(optimiser(), {P("data"), P(None, "data")});
  const Params params = {{"b", arange(16.0) / 16.0},
                         {"w", arange(512.0).reshape({32, 16}) / 512.0 - 0.5}};
  const Array x = reshard(arange(64.0 * 32).reshape({64, 32}) / 2048.0, P("data"));
  const auto step_of = [&](const Optimiser& optimiser) {
    return jit([&](Params p, OptimiserState s, Array batch) {
      const Params used = tree_map([](Array w) { return reshard(w, P().reduced("data")); }, p);
      Params g = Loss(used, batch);  // partial sums
      if (&optimiser == &whole) g = reshard(g, P());
      auto [updates, next] = optimiser.update(g, s, p);
      return std::pair(apply_updates(p, updates), next);
    });
  };
  const auto whole_step = step_of(whole), zero_step = step_of(zero);
  std::pair<Params, OptimiserState> a{params, whole.init(params)}, b{params, zero.init(params)};
  EXPECT_EQ(type_of(b.second.at("adam.mu.b")).text(), "f32[16@data]");
  EXPECT_EQ(type_of(b.second.at("adam.nu.w")).text(), "f32[32,16@data]");

  const CommReport sent = zero_step.lower(b.first, b.second, x).comm();
  EXPECT_EQ(sent.count(CommKind::kReduceScatter), 2) << sent;
  EXPECT_EQ(sent.count(CommKind::kAllGather), 2) << sent;
  EXPECT_EQ(sent.count(CommKind::kAllReduce), 1) << sent;  // of the norm, one number
  EXPECT_EQ(sent.events().size(), 5u) << sent;
  // An all_reduce of the gradients sends as much; the norm is 8 bytes more.
  EXPECT_EQ(sent.bytes(), whole_step.lower(a.first, a.second, x).comm().bytes() + 8) << sent;

  for (int i = 0; i < 10; ++i) {
    a = whole_step(a.first, a.second, x);
    b = zero_step(b.first, b.second, x);
  }
  for (const auto& [name, w] : a.first) {
    EXPECT_EQ(type_of(b.first.at(name)), type_of(w));
    EXPECT_LT(max(abs(b.first.at(name) - w)).item<float>(), 1e-6f) << name;
    EXPECT_GT(max(abs(params.at(name) - w)).item<float>(), 0.1f) << name;
  }
}

// The numbers are the same with whole states and with states in shards over axes of any modes.
TEST(Training, OfShardedStatesIsThatOfWholeStates) {
  SetDeviceCount(8);
  const Params start = {{"b", arange(16.0) / 16.0},
                        {"w", arange(512.0).reshape({32, 16}) / 512.0 - 0.5}};
  const Array x = arange(64.0 * 32).reshape({64, 32}) / 2048.0;
  const auto inner = [] {
    return chain({o::clip_by_global_norm(0.1), multi_steps(o::adamw(0.05), 2)});
  };
  const auto train = [&](const Optimiser& optimiser) {
    const auto step = jit([&](Params p, OptimiserState s, Array batch) {
      auto [updates, next] = optimiser.update(Loss(p, batch), s, p);
      return std::pair(apply_updates(p, updates), next);
    });
    std::pair<Params, OptimiserState> now{start, optimiser.init(start)};
    for (int i = 0; i < 10; ++i) now = step(now.first, now.second, x);
    return now;
  };
  const Params whole = train(inner()).first;
  EXPECT_GT(max(abs(start.at("w") - whole.at("w"))).item<float>(), 0.1f);
  const PartitionSpec b = P("data"), w = P("data", "model");
  for (const AxisMode data : {AxisMode::Explicit, AxisMode::Auto})
    for (const AxisMode model : {AxisMode::Explicit, AxisMode::Auto})
      for (const bool by_name : {false, true}) {
        SCOPED_TRACE(testing::Message() << "data is Auto: " << (data == AxisMode::Auto)
                                        << ", model is Auto: " << (model == AxisMode::Auto)
                                        << ", by name: " << by_name);
        MeshScope scope(make_mesh({{"data", 4, data}, {"model", 2, model}}));
        const Optimiser optimiser = by_name
                                        ? sharded(inner(),
                                                  [&](const std::string& name, const Array& param) {
                                                    return name == "w" && param.rank() == 2 ? w : b;
                                                  })
                                        : sharded(inner(), {b, w});
        for (const auto& [name, array] : optimiser.init(start)) {
          const PartitionSpec spec = array.rank() == 2 ? w : array.rank() == 1 ? b : P();
          EXPECT_EQ(array.sharding().spec(), spec) << name;
        }
        const auto [params, state] = train(optimiser);
        for (const char* slot : {"micro_steps.gradients", "micro_steps.adam.mu"}) {
          EXPECT_EQ(state.at(slot + std::string(".b")).sharding().spec(), b) << slot;
          EXPECT_EQ(state.at(slot + std::string(".w")).sharding().spec(), w) << slot;
        }
        for (const auto& [name, array] : whole) {
          EXPECT_EQ(params.at(name).sharding().spec(), array.rank() == 2 ? P(None, None) : P(None));
          EXPECT_LT(max(abs(params.at(name) - array)).item<float>(), 1e-6f) << name;
        }
      }
}

// The same for arrays that a transformation adds one by one, and for a sharded optimiser in
// another.
TEST(Training, OfShardedStatesConstrainsEveryArray) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 4, AxisMode::Auto}, {"model", 2, AxisMode::Auto}}));
  const Params params = {{"b", arange(16.0)}, {"w", ones({32, 16})}};
  const PartitionSpec b = P("data"), w = P("data", "model"), other = P("model");
  const auto expect = [&](const OptimiserState& state, const std::string& name) {
    EXPECT_EQ(state.at(name + ".b").sharding().spec(), b) << name;
    EXPECT_EQ(state.at(name + ".w").sharding().spec(), w) << name;
  };
  const auto squares = o::adafactor(0.1, {.momentum = {}, .factored = false});
  const OptimiserState state = sharded(squares, {b, w}).init(params);
  size_t found = 0;
  for (const auto& [name, array] : state)
    if (name.ends_with("squares.b")) expect(state, name.substr(0, name.size() - 2)), ++found;
  EXPECT_EQ(found, 1u);
  expect(sharded(sharded(o::adam(0.1), {b, w}), {other, other}).init(params), "adam.mu");
}

// Over Auto axes partial gradients are scattered too, and updates are gathered over the axes of the
// state alone: the columns of w stay in their shards.
TEST(Training, OfShardedStatesOverAutoAxesScattersAndGathers) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 4, AxisMode::Auto}, {"model", 2, AxisMode::Auto}}));
  const Optimiser zero = sharded(o::adamw(0.05), {P("data"), P(Open("data"), Open())});
  const Params params = {
      {"b", arange(16.0) / 16.0},
      {"w", with_sharding_constraint(arange(512.0).reshape({32, 16}), P(None, "model"))}};
  const auto step = jit([&](Params p, OptimiserState s, Array batch) {
    auto [updates, next] = zero.update(Loss(p, batch), s, p);
    return std::pair(apply_updates(p, updates), next);
  });
  const Array x = with_sharding_constraint(arange(64.0 * 32).reshape({64, 32}), P("data"));
  const OptimiserState state = zero.init(params);
  const CommReport sent = step.lower(params, state, x).comm();
  EXPECT_EQ(sent.count(CommKind::kReduceScatter), 2) << sent;
  EXPECT_EQ(sent.count(CommKind::kAllReduce), 0) << sent;
  EXPECT_EQ(step(params, state, x).first.at("w").sharding().spec(), P(None, "model"));
}

TEST(Training, ResumesFromAFileWithTheSameBits) {
  SetDeviceCount(8);
  const std::string path = testing::TempDir() + "/optimiser_state.safetensors";
  const Optimiser optimiser =
      chain({o::clip_by_global_norm(0.5), o::adamw(schedules::cosine_decay(0.05, 40))});
  std::vector<double> straight;
  {
    MeshScope scope(make_mesh({{"x", 8}}));
    const Problem problem = MakeProblem(f32, true);
    const auto step = jit([&](State s, Problem p) { return Step(optimiser, s, p); });
    State state = Start(optimiser, problem);
    for (int i = 0; i < 20; ++i) state = step(state, problem);
    save_safetensors(path, state);
    State resumed = load_safetensors_like(path, abstract_like(Start(optimiser, problem)));
    for (int i = 0; i < 20; ++i) {
      state = step(state, problem);
      resumed = step(resumed, problem);
    }
    straight = NumbersOf(state.params);
    EXPECT_EQ(NumbersOf(resumed.params), straight);
  }
  // The file goes to another mesh too.
  const Problem problem = MakeProblem(f32, false);
  State resumed = load_safetensors_like(path, Start(optimiser, problem));
  const auto step = jit([&](State s, Problem p) { return Step(optimiser, s, p); });
  for (int i = 0; i < 20; ++i) resumed = step(resumed, problem);
  EXPECT_THAT(NumbersOf(resumed.params), testing::Pointwise(testing::DoubleNear(1e-6), straight));
  std::remove(path.c_str());
}

TEST(Training, OfF16SkipsStepsThatOverflow) {
  const Optimiser optimiser = dynamic_loss_scale(o::sgd(0.5, {.momentum = 0.5}),
                                                 {.initial = 4, .period = 3, .min_scale = 1});
  const Params params = {{"w", ones({2}, f16)}};
  OptimiserState state = optimiser.init(params);
  const float inf = std::numeric_limits<float>::infinity();
  const auto step = jit([&](Params p, OptimiserState s, Array g) {
    auto [updates, next] = optimiser.update(Params{{"w", g * loss_scale(s).astype(f16)}}, s, p);
    return std::pair(updates, next);
  });
  std::vector<float> scales, first;
  for (const float g : {1.0f, inf, 1.0f, 1.0f, 1.0f, std::nanf(""), inf}) {
    const auto [updates, next] = step(params, state, array({g, 1.0f}, {.dtype = f16}));
    first.push_back(updates.at("w")[0].item<float>());
    scales.push_back(loss_scale(next).item<float>());
    state = next;
  }
  EXPECT_THAT(scales, ElementsAre(4, 2, 2, 2, 4, 2, 1));
  // A skipped step changes neither the parameters nor the momentum.
  EXPECT_THAT(first, ElementsAre(-0.5f, 0, -0.75f, -0.875f, -0.9375f, 0, 0));
  EXPECT_EQ(state.at("loss_scale.momentum.trace.w").dtype(), f32);
}

TEST(Training, OfF16AgreesOnSkippedStepsInShardMap) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Optimiser optimiser = dynamic_loss_scale(o::sgd(1), {.initial = 1, .axes = "x"});
  const auto update =
      shard_map([&](Array p, Array g) { return optimiser.update(g, optimiser.init(p), p).updates; },
                {.in_specs = P("x"), .out_specs = P("x")});
  const Array p = reshard(zeros({4}), P("x"));
  const Array g = reshard(array({1.0f, 2.0f, 3.0f, std::nanf("")}), P("x"));
  EXPECT_THAT(update(p, p + 1).to_vector<float>(), ElementsAre(-1, -1, -1, -1));
  EXPECT_THAT(update(p, g).to_vector<float>(), ElementsAre(0, 0, 0, 0));
}

TEST(Training, KeepsMovingAveragesOfParameters) {
  const Params old = {{"w", array({0.0f, 4.0f})}}, now = {{"w", array({4.0f, 8.0f})}};
  EXPECT_THAT(incremental_update(now, old, 0.25).at("w").to_vector<float>(), ElementsAre(1, 5));
  const Optimiser average = o::ema(0.5);
  OptimiserState state = average.init(now);
  for (const Params& p : {old, now}) {
    auto [mean, next] = average.update(p, state, p);
    state = next;
    const bool is_second = state.at("count").item<int>() == 2;
    EXPECT_FLOAT_EQ(mean.at("w")[0].item<float>(), is_second ? 8.0f / 3 : 0);
  }
}

// The states and the updates have the dtypes of the parameters, whatever those of the gradients.
TEST(Training, KeepsDtypes) {
  const Params params = {{"a", ones({2}, bf16)}, {"b", ones({2}, f64)}};
  const Params gradients = {{"a", ones({2}, f32)}, {"b", ones({2}, bf16)}};
  for (const Optimiser& optimiser : {o::adam(0.1), o::lion(0.1), o::rmsprop(0.1), o::lamb(0.1),
                                     o::adafactor(0.1), o::sgd(0.1, {.momentum = 0.5})}) {
    const OptimiserState state = optimiser.init(params);
    const auto [updates, next] = optimiser.update(gradients, state, params);
    for (const auto& [name, x] : state) EXPECT_EQ(next.at(name).dtype(), x.dtype()) << name;
    const Params made = apply_updates(params, updates);
    EXPECT_EQ(made.at("a").dtype(), bf16);
    EXPECT_EQ(made.at("b").dtype(), f64);
  }
}

TEST(Training, OfATreeOfOneArray) {
  const Optimiser adam = o::adam(0.1);
  const OptimiserState state = adam.init(ones({2}));
  EXPECT_EQ(state.count("adam.mu"), 1u);
  const auto [updates, next] = adam.update(ones({2}), state, ones({2}));
  EXPECT_NEAR(updates[0].item<float>(), -0.1, 1e-6);
}

TEST(Training, NormsAreOfAllShards) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  const Params tree = {
      {"a", reshard(arange(8.0), P("y"))}, {"b", reshard(arange(4.0), P("x"))}, {"c", ones({3})}};
  const double norm = std::sqrt(140.0 + 14 + 3);
  EXPECT_NEAR(global_norm(tree).item<float>(), norm, 1e-5);
  const auto in_map = shard_map(
      [](Params t) {
        EXPECT_THAT(type_of(t.at("a")).varying(), ElementsAre("y"));
        EXPECT_THAT(type_of(t.at("c")).varying(), ElementsAre());
        return global_norm(t, {.axes = {"x", "y"}});
      },
      {.in_specs = {{P("y"), P("x"), P()}}, .out_specs = P()});
  EXPECT_NEAR(in_map(tree).item<float>(), norm, 1e-5);
  EXPECT_TRUE(all_finite(tree).item<bool>());
  EXPECT_FALSE(all_finite(Params{{"a", tree.at("a") / 0.0}}).item<bool>());
  const MeshScope mesh(make_mesh({{"x", 2}}));
  Params sharded;
  for (const char* name : {"a", "b", "c"}) sharded[name] = reshard(ones({4}), P("x"));
  const auto finite = jit([](Params p) { return all_finite(p); });
  EXPECT_EQ(finite.lower(sharded).comm().count(CommKind::kAllReduce), 1)
      << "one message for all arrays";
}

}  // namespace
}  // namespace tessera::optimisers_test
