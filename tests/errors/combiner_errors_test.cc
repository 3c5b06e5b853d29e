// Errors of functions of the user inside reductions, windows, sorts and scatters.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "cases.h"

namespace tessera::combiner_errors_test {
namespace {

Array Odd(Array a, Array b) { return a + b + 0 * a; }
const ScatterDims kRows{.inserted = {0}, .start = {0}};

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"returns_a_vector",
       [] {
         reduce([](Array a, Array b) { return stack({a, b}); }, ones({4}), 0.0);
       }},
      {"returns_another_dtype",
       [] { reduce([](Array a, Array b) { return a < b; }, ones({4}), 0.0); }},
      {"returns_nothing_for_an_array",
       [] {
         using Two = std::vector<Array>;
         reduce([](Two a, Two) { return Two{a[0]}; }, Two{ones({4}), ones({4})},
                Two{Array(0.0), Array(0.0)});
       }},
      {"reads_a_shape",
       [] { reduce([](Array a, Array b) { return a * a.shape(0) + b; }, ones({4}), 0.0); }},
      {"init_of_another_dtype", [] { reduce(Odd, ones({4}), array(0)); }},
      {"init_that_is_no_scalar", [] { reduce(Odd, ones({4}), ones({4})); }},
      {"number_of_inits",
       [] {
         using Many = std::vector<Array>;
         reduce([](Many a, Many) { return a; }, Many{ones({4}), ones({4})}, Many{Array(0.0)});
       }},
      {"shapes",
       [] {
         using Two = std::tuple<Array, Array>;
         reduce([](Two a, Two) { return a; }, Two{ones({4}), ones({3})},
                Two{Array(0.0), Array(0.0)});
       }},
      {"nothing",
       [] {
         using Many = std::vector<Array>;
         reduce([](Many a, Many) { return a; }, Many{}, Many{});
       }},
      {"dim", [] { reduce(Odd, ones({4}), 0.0, {1}); }},
      {"dim_twice",
       [] {
         reduce(Odd, ones({4}), 0.0, {0, -1});
       }},
      {"window_size", [] { reduce_window(Odd, ones({4}), 0.0, {0}); }},
      {"window_stride", [] { reduce_window(Odd, ones({4}), 0.0, {2}, {.strides = {0}}); }},
      {"window_rank",
       [] {
         reduce_window(Odd, ones({4}), 0.0, {2, 2});
       }},
      {"window_along_shards",
       [] {
         MeshScope scope(make_mesh({{"x", 2}}));
         reduce_window(Odd, reshard(ones({4}), P("x")), 0.0, {2});
       }},
      {"comparator_returns_a_number", [] { sort(ones({4}), [](Array, Array) { return true; }); }},
      {"comparator_of_keys",
       [] {
         sort(random::split(random::key(0), 4),
              [](Array a, Array b) { return random::key_data(a)[{0}] < random::key_data(b)[{0}]; });
       }},
      {"comparator_of_numbers", [] { sort(ones({4}), [](Array a, Array b) { return a - b; }); }},
      {"sort_along_shards",
       [] {
         MeshScope scope(make_mesh({{"x", 2}}));
         sort(reshard(ones({4}), P("x")), [](Array a, Array b) { return abs(a) < abs(b); });
       }},
      {"sort_of_differently_sharded_arrays",
       [] {
         MeshScope scope(make_mesh({{"x", 2}}));
         using Two = std::tuple<Array, Array>;
         sort(Two{reshard(ones({4}), P("x")), ones({4})},
              [](Two a, Two b) { return std::get<0>(a) < std::get<0>(b); });
       }},
      {"scatter_dtype",
       [] {
         scatter(ones({4}), zeros({1, 1}, i32), ones({1}, i32), Odd, kRows);
       }},
      {"scatter_shapes",
       [] {
         scatter(ones({4}), zeros({1, 1}, i32), ones({2}), Odd, kRows);
       }},
      {"scatter_into_shards",
       [] {
         MeshScope scope(make_mesh({{"x", 2}}));
         scatter(reshard(ones({4}), P("x")), zeros({1, 1}, i32), ones({1}), Odd, kRows);
       }},
  };
  return cases;
}

TEST(CombinerErrors, AreAsShown) {
  SetDeviceCount(2);
  for (const RefusedCase& c : Cases()) {
    ExpectRefused(std::string("combiner_") + c.name, c.program);
    ExpectUsable();
  }
}

}  // namespace
}  // namespace tessera::combiner_errors_test
