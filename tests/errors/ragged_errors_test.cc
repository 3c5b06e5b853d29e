// Wrong shapes, dtypes and sizes of ragged products and exchanges, roundings and generators.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>

#include "cases.h"

namespace tessera::ragged_errors_test {
namespace {

void OnMesh(const std::function<void()>& f) {
  MeshScope scope(abstract_mesh({{"x", 2}, {"y", 4}}));
  f();
}

Array Typed(const char* text) { return abstract_array(text); }
Array Sizes(int64_t n) { return ones({n}, i32); }

// An exchange of 4 rows of 2 between two devices along x, with these lists on each.
void Exchange(std::vector<int> offsets, std::vector<int> sends, std::vector<int> targets,
              std::vector<int> receives, int64_t rows = 4) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  const auto own = [](const std::vector<int>& v) { return array(v).reshape({2, 2}); };
  const auto f = [&](Array x, Array list) {
    const auto at = [&](int k) { return list[0][k]; };
    return ragged_all_to_all(x, zeros({rows, 2}), at(0), at(1), at(2), at(3), "x");
  };
  const Array lists = stack({own(offsets), own(sends), own(targets), own(receives)}, 1);
  shard_map(f, {.out_specs = P("x")})(reshard(ones({8, 2}), P("x")), reshard(lists, P("x")));
}

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"dot_ranks",
       [] {
         ragged_dot(ones({2, 4, 3}), ones({2, 3, 5}), Sizes(2));
       }},
      {"dot_columns",
       [] {
         ragged_dot(ones({4, 3}), ones({2, 4, 5}), Sizes(2));
       }},
      {"dot_groups",
       [] {
         ragged_dot(ones({4, 3}), ones({2, 3, 5}), Sizes(3));
       }},
      {"dot_float_sizes",
       [] {
         ragged_dot(ones({4, 3}), ones({2, 3, 5}), ones({2}));
       }},
      {"dot_bools",
       [] {
         ragged_dot(ones({4, 3}, bool_), ones({2, 3, 5}, bool_), Sizes(2));
       }},
      {"dot_narrow_sum",
       [] {
         ragged_dot(ones({4, 3}), ones({2, 3, 5}), Sizes(2), {.dtype = i32});
       }},
      {"dot_general_sharded",
       [] {
         OnMesh([] {
           ragged_dot_general(Typed("f32[8@x,4@y]"), Typed("f32[2,4@y,8@x]"), Typed("i32[2]"),
                              {.dot = {.lhs_contract = {1}, .rhs_contract = {1}}, .rhs_group = 0},
                              {.dtype = f64});
         });
       }},
      {"dot_sharded_columns",
       [] {
         OnMesh([] { ragged_dot(Typed("f32[4,4@x]"), Typed("f32[2,4@x,5]"), Typed("i32[2]")); });
       }},
      {"dot_sharded_sizes",
       [] {
         OnMesh([] { ragged_dot(Typed("f32[4,4]"), Typed("f32[2,4,5]"), Typed("i32[2@x]")); });
       }},
      {"general_no_group",
       [] {
         ragged_dot_general(ones({4, 3}), ones({2, 3, 5}), Sizes(2),
                            {.dot = {.lhs_contract = {1}, .rhs_contract = {1}}});
       }},
      {"general_group_of_a_contraction",
       [] {
         ragged_dot_general(ones({4, 3}), ones({4, 5}), Sizes(2),
                            {.dot = {.lhs_contract = {0}, .rhs_contract = {0}}, .rhs_group = 1});
       }},
      {"general_group_is_contracted",
       [] {
         ragged_dot_general(ones({4, 3}), ones({2, 3, 5}), Sizes(2),
                            {.dot = {.lhs_contract = {1}, .rhs_contract = {1}}, .rhs_group = 1});
       }},
      {"general_contracted_sizes",
       [] {
         ragged_dot_general(ones({4, 3}), ones({2, 4, 5}), Sizes(2),
                            {.dot = {.lhs_contract = {1}, .rhs_contract = {1}}, .rhs_group = 0});
       }},
      {"general_sizes_shape",
       [] {
         ragged_dot_general(
             ones({6, 4, 3}), ones({6, 2, 3, 5}), ones({5, 2}, i32),
             {.dot = {.lhs_contract = {2}, .rhs_contract = {2}, .lhs_batch = {0}, .rhs_batch = {0}},
              .lhs_ragged = 1,
              .rhs_group = 1});
       }},
      {"general_scalar_sizes",
       [] {
         ragged_dot_general(ones({4, 3}), ones({2, 3, 5}), ones({}, i32),
                            {.dot = {.lhs_contract = {1}, .rhs_contract = {1}}, .rhs_group = 0});
       }},
      {"general_float_sizes",
       [] {
         ragged_dot_general(ones({4, 3}), ones({2, 3, 5}), ones({2}),
                            {.dot = {.lhs_contract = {1}, .rhs_contract = {1}}, .rhs_group = 0});
       }},
      {"exchange_outside",
       [] {
         ragged_all_to_all(ones({4}), ones({4}), Sizes(2), Sizes(2), Sizes(2), Sizes(2), "x");
       }},
      {"exchange_dtypes",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         shard_map(
             [](Array x) {
               return ragged_all_to_all(x, ones({4}, i32), Sizes(2), Sizes(2), Sizes(2), Sizes(2),
                                        "x");
             },
             {.out_specs = P("x")})(Typed("f32[8@x]"));
       }},
      {"exchange_rows",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         shard_map(
             [](Array x) {
               return ragged_all_to_all(x, ones({4, 3}), Sizes(2), Sizes(2), Sizes(2), Sizes(2),
                                        "x");
             },
             {.out_specs = P("x")})(Typed("f32[8@x]"));
       }},
      {"exchange_slices",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         shard_map(
             [](Array x) {
               return ragged_all_to_all(x, x, Sizes(3), Sizes(3), Sizes(3), Sizes(3), "x");
             },
             {.out_specs = P("x")})(Typed("f32[8@x]"));
       }},
      {"exchange_lists",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         shard_map(
             [](Array x) {
               return ragged_all_to_all(x, x, Sizes(2), Sizes(4), Sizes(2), Sizes(2), "x");
             },
             {.out_specs = P("x")})(Typed("f32[8@x]"));
       }},
      {"exchange_float_lists",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         shard_map(
             [](Array x) {
               return ragged_all_to_all(x, x, Sizes(2), ones({2}), Sizes(2), Sizes(2), "x");
             },
             {.out_specs = P("x")})(Typed("f32[8@x]"));
       }},
      {"exchange_beyond_operand",
       [] {
         Exchange({0, 1, 3, 0}, {1, 1, 2, 0}, {0, 0, 2, 0}, {1, 2, 1, 0});
       }},
      {"exchange_beyond_output",
       [] {
         Exchange({0, 1, 0, 0}, {1, 3, 0, 0}, {0, 1, 0, 0}, {1, 0, 3, 0}, 3);
       }},
      {"exchange_negative",
       [] {
         Exchange({0, 1, 0, 0}, {1, -1, 0, 0}, {0, 1, 0, 0}, {1, 0, -1, 0});
       }},
      {"exchange_disagrees",
       [] {
         Exchange({0, 1, 0, 0}, {1, 2, 0, 0}, {0, 1, 0, 0}, {1, 0, 1, 0});
       }},
      {"rounding_of_ints", [] { reduce_precision(ones({3}, i32), 5, 10); }},
      {"rounding_without_exponent", [] { reduce_precision(ones({3}), 0, 10); }},
      {"rounding_to_negative_bits", [] { reduce_precision(ones({3}), 5, -1); }},
      {"xor_of_floats", [] { reduce_xor(ones({3}), 0); }},
      {"xor_of_float_windows", [] { reduce_window(ones({3}), Reduction::kXor, {2}); }},
      {"mulhi_of_floats", [] { mulhi(ones({3}), ones({3})); }},
      {"generator_of_a_key", [] { random::rng_bit_generator(random::key(0), {3}); }},
      {"generator_of_ints", [] { random::rng_bit_generator(ones({4}, i32), {3}); }},
      {"generator_of_two_words", [] { random::rng_bit_generator(ones({2}, u32), {3}); }},
      {"generator_of_signed_bits",
       [] { random::rng_bit_generator(ones({4}, u32), {3}, {.dtype = i32}); }},
  };
  return cases;
}

class RaggedErrors : public testing::TestWithParam<RefusedCase> {};

TEST_P(RaggedErrors, NameTheMistake) {
  ExpectRefused(std::string("ragged_") + GetParam().name, GetParam().program);
}
INSTANTIATE_CASES(RaggedErrors, Cases());

}  // namespace
}  // namespace tessera::ragged_errors_test
