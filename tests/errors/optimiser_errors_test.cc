// Numbers out of their ranges, trees that differ, and arrays that optimisers do not update.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>
#include <limits>

#include "golden.h"

namespace tessera::optimiser_errors_test {
namespace {

namespace o = optimisers;
namespace s = schedules;

struct Case {
  const char* name;
  std::function<void()> program;
};

using Params = std::map<std::string, Array>;

struct Layer {
  Array w;
};
TESSERA_FIELDS(Layer, w);
struct Model {
  std::vector<Layer> layers;
  Array b;
};
TESSERA_FIELDS(Model, layers, b);
Model Layers() { return {{{ones({4})}, {ones({3})}}, ones({2, 2})}; }

Params Two() { return {{"b", ones({2})}, {"w", ones({2, 2})}}; }
// Updates two parameters by these gradients.
void Update(const Params& gradients, const Optimiser& optimiser = o::adam(0.1)) {
  optimiser.update(gradients, optimiser.init(Two()), Two());
}

const std::vector<Case>& Numbers() {
  static const std::vector<Case> cases = {
      {"negative_rate", [] { o::sgd(-0.1); }},
      {"infinite_rate", [] { o::adam(std::numeric_limits<double>::infinity()); }},
      {"momentum", [] { o::sgd(0.1, {.momentum = 1}); }},
      {"b1", [] { o::adam(0.1, {.b1 = 1}); }},
      {"b2", [] { o::lion(0.1, {.b2 = -0.1}); }},
      {"eps", [] { o::lamb(0.1, {.eps = -1e-8}); }},
      {"weight_decay", [] { o::adamw(0.1, {.weight_decay = -1}); }},
      {"decay", [] { o::rmsprop(0.1, {.decay = 1.5}); }},
      {"decay_rate", [] { o::adafactor(0.1, {.decay_rate = -0.8}); }},
      {"clipping_threshold", [] { o::adafactor(0.1, {.clipping_threshold = 0}); }},
      {"max_norm", [] { o::clip_by_global_norm(0); }},
      {"max_delta", [] { o::clip(-1); }},
      {"ema_decay", [] { o::ema(2); }},
      {"micro_steps", [] { multi_steps(o::sgd(0.1), 0); }},
      {"loss_scale_factor", [] { dynamic_loss_scale(o::sgd(0.1), {.factor = 1}); }},
      {"schedule_steps", [] { s::linear(0, 1, 0); }},
      {"schedule_number", [] { s::cosine_decay(std::numeric_limits<double>::quiet_NaN(), 3); }},
      {"schedule_decay_rate", [] { s::exponential_decay(1, 10, 0); }},
      {"schedule_scale",
       [] {
         s::piecewise_constant(1, {{3, -2.0}});
       }},
      {"schedule_warmup", [] { s::warmup_cosine_decay(0, 1, 10, 10); }},
      {"schedule_boundaries",
       [] {
         s::join({0.1, 0.2, 0.3}, {10});
       }},
      {"schedule_of_vectors",
       [] { Update(Two(), o::sgd([](Array step) { return step * ones({2}); })); }},
  };
  return cases;
}

const std::vector<Case>& Trees() {
  static const std::vector<Case> cases = {
      {"parameter_of_ints",
       [] {
         o::adam(0.1).init(Params{{"steps", array({1, 2})}, {"w", ones({2})}});
       }},
      {"parameter_of_one_int",
       [] {
         o::adam(0.1).init(array({1, 2}));
       }},
      {"gradient_of_another_name",
       [] {
         Update({{"b", ones({2})}, {"v", ones({2, 2})}});
       }},
      {"gradient_missing",
       [] {
         Update({{"b", ones({2})}});
       }},
      {"gradient_shape",
       [] {
         Update({{"b", ones({2})}, {"w", ones({2, 3})}});
       }},
      {"gradient_of_ints",
       [] {
         Update({{"b", array({1, 2})}, {"w", ones({2, 2})}});
       }},
      {"state_of_another_optimiser",
       [] {
         const Optimiser adam = o::adam(0.1);
         adam.update(Two(), o::lion(0.1).init(Two()), Two());
       }},
      {"state_of_other_parameters",
       [] {
         const Optimiser adam = o::adam(0.1);
         adam.update(Two(), adam.init(Params{{"b", ones({2})}}), Two());
       }},
      {"state_of_other_shapes",
       [] {
         const Optimiser adam = o::adam(0.1);
         adam.update(Two(), adam.init(Params{{"b", ones({2})}, {"w", ones({2})}}), Two());
       }},
      {"loss_scale_of_another_optimiser", [] { loss_scale(o::adam(0.1).init(Two())); }},
      {"updates_that_differ",
       [] {
         apply_updates(Two(), {{"b", ones({2})}});
       }},
      {"averages_that_differ",
       [] {
         incremental_update(Two(), {{"b", ones({2})}, {"u", ones({2, 2})}}, 0.1);
       }},
  };
  return cases;
}

const std::vector<Case>& Shards() {
  static const std::vector<Case> cases = {
      {"gradient_of_partial_sums",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         const Array w = abstract_array("f32[4]");
         o::adam(0.1).update(abstract_array("f32[4]{U:x}"), o::adam(0.1).init(w), w);
       }},
      {"gradient_in_other_shards",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         const Array w = abstract_array("f32[4@x,4]");
         o::adam(0.1).update(abstract_array("f32[4,4@x]"), o::adam(0.1).init(w), w);
       }},
      {"state_in_other_shards",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         const Array w = abstract_array("f32[4]");
         o::adam(0.1).update(w, o::adam(0.1).init(abstract_array("f32[4@x]")), w);
       }},
      {"gradient_of_one_device",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         const auto step = shard_map(
             [](Array w, Array g) { return o::sgd(0.1).update(g, o::sgd(0.1).init(w), w).updates; },
             {.in_specs = {P(), P("x")}, .out_specs = P("x")});
         step(abstract_array("f32[4]"), abstract_array("f32[8@x]"));
       }},
      {"sharded_spec",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         sharded(o::adam(0.1), P("x")).init(abstract_array("f32[3]"));
       }},
      {"sharded_specs_missing",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         sharded(o::adam(0.1), {P("x")}).init(Two());
       }},
      {"sharded_spec_in_a_tree",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         sharded(o::adam(0.1), {P("x"), P(None, "x")}).init(Layers());
       }},
      {"sharded_spec_over_auto_axes",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2, AxisMode::Auto}}));
         sharded(o::adam(0.1), P("x")).init(Layers());
       }},
      {"sharded_spec_by_name",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         sharded(o::adam(0.1), [](const std::string& name, const Array&) {
           return name == "layers.1.w" ? P("x") : P();
         }).init(Layers());
       }},
      {"sharded_spec_of_another_mesh",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2, AxisMode::Auto}}));
         sharded(o::adam(0.1), P("y")).init(Layers());
       }},
      {"sharded_spec_of_two_dims",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2, AxisMode::Auto}}));
         sharded(o::adam(0.1), P(None, "x")).init(Layers());
       }},
      {"sharded_without_a_mesh", [] { sharded(o::adam(0.1), P("x")).init(Layers()); }},
      {"sharded_gradient_on_another_mesh",
       [] {
         const auto model = [] {
           return Model{{{abstract_array("f32[4@x]")}}, abstract_array("f32[4]")};
         };
         const Model gradients = [&] {
           MeshScope scope(abstract_mesh({{"x", 4}}));
           return model();
         }();
         MeshScope scope(abstract_mesh({{"x", 2}}));
         const Optimiser zero = sharded(o::adam(0.1), P("x"));
         zero.update(gradients, zero.init(model()), model());
       }},
      {"norm_axes",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         global_norm(abstract_array("f32[4@x]"), {.axes = "x"});
       }},
  };
  return cases;
}

class Optimisers : public testing::TestWithParam<Case> {};

TEST_P(Optimisers, AreRefused) {
  ExpectRefused(std::string("optimisers_") + GetParam().name, GetParam().program);
  ExpectUsable();
}

const auto name_of = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Numbers, Optimisers, testing::ValuesIn(Numbers()), name_of);
INSTANTIATE_TEST_SUITE_P(Trees, Optimisers, testing::ValuesIn(Trees()), name_of);
INSTANTIATE_TEST_SUITE_P(Shards, Optimisers, testing::ValuesIn(Shards()), name_of);

}  // namespace
}  // namespace tessera::optimiser_errors_test
