// Wrong input of every kind: one clear error each, and a library that is usable afterwards.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "cases.h"

namespace tessera::bad_input_test {
namespace {

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"mesh_repeated_axis",
       [] {
         abstract_mesh({{"x", 2}, {"x", 4}});
       }},
      {"mesh_empty_name",
       [] {
         abstract_mesh({{"", 2}});
       }},
      {"mesh_size_zero",
       [] {
         abstract_mesh({{"x", 0}});
       }},
      {"mesh_too_large",
       [] {
         abstract_mesh({{"x", int64_t{1} << 40}, {"y", 1024}});
       }},
      {"mesh_needs_more_devices",
       [] {
         SetDeviceCount(1);
         make_mesh({{"x", 1000}});
       }},
      {"matmul_bools_unreduced",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         Array a = abstract_array("bool[4,8@x]"), b = abstract_array("bool[8@x,4]");
         matmul(a, b, {.out_sharding = P().unreduced("x")});
       }},
      {"dot_narrower_integers",
       [] {
         matmul(ones({2, 2}, i32), ones({2, 2}, i32), {.dtype = i8});
       }},
      {"take_of_nothing",
       [] {
         take(zeros({2, 0}), arange(3), 1);
       }},
      {"matmul_narrower_unreduced",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         Array a = abstract_array("f32[4,8@x]"), b = abstract_array("f32[8@x,4]");
         matmul(a, b, {.dtype = i32, .out_sharding = P().unreduced("x")});
       }},
      {"mesh_device_ids_repeat",
       [] {
         abstract_mesh({{"x", 2}}, {.device_ids = {0, 0}});
       }},
      {"mesh_device_ids_count",
       [] {
         abstract_mesh({{"x", 2}}, {.device_ids = {0}});
       }},
      {"mesh_unknown_axis",
       [] {
         abstract_mesh({{"x", 2}}).axis_size("y");
       }},
      {"balance_zero", [] { MachineBalance balance(0); }},
      {"balance_nan", [] { MachineBalance balance(NAN); }},
      {"devices_zero", [] { SetDeviceCount(0); }},
      {"devices_too_many", [] { SetDeviceCount(std::numeric_limits<int>::max()); }},
      {"devices_in_scope",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         SetDeviceCount(3);
       }},
      {"devices_in_use",
       [] {
         Array kept;
         {
           MeshScope scope(make_mesh({{"x", 1}}));
           kept = ones({2});
         }
         SetDeviceCount(3);
       }},
      {"empty_array",
       [] {
         Array x;
         x + 1;
       }},
      {"add_shapes",
       [] {
         ones({2, 3}) + ones({4, 3});
       }},
      {"strict_dtypes",
       [] {
         StrictTypes strict;
         add(ones({2}), zeros({2}, i32));
       }},
      {"strict_ranks",
       [] {
         StrictTypes strict;
         add(ones({2, 2}), ones({2}));
       }},
      {"literal_too_large", [] { zeros({2}, i8) + 300; }},
      {"arange_too_large", [] { arange(130, {.dtype = i8}); }},
      {"arange_floats_too_large", [] { arange(0.5, 300, {.dtype = u8}); }},
      {"arange_below_zero", [] { arange(5, -5, -2, {.dtype = u8}); }},
      {"policy_unknown_axis",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         CommPolicy policy({.rule = CommRule::kForbid, .axes = "data"});
         jit([](Array x) { return reshard(x, P()); }).lower(abstract_array("f32[8@x]"));
       }},
      {"literal_negative", [] { zeros({2}, u8) + (-1); }},
      {"exp_of_strict_int",
       [] {
         StrictTypes strict;
         exp(zeros({2}, i32));
       }},
      {"add_of_strict_bool",
       [] {
         StrictTypes strict;
         add(zeros({2}, bool_), zeros({2}, bool_));
       }},
      {"not_of_float", [] { bitwise_not(ones({2})); }},
      {"shift_of_float", [] { ones({2}) << 1; }},
      {"reshape_count", [] { reshape(ones({4}), {3}); }},
      {"reshape_two_open",
       [] {
         reshape(ones({4}), {-1, -1});
       }},
      {"reshape_overflow",
       [] {
         reshape(ones({4}), {int64_t{1} << 40, int64_t{1} << 40});
       }},
      {"zeros_overflow",
       [] {
         zeros({int64_t{1} << 40, int64_t{1} << 40});
       }},
      {"zeros_negative_of_none",
       [] {
         zeros({0, -3});
       }},
      {"load_npy_missing", [] { load_npy("no_such_file.npy"); }},
      {"load_npy_directory", [] { load_npy("/"); }},
      {"save_npy_directory", [] { save_npy("/", ones({2})); }},
      {"program_missing", [] { Program::Load("no_such_program.txt"); }},
      {"program_directory", [] { Program::Load("/"); }},
      {"zeros_negative",
       [] {
         zeros({2, -3});
       }},
      {"zeros_memory", [] { zeros({int64_t{1} << 45}).to_vector<float>(); }},
      {"transpose_dims",
       [] {
         transpose(ones({2, 3}), {0, 0});
       }},
      {"transpose_count",
       [] {
         transpose(ones({2, 3}), {0});
       }},
      {"dim_out_of_range",
       [] {
         sum(ones({2, 3}), 2);
       }},
      {"dim_negative",
       [] {
         sum(ones({2, 3}), -3);
       }},
      {"squeeze_not_one",
       [] {
         squeeze(ones({2, 1}), 0);
       }},
      {"broadcast_smaller",
       [] {
         broadcast_to(ones({2, 3}), {3});
       }},
      {"broadcast_mismatch",
       [] {
         broadcast_to(ones({2, 3}), {4, 3});
       }},
      {"concatenate_none", [] { concatenate({}); }},
      {"concatenate_shapes",
       [] {
         concatenate({ones({2, 3}), ones({2, 4})}, 0);
       }},
      {"stack_shapes",
       [] {
         stack({ones({2}), ones({3})});
       }},
      {"split_parts", [] { split(ones({5}), 2); }},
      {"split_sizes",
       [] {
         split(ones({5}), std::vector<int64_t>{2, 2});
       }},
      {"slice_limits", [] { slice(ones({5}), {0}, {6}); }},
      {"slice_rank",
       [] {
         slice(ones({5}), {0, 0}, {1, 1});
       }},
      {"index_out_of_range", [] { ones({5})[5]; }},
      {"index_negative", [] { ones({5})[-6]; }},
      {"index_too_many",
       [] {
         ones({5})[{0, 0}];
       }},
      {"dynamic_slice_sizes", [] { dynamic_slice(ones({5}), {Array(0)}, {6}); }},
      {"dynamic_slice_float", [] { dynamic_slice(ones({5}), {Array(0.5)}, {2}); }},
      {"pad_rank",
       [] {
         pad(ones({2, 2}), {{1, 1}});
       }},
      {"pad_too_negative",
       [] {
         pad(ones({2}), {{-2, -1}});
       }},
      {"max_of_nothing",
       [] {
         max(zeros({0, 3}), 0);
       }},
      {"argmax_of_nothing", [] { argmax(zeros({0}), 0); }},
      {"tril_of_vector", [] { tril(ones({3})); }},
      {"diagonal_dim_twice",
       [] {
         diagonal(ones({3, 3}), {.dim1 = 1, .dim2 = -1});
       }},
      {"diagonal_sharded",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         diagonal(abstract_array("f32[8@x,8]"));
       }},
      {"diag_rank",
       [] {
         diag(ones({2, 2, 2}));
       }},
      {"moveaxis_count",
       [] {
         moveaxis(ones({2, 3}), {0, 1}, 0);
       }},
      {"vdot_sizes",
       [] {
         vdot(ones({2, 3}), ones({5}));
       }},
      {"meshgrid_indexing",
       [] {
         meshgrid({ones({2}), ones({3})}, {.indexing = "yx"});
       }},
      {"meshgrid_rank",
       [] {
         meshgrid({ones({2}), ones({3, 1})});
       }},
      {"diff_negative", [] { diff(ones({3}), 0, {.n = -1}); }},
      {"average_weights",
       [] {
         average(ones({2, 3}), 0, {.weights = ones({3})});
       }},
      {"norm_order",
       [] {
         norm(ones({2, 3}), All, {.ord = 3});
       }},
      {"norm_rank",
       [] {
         norm(ones({2, 3, 4}), All, {.ord = 1});
       }},
      {"norm_smallest_of_nothing",
       [] { norm(ones({0}), 0, {.ord = -std::numeric_limits<double>::infinity()}); }},
      {"nan_to_num_too_large", [] { nan_to_num(ones({2}, f16), {.nan = 1e6}); }},
      {"pow_of_bool_negative", [] { pow(ones({2}, bool_), -1); }},
      {"eye_of_negative_size", [] { eye(-1); }},
      {"linspace_of_negative_size", [] { linspace(0, 1, -1); }},
      {"one_hot_of_negative_size", [] { one_hot(iota({3}, 0), -2); }},
      {"silu_of_bool", [] { silu(ones({2}, bool_)); }},
      {"ptp_of_bool", [] { ptp(ones({2}, bool_)); }},
      {"shift_of_strict_bool",
       [] {
         StrictTypes strict;
         shift_left(ones({2}, bool_), ones({2}, bool_));
       }},
      {"matmul_sizes",
       [] {
         matmul(ones({2, 3}), ones({4, 2}));
       }},
      {"matmul_scalar",
       [] {
         matmul(ones({2, 3}), 2.0);
       }},
      {"dot_batch",
       [] {
         dot_general(ones({2, 3}), ones({4, 3}), {{1}, {1}, {0}, {0}});
       }},
      {"einsum_letters",
       [] {
         einsum("ij,jk->ik", {ones({2, 3}), ones({3})});
       }},
      {"einsum_sizes",
       [] {
         einsum("ij,jk->ik", {ones({2, 3}), ones({4, 2})});
       }},
      {"einsum_result",
       [] {
         einsum("ij->k", {ones({2, 3})});
       }},
      {"einsum_count",
       [] {
         einsum("ij,jk", {ones({2, 3})});
       }},
      {"take_float_index", [] { take(ones({5}), ones({2}), 0); }},
      {"top_k_too_many", [] { top_k(ones({5}), 6); }},
      {"tridiagonal_integers",
       [] {
         Array d = ones({3}, i32);
         tridiagonal_solve(d, d, d, ones({3, 1}, i32));
       }},
      {"tridiagonal_dtypes",
       [] {
         Array d = ones({3});
         tridiagonal_solve(d, d, d, ones({3, 1}, f64));
       }},
      {"tridiagonal_scalar", [] { tridiagonal_solve(ones({}), ones({}), ones({}), ones({1})); }},
      {"tridiagonal_diagonals",
       [] {
         tridiagonal_solve(ones({2}), ones({3}), ones({3}), ones({3, 1}));
       }},
      {"tridiagonal_right_side",
       [] {
         tridiagonal_solve(ones({2, 3}), ones({2, 3}), ones({2, 3}), ones({2, 3}));
       }},
      {"sort_shapes",
       [] {
         sort({ones({5}), ones({4})});
       }},
      {"item_of_many", [] { ones({5}).item<float>(); }},
      {"item_narrows", [] { ones({}).item<int>(); }},
      {"spec_without_mesh", [] { zeros({4}, {.out_sharding = P("x")}); }},
      {"spec_unknown_axis",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         zeros({4}, {.out_sharding = P("y")});
       }},
      {"spec_axis_twice",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         zeros({4, 4}, {.out_sharding = P("x", "x")});
       }},
      {"spec_too_long",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         zeros({4}, {.out_sharding = P(None, "x")});
       }},
      {"spec_uneven",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         zeros({3}, {.out_sharding = P("x")});
       }},
      {"reshard_auto_axis",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2, Auto}}));
         reshard(ones({4}), P("x"));
       }},
      {"spec_auto_axis",
       [] {
         MeshScope s(abstract_mesh({{"x", 2, Auto}}));
         zeros({4}, {.out_sharding = P("x")});
       }},
      {"reshard_uneven",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         reshard(ones({3}), P("x"));
       }},
      {"reshard_no_mesh", [] { reshard(ones({4}), P()); }},
      {"constraint_fails",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         with_sharding_constraint(ones({4}), P("x"));
       }},
      {"meshes_differ",
       [] {
         Array a = [] {
           MeshScope s(abstract_mesh({{"x", 2}}));
           return abstract_array("f32[4@x]");
         }();
         MeshScope s(abstract_mesh({{"y", 2}}));
         a + abstract_array("f32[4@y]");
       }},
      {"type_text", [] { abstract_array("f32[4,"); }},
      {"type_dtype", [] { abstract_array("f33[4]"); }},
      {"type_axis", [] { abstract_array("f32[4@x]"); }},
      {"type_uneven",
       [] {
         MeshScope s(abstract_mesh({{"x", 2}}));
         abstract_array("f32[3@x]");
       }},
      {"sharding_text",
       [] {
         Sharding::Parse(R"(<@mesh, [{"x"}, {"x"}]>)", abstract_mesh({{"x", 2}}));
       }},
      {"program_text",
       [] {
         Program::Parse(
             "func @main(%0: f32[4]) -> f32[4] {\n  %1: f32[4] = nonsense %0\n  return %1\n}");
       }},
      {"program_type",
       [] {
         Program::Parse(
             "func @main(%0: f32[4]) -> f32[5] {\n  %1: f32[5] = exp %0\n  return %1\n}");
       }},
      {"program_undefined",
       [] {
         Program::Parse(
             "func @main(%0: f32[4]) -> f32[4] {\n  %1: f32[4] = exp %7\n  return %1\n}");
       }},
      {"abstract_value", [] { abstract_array("f32[4]").to_vector<float>(); }},
  };
  return cases;
}

class BadInput : public testing::TestWithParam<RefusedCase> {};

TEST_P(BadInput, IsOneClearError) {
  const RefusedCase& c = GetParam();
  ExpectRefused(std::string("input_") + c.name, c.program);
  ExpectUsable();
}

INSTANTIATE_CASES(BadInput, Cases());

TEST(Tracing, ValuesOfTracersAreRefused) {
  auto f = jit([](Array x) { return x * x.item<float>(); });
  EXPECT_THROW(f(2.0), TraceError);
}

TEST(Tracing, EscapedTracersAreRefusedWithBothLines) {
  Array leaked;
  jit([&](Array x) {
    leaked = x;
    return x;
  })(ones({2}));
  try {
    leaked + 1;
    FAIL() << "accepted";
  } catch (const TraceError& e) {
    ExpectGolden("trace_escaped", e.what());
  }
}

TEST(Tracing, DonatedArraysAreGone) {
  auto f = jit([](Array x) { return x + 1; }, {.donate = {0}});
  Array x = ones({4});
  EXPECT_EQ(f(x).to_vector<float>(), std::vector<float>(4, 2));
  try {
    x + 1;
    FAIL() << "accepted";
  } catch (const TraceError& e) {
    ExpectGolden("trace_donated", e.what());
  }
  ExpectRefused("trace_donated_printed", [&] {
    std::ostringstream text;
    text << x;
  });
}

TEST(Tracing, ValuesOfTracedArraysAreNotKnown) {
  ExpectRefused("trace_item",
                [] { jit([](Array x) { return x.item<float>() > 0 ? x : -x; })(1.0); });
  ExpectRefused("trace_to_vector",
                [] { jit([](Array x) { return x * x.to_vector<float>()[0]; })(ones({2})); });
}

TEST(CheckedIndices, OutOfBounds) {
  const CheckedIndices scope;
  ExpectRefused("indices_of_take", [] { take(arange(5), array({1, 7}), 0); });
  ExpectRefused("indices_in_a_loop", [] {
    jit([](Array x) {
      return fori_loop(
          0, 8, [&](Array i, Array sum) { return sum + x[i]; }, Array(0));
    })(arange(5));
  });
  ExpectRefused("indices_of_a_slice", [] { dynamic_slice(arange(5), {3}, {4}); });
}

TEST(Axes, NamesMuchLikeOneOfTheMesh) {
  const MeshScope scope(abstract_mesh({{"data", 2}, {"model", 4}}));
  const Array x = abstract_array("f32[8,16]");
  ExpectRefused("axis_like_model", [&] { reshard(x, P("data", "modle")); });
  ExpectRefused("axis_in_capitals", [&] { reshard(x, P("Data")); });
  ExpectRefused("axis_cut_short", [&] {
    shard_map([](Array v) { return psum(v, "mod"); },
              {.in_specs = P("data"), .out_specs = P("data")})(abstract_array("f32[8@data,16]"));
  });
  ExpectRefused("axis_size_of_another", [] { current_mesh().axis_size("models"); });
}

TEST(SpecByName, NoRowMatches) {
  const MeshScope scope(abstract_mesh({{"x", 2}}));
  const std::map<std::string, Array> params = {{"layer.w", abstract_array("f32[8,16]")}};
  ExpectRefused("spec_by_name_without_a_row", [&] {
    reshard(params, spec_by_name({{"*.qkv", P("x")}, {"layer.b", P()}}));
  });
}

TEST(Tracing, DonatedCapturesAreGone) {
  Array x = ones({4});
  auto f = jit([&](Array y) { return x + y; });
  f(1.0);
  jit([](Array y) { return y + 1; }, {.donate = {0}})(x);
  ExpectRefused("trace_donated_capture", [&] { f(1.0); });
}

TEST(Tracing, DonateNamesArguments) {
  auto f = [](Array x, Array y) { return x + y; };
  Array x = ones({4});
  ExpectRefused("jit_donate_beyond", [&] { jit(f, {.donate = {3}})(x, x); });
  ExpectRefused("jit_donate_negative", [&] { jit(f, {.donate = {-1}}).trace(x, x); });
  ExpectRefused("jit_donate_twice", [&] { jit(f, {.donate = {1, 0, 1}}).lower(x, x); });
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(4, 1)) << "nothing was given away";
}

TEST(Tracing, MeshesOfMoreDevicesThanThereAreNow) {
  SetDeviceCount(8);
  const Mesh mesh = make_mesh({{"x", 8}});
  auto f = jit([=] {
    MeshScope scope(mesh);
    return sum(reshard(arange(8.0), P("x")));
  });
  f();
  SetDeviceCount(2);
  ExpectRefused("mesh_scope_of_more_devices", [&] { MeshScope scope(mesh); });
  ExpectRefused("mesh_of_more_devices_in_jit", [&] { f(); });
  EXPECT_THROW(reshard(ones({8}), Sharding(mesh, P("x"))), RuntimeError);
  SetDeviceCount(8);
  EXPECT_EQ(f().item<float>(), 28);
  SetDeviceCount(1);
}

// Loops in loops, each traced in the one around it.
Array Nested(int depth, Array x, int kind) {
  if (depth == 0) return x + 1;
  auto inner = [=](Array y) { return Nested(depth - 1, y, kind); };
  switch (kind) {
    case 0:
      return fori_loop(
          0, 2, [=](Array, Array y) { return inner(y); }, x);
    case 1:
      return cond(
          x > 0, inner, [](Array y) { return y; }, x);
    case 2:
      return while_loop([](Array y) { return y < 1; }, inner, x);
    case 3:
      return jit(inner)(x);
    default:
      return auto_axes(inner, {.out_sharding = P()})(x);
  }
}

TEST(Tracing, FunctionsNestToADepth) {
  const char* names[] = {"nested_fori", "nested_cond", "nested_while", "nested_jit", "nested_auto"};
  for (int kind = 0; kind < 5; ++kind) {
    auto at = [=](int depth) { return jit([=](Array x) { return Nested(depth, x, kind); }); };
    Array x = zeros({}) + 0.5;
    EXPECT_NO_THROW(at(8)(x)) << names[kind];
    ExpectRefused(names[kind], [&] { at(2000)(x); });
    // Every traced program can be lowered, printed and read back.
    const Program deepest = at(63).trace(x);
    EXPECT_EQ(Program::Parse(deepest.text()).outputs()[0].text(), "f32[]");
    lower(deepest);
  }
}

TEST(Tracing, WhatTheUsersCodeThrowsPassesThrough) {
  auto f = jit([](Array x) -> Array {
    if (x.rank() == 0) throw std::out_of_range("mine");
    return x;
  });
  EXPECT_THROW(f(2.0), std::out_of_range);
  EXPECT_EQ(f(ones({2})).size(), 2);
}

}  // namespace
}  // namespace tessera::bad_input_test
