// Wrong input to modes, constraints, pinned shardings and custom ops.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "cases.h"

namespace tessera::modes_errors_test {
namespace {

Mesh Mixed() { return abstract_mesh({{"x", 2}, {"y", 4, Auto}}); }
Mesh AllExplicit() { return abstract_mesh({{"x", 2}, {"y", 4}}); }
Array Same(Array x) { return x; }

void Copy(const KernelCall& call) {
  auto x = call.in[0].data<float>(), out = call.out[0].data<float>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = x[i];
}
void AddFirst(const KernelCall& call) {
  auto x = call.in[0].data<float>(), out = call.out[0].data<float>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = x[i] + x[0];
}
void Doubles(const KernelCall& call) { call.in[0].data<double>(); }

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"auto_axes_no_out_sharding",
       [] {
         MeshScope s(AllExplicit());
         auto_axes(Same, {})(abstract_array("f32[8@x]"));
       }},
      {"auto_axes_unknown_axis",
       [] {
         MeshScope s(AllExplicit());
         auto_axes(Same, {.axes = "z", .out_sharding = P()})(abstract_array("f32[8@x]"));
       }},
      {"auto_axes_too_few_specs",
       [] {
         MeshScope s(AllExplicit());
         auto f = [](Array x) { return std::pair(x, x); };
         auto_axes(f, {.out_sharding = {P("x")}})(abstract_array("f32[8@x]"));
       }},
      {"auto_axes_names_auto_axis",
       [] {
         MeshScope s(AllExplicit());
         auto f = [](Array x) { return reshard(x, P("x")); };
         auto_axes(f, {.out_sharding = P()})(abstract_array("f32[8@x]"));
       }},
      {"jit_in_shardings_left_over",
       [] {
         MeshScope s(AllExplicit());
         auto f = [](Array a, Array b) { return a + b; };
         Array x = abstract_array("f32[8@x]");
         jit(f, {.in_shardings = {P("x"), P("x"), P("x")}})(x, x);
       }},
      {"jit_in_shardings_left_over_inside",
       [] {
         MeshScope s(AllExplicit());
         auto f = [](std::pair<Array, Array> ab, double) { return ab.first + ab.second; };
         Array x = abstract_array("f32[8@x]");
         jit(f, {.in_shardings = {{P("x"), P("x"), P("x")}, P()}})({x, x}, 1.0);
       }},
      {"jit_out_shardings_left_over",
       [] {
         MeshScope s(AllExplicit());
         auto f = [](Array a) { return std::pair(a, a); };
         jit(f, {.out_shardings = {P("x"), P(), P()}})(abstract_array("f32[8@x]"));
       }},
      {"jit_out_shardings_for_one_array",
       [] {
         MeshScope s(AllExplicit());
         jit(Same, {.out_shardings = {P("x"), P()}})(abstract_array("f32[8@x]"));
       }},
      {"auto_axes_specs_left_over",
       [] {
         MeshScope s(AllExplicit());
         auto f = [](Array x) { return std::pair(x, x); };
         auto_axes(f, {.out_sharding = {P("x"), P(), P()}})(abstract_array("f32[8@x]"));
       }},
      {"explicit_axes_specs_left_over",
       [] {
         MeshScope s(Mixed());
         auto f = [](Array a, Array b) { return a + b; };
         Array x = abstract_array("f32[8@x]");
         explicit_axes(f, {.in_sharding = {P("x"), P("x"), P("x")}})(x, x);
       }},
      {"explicit_axes_no_in_sharding",
       [] {
         MeshScope s(Mixed());
         explicit_axes(Same, {})(abstract_array("f32[8@x]"));
       }},
      {"explicit_axes_no_mesh", [] { explicit_axes(Same, {.in_sharding = P("x")})(ones({8})); }},
      {"constraint_explicit_axis",
       [] {
         MeshScope s(Mixed());
         with_sharding_constraint(abstract_array("f32[8]"), P("x"));
       }},
      {"constraint_too_long",
       [] {
         MeshScope s(Mixed());
         with_sharding_constraint(abstract_array("f32[8]"), P(None, "y"));
       }},
      {"constraint_too_long_of_explicit",
       [] {
         MeshScope s(AllExplicit());
         with_sharding_constraint(abstract_array("f32[8@x]"), P("x", None));
       }},
      {"shard_alike_shapes",
       [] {
         MeshScope s(Mixed());
         shard_alike(abstract_array("f32[8]"), abstract_array("f32[8,4]"));
       }},
      {"shard_alike_shardings",
       [] {
         MeshScope s(AllExplicit());
         shard_alike(abstract_array("f32[8@x]"), abstract_array("f32[8@y]"));
       }},
      {"jit_out_too_long",
       [] {
         MeshScope s(AllExplicit());
         jit(Same, {.out_shardings = P("x", None)})(abstract_array("f32[8@x]"));
       }},
      {"jit_out_unknown_axis",
       [] {
         MeshScope s(AllExplicit());
         jit([](Array x) { return matmul(x, x); },
             {.out_shardings = P("w")})(abstract_array("f32[8@x,3]"));
       }},
      {"zeros_auto_axis_of_size_one",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}, {"y", 1, Auto}}));
         zeros({8}, {.out_sharding = P("y")});
       }},
      {"constraint_axis_twice",
       [] {
         MeshScope s(Mixed());
         with_sharding_constraint(abstract_array("f32[8,8]"), P("y", "y"));
       }},
      {"constraint_reduced",
       [] {
         MeshScope s(Mixed());
         with_sharding_constraint(abstract_array("f32[8]"), P().reduced("y"));
       }},
      {"constraint_unreduced",
       [] {
         MeshScope s(Mixed());
         with_sharding_constraint(abstract_array("f32[8]"), P().unreduced("y"));
       }},
      {"jit_out_unreduced",
       [] {
         MeshScope s(Mixed());
         jit(Same, {.out_shardings = P().unreduced("y")})(abstract_array("f32[8@x]"));
       }},
      {"jit_out_uneven",
       [] {
         MeshScope s(Mixed());
         jit(Same, {.out_shardings = P(None, "y")})(abstract_array("f32[8@x,7]"));
       }},
      {"jit_out_uneven_part",
       [] {
         MeshScope s(abstract_mesh({{"x", 8, Auto}}));
         jit(Same, {.out_shardings = P(SubAxis("x", 1, 4))})(abstract_array("f32[6]"));
       }},
      {"jit_out_part_of_open_dim",
       [] {
         MeshScope s(Mixed());
         jit(Same,
             {.out_shardings = P("x", Open(SubAxis("y", 1, 2)))})(abstract_array("f32[8@x,8]"));
       }},
      {"jit_in_uneven",
       [] {
         MeshScope s(Mixed());
         jit(Same, {.in_shardings = P("y")})(abstract_array("f32[6]"));
       }},
      {"reshape_heads",
       [] {
         MeshScope s(abstract_mesh({{"model", 8}}));
         reshape(abstract_array("f32[384@model,384]"), {12, 32, 384});
       }},
      {"reshape_two_axes",
       [] {
         MeshScope s(AllExplicit());
         reshape(abstract_array("f32[96@(x,y)]"), {6, 16});
       }},
      {"reshard_heads",
       [] {
         MeshScope s(abstract_mesh({{"model", 8}}));
         reshard(abstract_array("f32[12,8@model]"), P("model"));
       }},
      {"ones_heads",
       [] {
         MeshScope s(abstract_mesh({{"model", 8}}));
         ones({12, 8}, {.out_sharding = P("model")});
       }},
      {"parts_overlap",
       [] {
         MeshScope s(AllExplicit());
         abstract_array("f32[8@y:(1)2,4]") + abstract_array("f32[4@y]");
       }},
      {"parts_of_no_grid",
       [] {
         MeshScope s(abstract_mesh({{"x", 6}}));
         reshard(abstract_array("f32[6,6]"), P(SubAxis("x", 1, 2), SubAxis("x", 3, 2)));
       }},
      {"jit_in_shardings_differ",
       [] {
         MeshScope s(AllExplicit());
         jit(Same, {.in_shardings = P("y")})(abstract_array("f32[8@x]"));
       }},
      {"jit_out_shardings_too_few",
       [] {
         MeshScope s(AllExplicit());
         auto f = [](Array x) { return std::pair(x, x); };
         jit(f, {.out_shardings = {P("x")}})(abstract_array("f32[8@x]"));
       }},
      {"pins_of_no_dump", [] { PinShardings pins("no dump"); }},
      {"pins_of_another_program",
       [] {
         MeshScope s(Mixed());
         PinShardings pins("%0 argument f32[4] : <@mesh, [{}]>\n");
         jit([](Array x) { return tanh(x) + x; }).lower(abstract_array("f32[8@x]"));
       }},
      {"explain_unknown_value",
       [] {
         MeshScope s(Mixed());
         explain([](Array x) { return x + 1; }, abstract_array("f32[8@x]"), "h");
       }},
      {"explain_misspelled_value",
       [] {
         MeshScope s(Mixed());
         explain([](Array x) { return named(named(x, "rows") + 1, "hidden"); },
                 abstract_array("f32[8@x]"), "hiden");
       }},
      {"register_op_name",
       [] { register_op({.name = "two words", .rule = "b -> b", .kernel = Copy}); }},
      {"register_op_taken", [] { register_op({.name = "add", .rule = "b -> b", .kernel = Copy}); }},
      {"register_op_no_kernel", [] { register_op({.name = "mine", .rule = "b -> b"}); }},
      {"register_op_no_samples",
       [] { register_op({.name = "mine", .rule = "b -> b", .kernel = Copy, .samples = {}}); }},
      {"register_op_rule_text",
       [] { register_op({.name = "mine", .rule = "b => b", .kernel = Copy}); }},
      {"register_op_unknown_factor",
       [] { register_op({.name = "mine", .rule = "b -> k", .kernel = Copy}); }},
      {"register_op_wrong_rule",
       [] { register_op({.name = "mine", .rule = "b -> b", .kernel = AddFirst}); }},
      {"register_op_in_a_trace",
       [] {
         jit([](Array x) {
           register_op({.name = "mine", .rule = "b -> b", .kernel = Copy});
           return x;
         })(ones({2}));
       }},
      {"kernel_dtype", [] { register_op({.name = "mine", .rule = "b -> b", .kernel = Doubles}); }},
  };
  return cases;
}

class ModesInput : public testing::TestWithParam<RefusedCase> {};
TEST_P(ModesInput, IsOneClearError) {
  const RefusedCase& c = GetParam();
  ExpectRefused(std::string("modes_") + c.name, c.program);
  ExpectUsable();
}
INSTANTIATE_CASES(ModesInput, Cases());

}  // namespace
}  // namespace tessera::modes_errors_test
