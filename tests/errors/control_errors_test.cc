// Errors of loops and branches. Each is one clear error, and the library is usable afterwards.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>

#include "golden.h"

namespace tessera::control_errors_test {
namespace {

struct Case {
  const char* name;
  std::function<void(Array a, Array b)> program;  // a: f32[8@x,8]  b: f32[8,8@y]
};

Array True() { return Array(true); }

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"while_sharding",
       [](Array a, Array) {
         while_loop([](Array) { return True(); }, [](Array x) { return reshard(x, P(None, "x")); },
                    a);
       }},
      {"while_dtype_of_one",
       [](Array a, Array b) {
         while_loop([](auto) { return True(); },
                    [](std::vector<Array> s) {
                      return std::vector{s[0], s[1].astype(f16), s[2] + 1};
                    },
                    std::vector{a, b, Array(1)});
       }},
      {"while_shape",
       [](Array a, Array) {
         while_loop([](Array) { return True(); }, [](Array x) { return sum(x, 1); }, a);
       }},
      {"while_tree",
       [](Array a, Array b) {
         while_loop([](auto) { return True(); },
                    [](std::vector<Array> s) { return std::vector{s[0]}; }, std::vector{a, b});
       }},
      {"associative_scan_sharded",
       [](Array a, Array) { associative_scan([](Array x, Array y) { return x + y; }, a); }},
      {"associative_scan_of_two_layouts",
       [](Array a, Array b) {
         associative_scan([](auto x, auto y) { return std::pair(x.first, y.second); },
                          std::pair(a, b), {.dim = 1, .out_sharding = P()});
       }},
      {"associative_scan_of_sizes",
       [](Array, Array b) {
         associative_scan([](auto x, auto y) { return std::pair(x.first, y.second); },
                          std::pair(b, zeros({4})));
       }},
      {"associative_scan_of_nothing",
       [](Array, Array) {
         associative_scan([](std::vector<Array> x, std::vector<Array>) { return x; },
                          std::vector<Array>());
       }},
      {"associative_scan_of_a_number",
       [](Array, Array) { associative_scan([](Array x, Array y) { return x + y; }, Array(1.0f)); }},
      {"associative_scan_dtype",
       [](Array, Array b) {
         associative_scan([](Array x, Array y) { return (x + y).astype(f16); }, reshard(b, P()));
       }},
      {"associative_scan_shape",
       [](Array, Array b) {
         associative_scan([](Array x, Array y) { return sum(x + y, 0, {.keepdims = true}); },
                          reshard(b, P()));
       }},
      {"associative_scan_tree",
       [](Array, Array b) {
         associative_scan(
             [](std::vector<Array> x, std::vector<Array>) {
               return std::vector{x[0], x[0]};
             },
             std::vector{reshard(b, P())});
       }},
      {"lax_map_batch",
       [](Array, Array b) {
         lax_map([](Array x) { return x; }, reshard(b, P()), {.batch_size = 0});
       }},
      {"lax_map_sharded", [](Array a, Array) { lax_map([](Array x) { return x; }, a); }},
      {"lax_map_nothing",
       [](Array, Array) { lax_map([](std::vector<Array> x) { return x; }, std::vector<Array>()); }},
      {"lax_map_of_sizes",
       [](Array, Array b) {
         lax_map([](std::pair<Array, Array> p) { return p.first; }, std::pair(b, zeros({4})));
       }},
      {"lax_map_of_other_steps",
       [](Array, Array b) {
         int step = 0;
         const auto f = [&](Array x) {
           return step++ == 0 ? std::vector<Array>{x, x} : std::vector<Array>{x};
         };
         lax_map(f, reshard(b, P()), {.batch_size = 3});
       }},
      {"lax_map_scalar", [](Array, Array) { lax_map([](Array x) { return x; }, Array(1.f)); }},
      {"scan_unroll",
       [](Array a, Array) {
         scan([](Array c, Array x) { return std::pair(c + x, None); }, zeros({8}), reshard(a, P()),
              {.unroll = 0});
       }},
      {"scan_unroll_shape",
       [](Array, Array b) {
         scan([](Array c, NoneType x) { return std::pair(sum(c, 0), x); }, b, None,
              {.length = 4, .unroll = 2});
       }},
      {"fori_unroll",
       [](Array a, Array) {
         fori_loop(0, Array(3), [](Array, Array x) { return x; }, a, {.unroll = 2});
       }},
      {"while_nothing",
       [](Array, Array) {
         while_loop([](auto) { return True(); }, [](auto s) { return s; }, std::vector<Array>());
       }},
      {"while_condition_shape",
       [](Array a, Array) {
         while_loop([](Array x) { return x > 0; }, [](Array x) { return x; }, a);
       }},
      {"while_condition_dtype",
       [](Array a, Array) {
         while_loop([](Array x) { return sum(x); }, [](Array x) { return x; }, a);
       }},
      {"fori_float_bound",
       [](Array a, Array) {
         fori_loop(
             0, 2.5, [](Array, Array x) { return x; }, a);
       }},
      {"fori_bound_does_not_fit",
       [](Array a, Array) {
         fori_loop(
             0, int64_t{1} << 40, [](Array, Array x) { return x; }, a);
       }},
      {"fori_array_bound",
       [](Array a, Array) {
         fori_loop(
             0, a, [](Array, Array x) { return x; }, a);
       }},
      {"fori_unreduced",
       [](Array a, Array b) {
         fori_loop(
             0, 3,
             [&](Array, Array) {
               return matmul(b, transpose(b), {.out_sharding = P().unreduced("y")});
             },
             zeros({8, 8}) + 0 * sum(a));
       }},
      {"cond_types",
       [](Array a, Array) {
         cond(
             True(), [](Array x) { return x; }, [](Array x) { return reshard(x, P()); }, a);
       }},
      {"cond_dtypes",
       [](Array a, Array) {
         cond(
             True(), [](Array x) { return x; }, [](Array x) { return x > 0; }, a);
       }},
      {"cond_trees",
       [](Array a, Array) {
         cond(
             True(), [](Array x) { return std::vector{x}; },
             [](Array x) {
               return std::vector{x, x};
             },
             a);
       }},
      {"cond_predicate",
       [](Array a, Array) {
         cond(
             a > 0, [&] { return a; }, [&] { return a; });
       }},
      {"cond_unreduced",
       [](Array a, Array) {
         cond(
             sum(a, All, {.out_sharding = P().unreduced("x")}), [&] { return a; },
             [&] { return a; });
       }},
      {"switch_index",
       [](Array a, Array) {
         switch_case(sum(a), std::tuple([](Array x) { return x; }, [](Array x) { return -x; }), a);
       }},
      {"switch_types",
       [](Array a, Array b) {
         switch_case(1, std::tuple([&] { return a; }, [&] { return a; }, [&] { return b; }));
       }},
      {"switch_none",
       [](Array a, Array) { switch_case(1, std::vector<std::function<Array(Array)>>(), a); }},
      {"scan_carry",
       [](Array a, Array b) {
         scan([](Array c, Array x) { return std::pair(x, c); }, sum(a, 0), b);
       }},
      {"scan_sharded_steps",
       [](Array a, Array) { scan([](Array c, Array x) { return std::pair(c, x); }, 0.f, a); }},
      {"scan_sizes",
       [](Array, Array b) {
         scan([](Array c, std::vector<Array>) { return std::pair(c, None); }, 0.f,
              std::vector{b, ones({7})});
       }},
      {"scan_length",
       [](Array, Array b) {
         scan([](Array c, Array) { return std::pair(c, None); }, 0.f, b, {.length = 3});
       }},
      {"scan_no_length",
       [](Array, Array) { scan([](Array c, NoneType) { return std::pair(c, None); }, 0.f, None); }},
      {"scan_of_scalars",
       [](Array, Array) {
         scan([](Array c, Array) { return std::pair(c, None); }, 0.f, Array(1));
       }},
      {"op_in_the_body",
       [](Array a, Array) {
         fori_loop(
             0, 3, [](Array, Array x) { return x + transpose(x); }, a);
       }},
      {"escape_of_the_body",
       [](Array a, Array) {
         Array leaked;
         fori_loop(
             0, 3, [&](Array, Array x) { return leaked = x + 1; }, a);
         leaked + 1;
       }},
      {"escape_between_branches",
       [](Array a, Array) {
         Array leaked;
         cond(
             True(), [&](Array x) { return leaked = x + 1; }, [&](Array) { return leaked; }, a);
       }},
  };
  return cases;
}

class ControlErrors : public testing::TestWithParam<size_t> {};

TEST_P(ControlErrors, AreClear) {
  const Case& c = Cases()[GetParam()];
  {
    MeshScope scope(abstract_mesh({{"x", 2}, {"y", 4}}));
    Array a = abstract_array("f32[8@x,8]"), b = abstract_array("f32[8,8@y]");
    ExpectRefused(std::string("control_") + c.name, [&] { c.program(a, b); });
    EXPECT_THROW(jit([&](Array x, Array y) {
                   c.program(x, y);
                   return x;
                 }).trace(a, b),
                 Error);
  }
  EXPECT_TRUE(current_mesh().empty());
  EXPECT_EQ(fori_loop(
                0, 3, [](Array i, Array s) { return s + i; }, 0)
                .item<int>(),
            3);
}

INSTANTIATE_TEST_SUITE_P(All, ControlErrors, testing::Range(size_t{0}, Cases().size()),
                         [](const auto& info) { return Cases()[info.param].name; });

}  // namespace
}  // namespace tessera::control_errors_test
