// Messages name the array of a tree, the function that the user called and the user's line, and
// offer code that can be pasted.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <filesystem>

#include "cases.h"

namespace tessera::array_names_errors_test {
namespace {

struct Layer {
  Array w, b;
};
TESSERA_FIELDS(Layer, w, b);
struct Net {
  std::vector<Layer> layers;
  Array head;
};
TESSERA_FIELDS(Net, layers, head);

Net SomeNet(int layers) {
  Net net;
  for (int i = 0; i < layers; ++i) net.layers.push_back({ones({4, 4}), ones({4})});
  net.head = ones({4, 4});
  return net;
}
Net WithoutBias() {
  Net net = SomeNet(2);
  net.layers[1].b = Array();
  return net;
}
Array Loss(Net net, Array x) {
  for (const Layer& l : net.layers) x = matmul(x, l.w) + l.b;
  return sum(matmul(x, net.head));
}
std::pair<Array, Array> Both(Array a, Array b) { return {a, b}; }
Array Twice(Array x) { return x * 2; }
Array SomeInput() { return ones({2, 4}); }
Array Rows() { return reshard(arange(32.0).reshape({8, 4}), P("x", None)); }

// Without a mesh.
const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"grad_of_an_empty_field", [] { grad(Loss)(WithoutBias(), SomeInput()); }},
      {"vmap_of_an_empty_field",
       [] {
         vmap(Loss, {.in_dims = {None, 0}})(WithoutBias(), ones({3, 2, 4}));
       }},
      {"jit_of_an_empty_field", [] { jit(Loss)(WithoutBias(), SomeInput()); }},
      {"vjp_of_an_empty_field", [] { vjp(Loss, std::tuple(WithoutBias(), SomeInput())); }},
      {"scan_of_an_empty_field",
       [] { scan([](Net net, Array x) { return std::pair(net, x); }, WithoutBias(), ones({3})); }},
      {"cond_of_an_empty_field", [] { cond(Array(true), Loss, Loss, WithoutBias(), SomeInput()); }},
      {"scan_returns_an_empty_field",
       [] {
         scan([](Net, Array x) { return std::pair(WithoutBias(), x); }, SomeNet(2), ones({3}));
       }},
      {"save_an_empty_field", [] { save_safetensors("t.safetensors", WithoutBias()); }},
      {"reshard_an_empty_field", [] { reshard(WithoutBias(), P()); }},
      {"jit_returns_an_empty_field", [] { jit([](Array) { return WithoutBias(); })(ones({2})); }},
      {"jit_of_a_donated_field",
       [] {
         Net net = SomeNet(1);
         const auto f = jit(Loss, {.donate = {0}});
         f(net, SomeInput());
         Net other = SomeNet(3);
         other.layers[2].w = net.layers[0].w;
         f(other, SomeInput());
       }},
      {"jit_in_shardings_without_a_mesh", [] { jit(Twice, {.in_shardings = P("x")})(ones({8})); }},
      {"vmap_sharding_without_a_mesh", [] { vmap(Twice, {.sharding = "x"})(ones({8})); }},
      {"vmap_too_many_dims_for_a_field",
       [] {
         vmap([](Array a, Layer l) { return a + l.b; }, {.in_dims = {0, {0, 0, 0}}})(
             ones({3, 2}), Layer{ones({3, 2}), ones({3, 2})});
       }},
      {"vmap_no_dim_for_a_field",
       [] {
         vmap(Loss, {.in_dims = {{{{0, 0}, {0}}, 0}, None}})(SomeNet(2), SomeInput());
       }},
      {"vmap_no_dim_for_an_argument",
       [] {
         vmap([](Array a, Array b) { return a + b; }, {.in_dims = {0}})(ones({3}), ones({3}));
       }},
      {"program_of_an_unknown_op",
       [] {
         Program::Parse(
             "func @main(%0: f32[2]) -> f32[2] {\n  %1: f32[2] = sine %0\n  return %1\n}");
       }},
      {"program_of_an_unknown_value",
       [] {
         Program::Parse(
             "func @main(%0: f32[2]) -> f32[2] {\n  %1: f32[2] = sin %7\n  return %1\n}");
       }},
      {"dtypes_of_an_update",
       [] {
         dynamic_update_slice(zeros({4}), array({1, 2}), {Array(0)});
       }},
      {"dtypes_of_cases",
       [] {
         select_n(array({true, false}), {ones({2}), array({1, 2})});
       }},
      {"dtypes_of_strict_operands",
       [] {
         StrictTypes strict;
         ones({2}) + ones({2}, i32);
       }},
  };
  return cases;
}

// On the mesh {x: 2, y: 4}.
const std::vector<RefusedCase>& OnMesh() {
  static const std::vector<RefusedCase> cases = {
      {"jit_in_shardings_of_a_field",
       [] {
         Net net = reshard(SomeNet(2), P());
         net.layers[1].w = reshard(net.layers[1].w, P("x", None));
         jit(Loss, {.in_shardings = P()})(net, SomeInput());
       }},
      {"jit_out_shardings_of_one_of_two",
       [] {
         jit(Both, {.out_shardings = {P("x"), P("y")}})(ones({8}), ones({6}));
       }},
      {"jit_out_shardings_for_all",
       [] { jit(Both, {.out_shardings = P("y")})(ones({8}), ones({6})); }},
      {"jit_out_shardings_of_a_net",
       [] { jit([](Array) { return SomeNet(1); }, {.out_shardings = P("x", "y")})(ones({8})); }},
      {"shard_map_out_specs_of_a_field",
       [] {
         shard_map(
             [](Net net, Array x) {
               net.layers[1].b = net.layers[1].b * sum(x);
               return net;
             },
             {.in_specs = {P(), P("x", None)}, .out_specs = P()})(
             reshard(SomeNet(2), P()), reshard(SomeInput(), P("x", None)));
       }},
      {"shard_map_in_specs_of_one_of_two",
       [] {
         const Array x = reshard(ones({8}), P("x"));
         shard_map([](Array a, Array b) { return a + b; },
                   {.in_specs = {P("x")}, .out_specs = P("x")})(x, x);
       }},
      {"reshard_no_spec_for_a_field",
       [] {
         reshard(SomeNet(2), {{{P(), P()}, {P("x", None)}}, P()});
       }},
      {"array_that_does_not_divide",
       [] {
         array({1, 2, 3}, {.out_sharding = P("x")});
       }},
      {"load_npy_that_does_not_divide",
       [] {
         save_npy("rows.npy", ones({385, 2}));
         load_npy("rows.npy", {.out_sharding = P("x", None)});
       }},
      {"auto_axes_unknown_axis_of_a_result",
       [] {
         auto_axes(Both, {.out_sharding = {P("x"), P("q")}})(ones({8}), ones({6}));
       }},
      {"auto_axes_result_does_not_divide",
       [] {
         auto_axes(Both, {.out_sharding = {P("x"), P("y")}})(ones({8}), ones({6}));
       }},
      {"policy_at_its_own_line",
       [] {
         const Array x = reshard(ones({8}), P("x"));
         CommPolicy policy({.rule = CommRule::kForbid, .axes = "z"});

         jit([](Array a) { return sum(a); })(x);
       }},
      {"row_of_a_sharded_array",
       [] {
         const Array x = Rows();
         x[{0}];
       }},
      {"rows_of_a_sharded_array",
       [] {
         const Array x = Rows();
         x[{Slice(0, 3)}];
       }},
      {"row_by_at_of_a_sharded_array",
       [] {
         const Array x = Rows();
         x.at({0}).get();
       }},
  };
  return cases;
}

class ArrayNames : public testing::TestWithParam<RefusedCase> {};
TEST_P(ArrayNames, AreInMessages) {
  const RefusedCase& c = GetParam();
  ExpectRefused(std::string("names_") + c.name, c.program);
  ExpectUsable();
}
INSTANTIATE_CASES(ArrayNames, Cases());

// Eight devices, for as long as a test runs.
struct Devices {
  Devices() { SetDeviceCount(8); }
  ~Devices() { SetDeviceCount(1); }
};

class ArrayNamesOnMesh : public testing::TestWithParam<RefusedCase> {};
TEST_P(ArrayNamesOnMesh, AreInMessages) {
  const Devices devices;
  const RefusedCase& c = GetParam();
  {
    MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
    ExpectRefused(std::string("names_") + c.name, c.program);
  }
  std::filesystem::remove("rows.npy");
  ExpectUsable();
}
INSTANTIATE_CASES(ArrayNamesOnMesh, OnMesh());

TEST(JitFix, ChangesOneSpecOnly) {
  const Devices devices;
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  // The fix of names_jit_out_shardings_of_one_of_two and the one of
  // names_jit_out_shardings_for_all.
  const auto [a, b] =
      jit(Both, {.out_shardings = {P("x"), P(SubAxis("y", 1, 2))}})(ones({8}), ones({6}));
  EXPECT_EQ(type_of(a).text(), "f32[8@x]");
  EXPECT_EQ(type_of(b).text(), "f32[6@y:(1)2]");
  const auto [c, d] =
      jit(Both, {.out_shardings = {P("y"), P(SubAxis("y", 1, 2))}})(ones({8}), ones({6}));
  EXPECT_EQ(type_of(c).text(), "f32[8@y]");
  EXPECT_EQ(type_of(d).text(), "f32[6@y:(1)2]");
}

}  // namespace
}  // namespace tessera::array_names_errors_test
