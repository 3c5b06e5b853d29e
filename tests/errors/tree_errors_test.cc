// Trees that differ, where two of them meet, and arrays on another mesh in a call's arguments: one
// clear error each.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>

#include "cases.h"

namespace tessera::tree_errors_test {
namespace {

struct Weights {
  Array w, b;
};
TESSERA_FIELDS(Weights, w, b);
struct Moments {
  Array u, v;
};
TESSERA_FIELDS(Moments, u, v);
struct Head {
  Array w;
  int heads = 4;
  std::optional<Array> bias;
};
TESSERA_FIELDS(Head, w, heads, bias);
struct Model {
  std::vector<Weights> layers;
};
TESSERA_FIELDS(Model, layers);
struct State {
  Model params;
  Array step;
};
TESSERA_FIELDS(State, params, step);

Weights SomeWeights() { return {ones({2}), ones({2})}; }
Moments SomeMoments() { return {ones({2}), ones({2})}; }
Array Update(Array p, Array g) { return p + 10 * g; }
using Arrays = std::vector<Array>;
using ByName = std::map<std::string, Array>;

Array Total(Weights p) { return sum(p.w) + sum(p.b); }
Array TotalOf(Arrays xs) { return sum(xs.at(0)); }
Array TotalOf2(ByName xs) { return sum(xs.begin()->second); }

// A model on the mesh `made` and a call with the other mesh in scope.
void CallOn(const std::function<void(State)>& f) {
  SetDeviceCount(2);
  State state;
  {
    MeshScope scope(make_mesh({{"x", 2, Auto}}));
    state = {{{SomeWeights()}}, Array(0)};
  }
  MeshScope scope(make_mesh({{"x", 2}}));
  state.step = Array(0);
  state.params.layers[0].b = ones({2});
  f(state);
}

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"map_of_other_fields", [] { tree_map(Update, SomeWeights(), SomeMoments()); }},
      {"map_of_a_longer_vector",
       [] {
         tree_map(Update, Arrays{1.0, 2.0}, Arrays{1.0, 2.0, 3.0});
       }},
      {"map_of_a_shorter_vector",
       [] {
         tree_map(Update, Arrays{1.0, 2.0}, Arrays{1.0});
       }},
      {"map_of_other_keys",
       [] {
         tree_map(Update, ByName{{"a", 1.0}, {"b", 2.0}}, ByName{{"a", 1.0}, {"c", 2.0}});
       }},
      {"map_of_an_array_alone", [] { tree_map(Update, SomeWeights(), Array(1.0)); }},
      {"map_of_no_bias",
       [] {
         tree_map_with_path([](std::string, Array a, Array b) { return a + b; },
                            Head{1.0, 4, Array(1.0)}, Head{1.0, 4, {}});
       }},
      {"unflatten_of_too_few", [] { tree_unflatten(SomeWeights(), {ones({2})}); }},
      {"jvp_of_other_keys",
       [] {
         jvp(TotalOf2, ByName{{"a", 1.0}}, ByName{{"b", 1.0}});
       }},
      {"jvp_of_a_longer_vector",
       [] {
         jvp(TotalOf, Arrays{1.0}, Arrays{1.0, 2.0});
       }},
      {"pullback_of_other_keys",
       [] {
         auto [out, pullback] = vjp([](Array x) { return ByName{{"a", x}}; }, 1.0);
         pullback(ByName{{"b", Array(1.0)}});
       }},
      {"linear_map_of_a_shorter_vector",
       [] {
         auto [out, push] = linearize(TotalOf, Arrays{1.0, 2.0});
         push(Arrays{1.0});
       }},
      {"linear_transpose_of_other_keys",
       [] {
         linear_transpose([](Array x) { return ByName{{"a", x}}; }, 1.0)({{"b", 1.0}});
       }},
      {"custom_jvp_of_other_keys",
       [] {
         const auto f = [](Array x) { return ByName{{"a", x}}; };
         const auto rule = [](auto x, auto t) {
           return std::pair(ByName{{"b", std::get<0>(x)}}, ByName{{"a", std::get<0>(t)}});
         };
         grad([&](Array x) { return custom_jvp(f, rule)(x).at("a"); })(1.0);
       }},
      {"custom_jvp_of_a_longer_tangent",
       [] {
         const auto f = [](Array x) { return Arrays{x}; };
         const auto rule = [](auto x, auto t) {
           return std::pair(Arrays{std::get<0>(x)}, Arrays{std::get<0>(t), std::get<0>(t)});
         };
         grad([&](Array x) { return custom_jvp(f, rule)(x).at(0); })(1.0);
       }},
      {"custom_vjp_of_other_fields",
       [] {
         const auto f = custom_vjp(
             Total, [](Weights p) { return std::pair(Total(p), None); },
             [](NoneType, Array) { return SomeMoments(); });
         grad(f)(SomeWeights());
       }},
      {"custom_vjp_forward_of_other_keys",
       [] {
         const auto f = custom_vjp(
             [](Array x) {
               return ByName{{"a", x}};
             },
             [](Array x) {
               return std::pair(ByName{{"b", x}}, None);
             },
             [](NoneType, ByName ct) { return ct.begin()->second; });
         grad([&](Array x) { return f(x).at("a"); })(1.0);
       }},
      {"scan_of_other_fields",
       [] {
         scan(
             [](Weights p, NoneType) {
               return std::pair(Moments{p.w, p.b}, None);
             },
             SomeWeights(), None, {.length = 2});
       }},
      {"scan_of_another_number",
       [] {
         scan(
             [](Head h, NoneType) {
               return std::pair(Head{h.w, 8, {}}, None);
             },
             Head{ones({2}), 4, {}}, None, {.length = 2});
       }},
      {"scan_of_other_ys",
       [] {
         scan(
             [ys = Arrays()](Array c, NoneType) mutable {
               ys.push_back(c);
               return std::pair(c, ys);
             },
             1.0, None, {.length = 4, .unroll = 2});
       }},
      {"fori_of_a_longer_vector",
       [] {
         fori_loop(
             0, 3,
             [](Array i, Arrays s) {
               return Arrays{s[0], i};
             },
             Arrays{1.0});
       }},
      {"cond_of_other_keys",
       [] {
         cond(
             Array(true),
             [](Array x) {
               return ByName{{"a", x}};
             },
             [](Array x) {
               return ByName{{"b", x}};
             },
             1.0);
       }},
      {"cond_of_no_bias",
       [] {
         cond(
             Array(true),
             [](Array x) {
               return Head{x, 4, x};
             },
             [](Array x) {
               return Head{x, 4, {}};
             },
             1.0);
       }},
      {"mesh_of_an_argument",
       [] { CallOn([](State s) { jit([](State t) { return Total(t.params.layers[0]); })(s); }); }},
      {"mesh_of_a_number",
       [] { CallOn([](State s) { jit([](Array x) { return x; })(s.params.layers[0].w); }); }},
      {"mesh_in_grad",
       [] {
         CallOn([](State s) {
           grad<1>([](Array x, Model m) { return x * Total(m.layers[0]); })(1.0, s.params);
         });
       }},
      {"mesh_in_vmap", [] { CallOn([](State s) { vmap(Total)(s.params.layers[0]); }); }},
      {"mesh_in_jvp",
       [] {
         CallOn([](State s) { jvp(Total, Weights{ones({2}), ones({2})}, s.params.layers[0]); });
       }},
      {"mesh_in_a_pullback",
       [] {
         CallOn([](State s) {
           auto [out, pullback] = vjp([](Array x) { return Weights{x, 2 * x}; }, ones({2}));
           pullback(s.params.layers[0]);
         });
       }},
      {"mesh_in_a_carry",
       [] {
         CallOn([](State s) {
           fori_loop(
               0, 3, [](Array, State t) { return t; }, s);
         });
       }},
      {"mesh_in_eval_shape",
       [] { CallOn([](State s) { eval_shape(Total, s.params.layers[0]); }); }},
      {"mesh_in_shard_map",
       [] { CallOn([](State s) { shard_map(Total, {.out_specs = P()})(s.params.layers[0]); }); }},
      {"mesh_in_auto_axes",
       [] {
         CallOn([](State s) { auto_axes(Total, {.out_sharding = P()})(s.params.layers[0]); });
       }},
      {"constraint_of_other_modes",
       [] {
         SetDeviceCount(2);
         Array x;
         {
           MeshScope scope(make_mesh({{"x", 2}}));
           x = ones({4});
         }
         MeshScope scope(make_mesh({{"x", 2, Auto}}));
         with_sharding_constraint(x, P("x"));
       }},
      {"reshard_of_a_tree",
       [] {
         SetDeviceCount(2);
         MeshScope scope(make_mesh({{"x", 2}}));
         reshard(Weights{ones({4}), ones({3})}, P("x"));
       }},
  };
  return cases;
}

class TreeErrors : public testing::TestWithParam<RefusedCase> {};

TEST_P(TreeErrors, AreClear) {
  const RefusedCase& c = GetParam();
  ExpectRefused(std::string("tree_") + c.name, c.program);
  ExpectUsable();
}

INSTANTIATE_CASES(TreeErrors, Cases());

}  // namespace
}  // namespace tessera::tree_errors_test
