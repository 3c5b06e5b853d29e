// Rows of lax_names.h.
#include <tessera/lax_names.h>

#include "functions/rows.h"

namespace tessera::functions {

const Rows& LaxNameRows() {
  static const Rows rows = {
      {"broadcast", "lax.broadcast(a, (2, 3))", "f64[2]",
       [](A a) -> R {
         return {broadcast(a[0], {2, 3})};
       }},
      {"broadcast_to_rank", "lax.broadcast_to_rank(a, 3)", "f64[2]",
       [](A a) -> R { return {broadcast_to_rank(a[0], 3)}; }},
      {"collapse", "lax.collapse(a, 1, 3)", "f64[2,3,2,2]",
       [](A a) -> R { return {collapse(a[0], 1, 3)}; }},
      {"slice_in_dim", "lax.slice_in_dim(a, 1, -1, 2, axis=1)", "f64[2,6]",
       [](A a) -> R { return {slice_in_dim(a[0], 1, -1, 2, 1)}; }},
      {"index_in_dim", "lax.index_in_dim(a, -1, 1, keepdims=False)", "f64[2,6]",
       [](A a) -> R { return {index_in_dim(a[0], -1, 1, false)}; }},
      {"dynamic_slice_in_dim", "lax.dynamic_slice_in_dim(a, b, 3, axis=1)", "f64[2,6] i32[]=2",
       [](A a) -> R { return {dynamic_slice_in_dim(a[0], a[1], 3, 1)}; }},
      {"dynamic_index_in_dim", "lax.dynamic_index_in_dim(a, b, axis=-1)", "f64[2,6] i32[]=9",
       [](A a) -> R { return {dynamic_index_in_dim(a[0], a[1], -1)}; }},
      {"dynamic_update_slice_in_dim", "lax.dynamic_update_slice_in_dim(a, b, c, axis=1)",
       "f64[2,6] f64[2,2] i32[]=3",
       [](A a) -> R { return {dynamic_update_slice_in_dim(a[0], a[1], a[2], 1)}; }},
      {"dynamic_update_index_in_dim", "lax.dynamic_update_index_in_dim(a, b, c, axis=0)",
       "f64[4,3] f64[3] i32[]=2",
       [](A a) -> R { return {dynamic_update_index_in_dim(a[0], a[1], a[2], 0)}; }},
      {"scatter_sub", "a.at[b].subtract(c)", "f64[4,2] i32[3]=0,2,0 f64[3,2]",
       [](A a) -> R {
         return {scatter_sub(a[0], a[1].reshape({3, 1}), a[2],
                             {.window = {1}, .inserted = {0}, .start = {0}})};
       }},
      {"batch_matmul", "lax.batch_matmul(a, b)", "f64[2,3,2] f64[2,2,3]",
       [](A a) -> R { return {batch_matmul(a[0], a[1])}; }},
      {"broadcast_like", "lax.broadcast_like(a, b)", "f64[4] f64[2,4]",
       [](A a) -> R { return {broadcast_like(a[0], a[1])}; }},
      {"index_take", "lax.index_take(a, [b, c], [0, 2])", "f64[4,2,3] i32[3]=0,3,-1 i32[3]=2,0,1",
       [](A a) -> R {
         return {index_take(a[0], {a[1], a[2]}, {0, 2})};
       }},
      {"scatter_apply",
       "lax.scatter_apply(a, b[:, None], jnp.cos, lax.ScatterDimensionNumbers((1,), (0,), (0,)), "
       "update_shape=(2, 3))",
       "f64[4,3] i32[2]=3,1",
       [](A a) -> R {
         return {scatter_apply(a[0], a[1].reshape({2, 1}), [](Array x) { return cos(x); }, {2, 3},
                               {.window = {1}, .inserted = {0}, .start = {0}})};
       }},
      {"lax_map", "lax.map(lambda x: jnp.sin(x) * x, a)", "f64[4,3]",
       [](A a) -> R { return {tessera::map([](Array x) { return sin(x) * x; }, a[0])}; }},
      {"associative_scan", "lax.associative_scan(lambda x, y: x * y + y, a, axis=0)", "f64[5,2]",
       [](A a) -> R {
         return {associative_scan([](Array x, Array y) { return x * y + y; }, a[0])};
       }},
      {"reduce", "lax.reduce(a, 0.0, lambda x, y: x + y, (1,))", "f64[4,3]",
       [](A a) -> R {
         return {reduce([](Array x, Array y) { return x + y; }, a[0], array(0.0), 1)};
       }},
      {"conv", "lax.conv(a, b, (1, 2), 'SAME')", "f64[2,3,4,6] f64[2,3,2,2]",
       [](A a) -> R {
         return {conv(a[0], a[1], {1, 2}, "SAME")};
       }},
      {"conv_with_general_padding",
       "lax.conv_with_general_padding(a, b, (1,), [(1, 2)], (2,), (2,))", "f64[2,3,4] f64[2,3,2]",
       [](A a) -> R {
         return {conv_with_general_padding(a[0], a[1], {1}, {{{1, 2}}}, {2}, {2})};
       }},
      {"conv_general_dilated_patches",
       "lax.conv_general_dilated_patches(a, (2, 3), (1, 1), 'VALID')", "f64[2,2,4,4]",
       [](A a) -> R {
         return {conv_general_dilated_patches(a[0], {2, 3}, {1, 1}, "VALID")};
       }},
      {"conv_general_dilated_local",
       "lax.conv_general_dilated_local(a, b, (1, 2), 'VALID', (2, 2))", "f64[2,2,3,4] f64[3,8,2,2]",
       [](A a) -> R {
         return {conv_general_dilated_local(a[0], a[1], {1, 2}, "VALID", {2, 2})};
       }},
      {"conv_general_dilated_local.dims",
       "lax.conv_general_dilated_local(a, b, (1, 1), 'SAME', (2, 3), rhs_dilation=(1, 2), "
       "dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
       "f64[1,3,4,2] f64[3,4,12,3]",
       [](A a) -> R {
         return {conv_general_dilated_local(
             a[0], a[1], {1, 1}, "SAME", {2, 3},
             {.rhs_dilation = {1, 2}, .dims = {"NHWC", "HWIO", "NHWC"}})};
       }},
      {"custom_root",
       "lax.custom_root(lambda x: x ** 3 - a, 1.5 * jnp.ones(2), lambda f, x0: jnp.cbrt(a), "
       "lambda g, y: y / g(jnp.ones_like(y)))",
       "f64[2]:1:2",
       [](A a) -> R {
         const Array target = a[0];
         return {custom_root([target](Array x) { return x * x * x - target; },
                             1.5 * ones_like(target),
                             [target](auto, Array) { return cbrt(target); },
                             [](auto g, Array y) { return y / g(ones_like(y)); })};
       }},
  };
  return rows;
}

}  // namespace tessera::functions
