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
  };
  return rows;
}

}  // namespace tessera::functions
