// Wrong windows, paddings, dims and shardings of pools and convolutions.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>

#include "cases.h"

namespace tessera::windows_errors_test {
namespace {

void OnMesh(const std::function<void()>& f) {
  MeshScope scope(abstract_mesh({{"x", 2}, {"y", 4}}));
  f();
}

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"rank",
       [] {
         reduce_window(ones({4, 4}), Reduction::kSum, {2});
       }},
      {"size_zero", [] { reduce_window(ones({4}), Reduction::kSum, {0}); }},
      {"size_negative",
       [] { reduce_window(ones({4}), Reduction::kMax, {-2}, {.padding = "SAME"}); }},
      {"stride_zero",
       [] { reduce_window(ones({4}), Reduction::kSum, {2}, {.strides = {0}, .padding = "SAME"}); }},
      {"dilation_zero",
       [] { reduce_window(ones({4}), Reduction::kSum, {2}, {.window_dilation = {0}}); }},
      {"strides_of_another_rank",
       [] {
         reduce_window(ones({4}), Reduction::kSum, {2}, {.strides = {1, 1}});
       }},
      {"padding_of_another_rank",
       [] {
         reduce_window(ones({4}), Reduction::kSum, {2}, {.padding = {{{1, 1}, {1, 1}}}});
       }},
      {"padding_by_no_rule",
       [] { reduce_window(ones({4}), Reduction::kSum, {2}, {.padding = "FULL"}); }},
      {"padding_without_end",
       [] {
         reduce_window(ones({4}), Reduction::kSum, {2},
                       {.padding = {{{int64_t{1} << 62, int64_t{1} << 62}}}});
       }},
      {"result_too_large",
       [] {
         reduce_window(ones({4, 4}), Reduction::kSum, {1, 1},
                       {.padding = {{{int64_t{1} << 40, 0}, {int64_t{1} << 40, 0}}}});
       }},
      {"sum_of_bools", [] { reduce_window(ones({4}, bool_), Reduction::kSum, {2}); }},
      {"and_of_floats", [] { reduce_window(ones({4}), Reduction::kAnd, {2}); }},
      {"uneven",
       [] { OnMesh([] { reduce_window(abstract_array("f32[8@x]"), Reduction::kSum, {2}); }); }},
      {"max_pool_rank",
       [] {
         max_pool(ones({4, 4}), {2, 2});
       }},
      {"min_pool_uneven",
       [] { OnMesh([] { min_pool(abstract_array("f32[2,6@x,3]"), {2}, {.strides = {2}}); }); }},
      {"avg_pool_padding",
       [] {
         avg_pool(ones({2, 4, 3}), {2}, {.padding = {{{1, 1}, {0, 0}}}});
       }},
      {"conv_ranks",
       [] {
         conv(ones({2, 3, 8}), ones({4, 3, 3, 3}), {1}, "SAME");
       }},
      {"conv_features",
       [] {
         conv(ones({2, 3, 8}), ones({4, 2, 3}), {1}, "SAME");
       }},
      {"conv_groups_of_features",
       [] {
         conv_general_dilated(ones({2, 3, 8}), ones({4, 1, 3}), {1}, "SAME",
                              {.feature_group_count = 2});
       }},
      {"conv_groups_of_the_kernel",
       [] {
         conv_general_dilated(ones({2, 4, 8}), ones({3, 2, 3}), {1}, "SAME",
                              {.feature_group_count = 2});
       }},
      {"conv_groups_of_both",
       [] {
         conv_general_dilated(ones({2, 4, 8}), ones({4, 2, 3}), {1}, "SAME",
                              {.feature_group_count = 2, .batch_group_count = 2});
       }},
      {"conv_strides",
       [] {
         conv(ones({2, 3, 8}), ones({4, 3, 3}), {1, 1}, "SAME");
       }},
      {"conv_stride_negative",
       [] {
         conv(ones({2, 3, 8}), ones({4, 3, 3}), {-1}, "VALID");
       }},
      {"conv_dims",
       [] {
         conv_general_dilated(ones({2, 3, 8}), ones({4, 3, 3}), {1}, "SAME",
                              {.dims = {"NCW", "OIH", "NCW"}});
       }},
      {"conv_letters",
       [] {
         conv_general_dilated(ones({2, 3, 8}), ones({4, 3, 3}), {1}, "SAME",
                              {.dims = {"NC", "OIH", "NCH"}});
       }},
      {"conv_dilated_same",
       [] {
         conv_general_dilated(ones({2, 3, 8}), ones({4, 3, 3}), {1}, "SAME", {.lhs_dilation = {2}});
       }},
      {"conv_bools",
       [] {
         conv(ones({2, 3, 8}, bool_), ones({4, 3, 3}, bool_), {1}, "SAME");
       }},
      {"conv_narrow",
       [] {
         conv(ones({2, 3, 8}), ones({4, 3, 3}), {1}, "SAME", {.dtype = i32});
       }},
      {"conv_uneven",
       [] {
         OnMesh([] {
           conv(abstract_array("f32[2,3,8@x]"), abstract_array("f32[4,3,2]"), {1}, "VALID");
         });
       }},
      {"conv_contracted",
       [] {
         OnMesh([] {
           conv(abstract_array("f32[2,4@x,8]"), abstract_array("f32[4,4@x,3]"), {1}, "SAME");
         });
       }},
      {"conv_twice",
       [] {
         OnMesh([] {
           conv(abstract_array("f32[2@x,4,8]"), abstract_array("f32[4@x,4,3]"), {1}, "SAME");
         });
       }},
      {"conv_transpose_strides",
       [] {
         conv_transpose(ones({2, 8, 3}), ones({3, 3, 4}), {}, "SAME");
       }},
      {"patches_rank",
       [] {
         conv_general_dilated_patches(ones({2, 3, 8}), {2, 2}, {1}, "SAME");
       }},
  };
  return cases;
}

class WindowsErrors : public testing::TestWithParam<RefusedCase> {};

TEST_P(WindowsErrors, AreClear) {
  const RefusedCase& c = GetParam();
  ExpectRefused(std::string("windows_") + c.name, c.program);
  ExpectUsable();
}

INSTANTIATE_CASES(WindowsErrors, Cases());

}  // namespace
}  // namespace tessera::windows_errors_test
