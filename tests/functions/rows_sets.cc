// Rows of sets.h.
#include <tessera/sets.h>

#include "functions/rows.h"

namespace tessera::functions {

const Rows& SetRows() {
  static const Rows rows = {
      {"searchsorted", "jnp.searchsorted(a, b)",
       "f32[6]=-2,-1,0,0,3,nan f32[8]=-3,-2,0,0.5,3,4,nan,-0",
       [](A a) -> R { return {searchsorted(a[0], a[1])}; }},
      {"searchsorted.right", "jnp.searchsorted(a, b, side='right')",
       "i32[5]=1,2,2,2,9 i32[2,3]=0,1,2,3,9,10",
       [](A a) -> R { return {searchsorted(a[0], a[1], {.right = true})}; }},
      {"searchsorted.empty", "jnp.searchsorted(a, b)", "f64[0] f64[2]",
       [](A a) -> R { return {searchsorted(a[0], a[1])}; }},
      {"digitize", "jnp.digitize(a, b)", "f32[6]=-1,0,0.5,2,3,nan f32[3]=0,1,2",
       [](A a) -> R { return {digitize(a[0], a[1])}; }},
      {"digitize.down", "jnp.digitize(a, b, right=True)", "f64[6]=-1,0,0.5,2,3,1 f64[3]=2,1,0",
       [](A a) -> R { return {digitize(a[0], a[1], {.right = true})}; }},
      {"bincount", "jnp.bincount(a, length=5)", "i32[8]:-1:7",
       [](A a) -> R { return {bincount(a[0], {.length = 5})}; }},
      {"bincount.weights", "jnp.bincount(a, weights=b, length=4)", "i64[8]:0:4 f32[8]",
       [](A a) -> R { return {bincount(a[0], {.weights = a[1], .length = 4})}; }},
      {"histogram_bin_edges", "jnp.histogram_bin_edges(a, 4)", "f64[8]",
       [](A a) -> R { return {histogram_bin_edges(a[0], {.bins = 4})}; }},
      {"histogram_bin_edges.equal", "jnp.histogram_bin_edges(a, 2)", "f32[2]=3,3",
       [](A a) -> R { return {histogram_bin_edges(a[0], {.bins = 2})}; }},
      {"histogram", "(lambda h: [h[0].astype('int64'), h[1]])(jnp.histogram(a, 4))", "f64[2,8]",
       [](A a) -> R {
         const Histogram h = histogram(a[0], {.bins = 4});
         return {h.counts, h.edges[0]};
       }},
      {"histogram.range", "jnp.histogram(a, 4, range=(-1, 1), weights=b, density=True)",
       "f64[8] f64[8]:0:1",
       [](A a) -> R {
         const Histogram h = histogram(
             a[0], {.bins = 4, .range = std::pair(-1.0, 1.0), .weights = a[1], .density = true});
         return {h.counts, h.edges[0]};
       }},
      {"histogram.edges", "jnp.histogram(a, b)[0].astype('int64')", "f32[8] f32[3]=-1,0,2",
       [](A a) -> R { return {histogram(a[0], {.edges = a[1]}).counts}; }},
      {"histogram2d", "(lambda h: [h[0], h[1], h[2]])(jnp.histogram2d(a, b, bins=3))",
       "f64[8] f64[8]",
       [](A a) -> R {
         const Histogram h = histogram2d(a[0], a[1], {.bins = {3}});
         return {h.counts, h.edges[0], h.edges[1]};
       }},
      {"histogramdd",
       "(lambda h: [h[0], *h[1]])(jnp.histogramdd(a, bins=(2, 3), range=((-2, 2), (-1, 1)), "
       "density=True))",
       "f64[8,2]",
       [](A a) -> R {
         const Histogram h =
             histogramdd(a[0], {.bins = {2, 3}, .range = {{-2, 2}, {-1, 1}}, .density = true});
         return {h.counts, h.edges[0], h.edges[1]};
       }},
      {"segment_sum", "jax.ops.segment_sum(a, b, 3)", "f32[8,2] i32[8]:-1:4",
       [](A a) -> R { return {segment_sum(a[0], a[1], {.num_segments = 3})}; }},
      {"segment_prod", "jax.ops.segment_prod(a, b, 3)", "f64[6] i32[6]:0:3",
       [](A a) -> R { return {segment_prod(a[0], a[1], {.num_segments = 3})}; }},
      {"segment_max", "jax.ops.segment_max(a, b, 4)", "f64[6]p i32[6]:0:3",
       [](A a) -> R { return {segment_max(a[0], a[1], {.num_segments = 4})}; }},
      {"segment_min", "jax.ops.segment_min(a, b, 4)", "i32[6] i32[6]:0:3",
       [](A a) -> R { return {segment_min(a[0], a[1], {.num_segments = 4})}; }},
      {"nonzero", "jnp.nonzero(a, size=4)", "i32[2,4]:-1:2",
       [](A a) -> R { return nonzero(a[0], {.size = 4}); }},
      {"nonzero.fill", "jnp.nonzero(a, size=7, fill_value=-1)", "bool[2,4]",
       [](A a) -> R { return nonzero(a[0], {.size = 7, .fill_value = -1}); }},
      {"argwhere", "jnp.argwhere(a, size=4)", "i32[2,4]:-1:2",
       [](A a) -> R { return {argwhere(a[0], {.size = 4})}; }},
      {"flatnonzero", "jnp.flatnonzero(a, size=6)", "f32[2,4]=0,1,0,nan,-0,2,3,0",
       [](A a) -> R { return {flatnonzero(a[0], {.size = 6})}; }},
      {"extract", "jnp.extract(a, b, size=4, fill_value=9)", "bool[6] f32[6]",
       [](A a) -> R { return {extract(a[0], a[1], {.size = 4, .fill_value = 9})}; }},
      {"trim_zeros", "jnp.trim_zeros(a)", "i32[8]=0,-0,3,0,-1,2,0,0",
       [](A a) -> R { return {trim_zeros(a[0], {.size = 4})}; }},
      {"trim_zeros.filled", "jnp.append(lax.dynamic_slice(a, (1,), (6,)), jnp.array([7, 7]))",
       "f64[8]=0,nan,0,2,0.5,0,1,-0",
       [](A a) -> R { return {trim_zeros(a[0], {.size = 8, .fill_value = 7})}; }},
      {"trim_zeros.none", "a[:3] * 0", "f32[6]=0,0,-0,0,0,0",
       [](A a) -> R { return {trim_zeros(a[0], {.size = 3})}; }},
      {"compress", "jnp.compress(a, b, axis=1, size=2)", "bool[4]=1,0,1,1 f32[2,4]",
       [](A a) -> R { return {compress(a[0], a[1], 1, {.size = 2})}; }},
      {"compress.short", "jnp.compress(a, b, size=3)", "bool[3]=1,0,1 f64[2,4]",
       [](A a) -> R { return {compress(a[0], a[1], All, {.size = 3})}; }},
      {"unique", "jnp.unique(a, size=5)", "i32[8]:0:4",
       [](A a) -> R { return {unique(a[0], {.size = 5})}; }},
      {"unique.fill", "jnp.unique(a, size=6, fill_value=7)", "f32[6]=2,nan,1,2,nan,-1",
       [](A a) -> R { return {unique(a[0], {.size = 6, .fill_value = 7})}; }},
      {"unique_all", "list(jnp.unique_all(a, size=5))", "i32[2,4]:0:4",
       [](A a) -> R {
         const Unique u = unique_all(a[0], {.size = 5});
         return {u.values, u.index, u.inverse, u.counts};
       }},
      {"unique.dim", "jnp.unique(a, axis=0, size=4)", "i32[6,2]:0:2",
       [](A a) -> R { return {unique(a[0], {.size = 4, .dim = 0})}; }},
      {"unique.dim.fill", "jnp.unique(a, axis=1, size=5, fill_value=7)",
       "f64[2,4]=1,0,1,0,nan,2,nan,-2",
       [](A a) -> R { return {unique(a[0], {.size = 5, .fill_value = 7, .dim = -1})}; }},
      {"unique.dim.empty", "jnp.unique(a, axis=0, size=1)", "f32[3,0]",
       [](A a) -> R { return {unique(a[0], {.size = 1, .dim = 0})}; }},
      {"unique_all.dim", "list(jnp.unique(a, True, True, True, 1, size=4))", "i32[2,6,2]:0:2",
       [](A a) -> R {
         const Unique u = unique_all(a[0], {.size = 4, .dim = 1});
         return {u.values, u.index, u.inverse, u.counts};
       }},
      {"isin", "jnp.isin(a, b)", "i32[2,4]:0:8 i32[3]:0:8",
       [](A a) -> R { return {isin(a[0], a[1])}; }},
      {"isin.empty", "jnp.isin(a, b)", "f32[4] f32[0]",
       [](A a) -> R { return {isin(a[0], a[1])}; }},
      {"union1d", "jnp.union1d(a, b, size=8, fill_value=99)", "i32[4]:0:6 i32[4]:0:6",
       [](A a) -> R { return {union1d(a[0], a[1], {.size = 8, .fill_value = 99})}; }},
      {"intersect1d", "jnp.intersect1d(a, b, size=4, fill_value=99)", "i32[6]:0:6 i32[6]:0:6",
       [](A a) -> R { return {intersect1d(a[0], a[1], {.size = 4, .fill_value = 99})}; }},
      {"setdiff1d", "jnp.setdiff1d(a, b, size=4, fill_value=99)", "i32[6]:0:6 i32[3]:0:6",
       [](A a) -> R { return {setdiff1d(a[0], a[1], {.size = 4, .fill_value = 99})}; }},
      {"setxor1d", "jnp.setxor1d(a, b, size=6, fill_value=99)", "i32[4]:0:6 i32[4]:0:6",
       [](A a) -> R { return {setxor1d(a[0], a[1], {.size = 6, .fill_value = 99})}; }},
      {"lexsort", "jnp.lexsort((a, b))", "f32[6]p i32[6]:0:2",
       [](A a) -> R {
         return {lexsort({a[0], a[1]})};
       }},
      {"sort_complex", "jnp.sort_complex(a)", "f32[4]p",
       [](A a) -> R { return {sort_complex(a[0])}; }},
      {"partition", "jnp.sort(jnp.partition(a, 2)[..., :3])", "f32[2,5]p",
       [](A a) -> R {
         return {slice(partition(a[0], 2), {0, 0}, {2, 3})};
       }},
      {"argpartition", "jnp.take_along_axis(a, jnp.argpartition(a, 2), -1)[..., 2]", "f32[2,5]p",
       [](A a) -> R {
         return {
             slice(take_along_dim(a[0], argpartition(a[0], 2), -1), {0, 2}, {2, 3}).reshape({2})};
       }},
  };
  return rows;
}

}  // namespace tessera::functions
