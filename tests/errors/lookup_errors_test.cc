// Wrong index arrays, and dims of gather and scatter that do not match.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "cases.h"

namespace tessera::lookup_errors_test {
namespace {

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"index_by_floats", [] { ones({5})[ones({2})]; }},
      {"index_by_a_mask",
       [] {
         ones({2})[array({true, false})];
       }},
      {"index_arrays_of_two_shapes",
       [] {
         ones({5, 5})[{array({1, 2}), array({1, 2, 3})}];
       }},
      {"index_arrays_of_nothing",
       [] {
         zeros({0, 2})[{array({0}), All}];
       }},
      {"at_too_many",
       [] {
         ones({2}).at({0, array({0})}).get();
       }},
      {"at_outside", [] { ones({2}).at(2).set(1); }},
      {"at_values",
       [] {
         ones({4, 2}).at({array({0, 1, 2}), All}).set(ones({2, 2}));
       }},
      {"at_literal", [] { ones({4}, i32).at(0).set(0.5); }},
      {"at_fill_value_past_all_integers",
       [] { ones({4}, i64).at(array({0})).get({.mode = LookupMode::kFill, .fill_value = 1e300}); }},
      {"at_fill_value",
       [] { ones({4}, i8).at(array({0})).get({.mode = LookupMode::kFill, .fill_value = 300}); }},
      {"at_strict",
       [] {
         StrictTypes strict;
         ones({4}).at(0).set(ones({}, f64));
       }},
      {"gather_sizes",
       [] {
         gather(ones({4, 2}), zeros({3, 1}, i32), {.offset = {1}}, {1});
       }},
      {"gather_collapsed_size",
       [] {
         gather(ones({4, 2}), zeros({3, 1}, i32), {.offset = {1}, .collapsed = {0}, .start = {0}},
                {2, 2});
       }},
      {"gather_offset_dims",
       [] {
         gather(ones({4, 2}), zeros({3, 1}, i32), {.offset = {5}, .collapsed = {0}, .start = {0}},
                {1, 2});
       }},
      {"gather_vectors",
       [] {
         gather(ones({4, 2}), zeros({3, 2}, i32), {.offset = {1}, .collapsed = {0}, .start = {0}},
                {1, 2});
       }},
      {"gather_slices",
       [] {
         gather(ones({4, 2}), zeros({3, 1}, i32), {.offset = {1, 2}, .start = {0}}, {5, 2});
       }},
      {"gather_batch",
       [] {
         gather(ones({4, 2}), zeros({3, 1}, i32),
                {.collapsed = {1}, .start = {1}, .operand_batch = {0}, .indices_batch = {0}},
                {1, 1});
       }},
      {"gather_batch_looked_up",
       [] {
         gather(ones({4, 2}), zeros({4, 1}, i32),
                {.collapsed = {1}, .start = {0}, .operand_batch = {0}, .indices_batch = {0}},
                {1, 1});
       }},
      {"gather_batch_pairs",
       [] {
         gather(ones({4, 2}), zeros({4, 1}, i32),
                {.collapsed = {1}, .start = {1}, .operand_batch = {0}}, {1, 1});
       }},
      {"gather_batch_vectors",
       [] {
         gather(ones({4, 2}), zeros({4, 1}, i32),
                {.collapsed = {1}, .start = {1}, .operand_batch = {0}, .indices_batch = {1}},
                {1, 1});
       }},
      {"gather_scalar_indices", [] { gather(ones({4}), 0, {.collapsed = {0}, .start = {0}}, 1); }},
      {"gather_float_indices",
       [] { gather(ones({4}), ones({1}), {.collapsed = {0}, .start = {0}}, 1); }},
      {"scatter_dtypes",
       [] {
         scatter(ones({4}), zeros({3, 1}, i32), ones({3}, f64), {.inserted = {0}, .start = {0}});
       }},
      {"scatter_rank",
       [] {
         scatter(ones({4}), zeros({3, 1}, i32), ones({3, 1}), {.inserted = {0}, .start = {0}});
       }},
      {"scatter_left_out",
       [] {
         scatter(ones({4, 2}), zeros({3, 1}, i32), ones({3}), {.inserted = {0}, .start = {0}});
       }},
      {"scatter_queries",
       [] {
         scatter(ones({4}), zeros({3, 1}, i32), ones({2}), {.inserted = {0}, .start = {0}});
       }},
      {"scatter_order",
       [] {
         scatter(ones({4, 2}), zeros({3, 1}, i32), ones({3, 4, 2}), {.window = {2, 1}});
       }},
      {"scatter_twice",
       [] {
         scatter(ones({4, 2}), zeros({3, 2}, i32), ones({3}),
                 {.inserted = {0, 1}, .start = {0, 0}});
       }},
      {"take_along_ranks",
       [] {
         take_along_dim(ones({4, 2}), zeros({4}, i32), 0);
       }},
      {"take_along_sizes",
       [] {
         take_along_dim(ones({4, 2}), zeros({3, 3}, i32), 0);
       }},
  };
  return cases;
}

class BadLookup : public testing::TestWithParam<RefusedCase> {};

TEST_P(BadLookup, IsOneClearError) {
  const RefusedCase& c = GetParam();
  ExpectRefused(std::string("input_") + c.name, c.program);
  ExpectUsable();
}

INSTANTIATE_CASES(BadLookup, Cases());

}  // namespace
}  // namespace tessera::lookup_errors_test
