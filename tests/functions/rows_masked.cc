// Rows of reductions with .where and .initial.
#include <tessera/nn.h>
#include <tessera/special.h>
#include <tessera/statistics.h>

#include "functions/rows.h"

namespace tessera::functions {

const Rows& MaskedRows() {
  static const Rows rows = {
      {"sum.where", "jnp.sum(a, 1, where=b)", "f64[2,4] bool[2,4]",
       [](A a) -> R { return {sum(a[0], 1, {.where = a[1]})}; }},
      {"sum.where_of_a_row", "jnp.sum(a, where=b, initial=c)", "f32[2,4] bool[4] f64[]",
       [](A a) -> R { return {sum(a[0], All, {.where = a[1], .initial = a[2]})}; }},
      {"sum.where_of_bools", "jnp.sum(a, 0, where=b)", "bool[4,2] bool[4,1]",
       [](A a) -> R { return {sum(a[0], 0, {.where = a[1]})}; }},
      {"sum.initial", "jnp.sum(a, 0, initial=3, keepdims=True)", "i8[4,2]",
       [](A a) -> R { return {sum(a[0], 0, {.keepdims = true, .initial = 3})}; }},
      {"prod.where", "jnp.prod(a, 0, where=b, initial=2)", "f64[4,2] bool[4,2]",
       [](A a) -> R { return {prod(a[0], 0, {.where = a[1], .initial = 2})}; }},
      {"max.where", "jnp.max(a, 1, where=b, initial=-1)", "f64[2,4]p bool[2,4]",
       [](A a) -> R { return {max(a[0], 1, {.where = a[1], .initial = -1})}; }},
      {"max.initial_of_nothing", "jnp.max(a, 0, initial=2)", "f32[0,2]",
       [](A a) -> R { return {max(a[0], {0}, {.initial = 2})}; }},
      {"min.where_of_ints", "jnp.min(a, where=b, initial=9)", "u8[2,4]:0:200 bool[2,1]",
       [](A a) -> R { return {min(a[0], All, {.where = a[1], .initial = 9})}; }},
      {"mean.where", "jnp.mean(a, 1, where=b)", "f64[2,4] bool[2,4]=1,0,1,1,0,1,0,0",
       [](A a) -> R { return {mean(a[0], 1, {.where = a[1]})}; }},
      {"mean.where_of_a_column", "jnp.mean(a, where=b, keepdims=True)", "i32[4,2] bool[4,1]",
       [](A a) -> R { return {mean(a[0], All, {.keepdims = true, .where = a[1]})}; }},
      {"mean.where_none", "jnp.mean(a, 0, where=b)", "f16[4,2] bool[4,1]=0,0,0,0",
       [](A a) -> R { return {mean(a[0], 0, {.where = a[1]})}; }},
      {"var.where", "jnp.var(a, 1, where=b, ddof=1)", "f64[2,4] bool[4]=1,0,1,1",
       [](A a) -> R { return {var(a[0], 1, {.ddof = 1, .where = a[1]})}; }},
      {"var.where_too_few", "jnp.var(a, 1, where=b, ddof=1)", "f32[2,2] bool[2,2]=1,1,1,0",
       [](A a) -> R { return {var(a[0], 1, {.ddof = 1, .where = a[1]})}; }},
      {"stddev.where", "jnp.std(a, where=b)", "c128[2,4] bool[2,4]",
       [](A a) -> R { return {stddev(a[0], All, {.where = a[1]})}; }},
      {"any.where", "jnp.any(a, 0, where=b)", "f32[2,4] bool[2,4]=0,0,1,1,0,1,0,0",
       [](A a) -> R { return {any(a[0], 0, {.where = a[1]})}; }},
      {"all.where", "jnp.all(a, 1, where=b)", "bool[2,4] bool[2,1]=0,1",
       [](A a) -> R { return {all(a[0], 1, {.where = a[1]})}; }},
      {"logsumexp.where", "jnn.logsumexp(a, 1, where=b)", "f64[2,4] bool[2,4]=1,0,1,1,0,1,0,0",
       [](A a) -> R { return {logsumexp(a[0], 1, {.where = a[1]})}; }},
      {"logsumexp.weights", "jsp.logsumexp(a, 1, b=b)", "f64[2,4] f64[2,4]:0.5:2",
       [](A a) -> R { return {logsumexp(a[0], 1, {.weights = a[1]})}; }},
      {"logsumexp.weights.broadcast", "jsp.logsumexp(a, 0, b=b, keepdims=True)",
       "f32[2,4] f32[3,2,4]:0.5:2",
       [](A a) -> R { return {logsumexp(a[0], 0, {.keepdims = true, .weights = a[1]})}; }},
      {"logsumexp.weights.where", "jsp.logsumexp(a, 1, b=b, where=c)",
       "f64[2,4] f64[4]=1,-0.5,2,nan bool[2,4]=1,0,1,0,1,0,1,0",
       [](A a) -> R { return {logsumexp(a[0], 1, {.where = a[2], .weights = a[1]})}; }},
      {"logsumexp.weights.negative", "jnp.isnan(jsp.logsumexp(a, b=b))", "f64[3] f64[3]:-2:-1",
       [](A a) -> R { return {isnan(logsumexp(a[0], All, {.weights = a[1]}))}; }},
      {"logsumexp.complex", "jsp.logsumexp(a, 1)", "c128[2,4]:-9:9",
       [](A a) -> R { return {logsumexp(a[0], 1)}; }},
      {"signed_logsumexp", "list(jsp.logsumexp(a, 1, b=b, return_sign=True))",
       "f64[4,2] f64[4,2]=1,2,-1,-2,1,-4,-1,3",
       [](A a) -> R {
         const SignedLogsumexp s = signed_logsumexp(a[0], 1, {.weights = a[1]});
         return {s.value, s.sign};
       }},
      {"signed_logsumexp.large", "list(jsp.logsumexp(a, 0, b=b, return_sign=True))",
       "f32[3,2]=900,-inf,800,-inf,-900,-inf f32[3,2]=-1,1,2,1,4,1",
       [](A a) -> R {
         const SignedLogsumexp s = signed_logsumexp(a[0], 0, {.weights = a[1]});
         return {s.value, s.sign};
       }},
      {"logmeanexp.where", "jnn.logmeanexp(a, 1, where=b)", "f64[2,4] bool[2,4]=1,0,1,1,0,1,0,0",
       [](A a) -> R { return {logmeanexp(a[0], 1, {.where = a[1]})}; }},
      {"count_nonzero.where", "jnp.sum(a != 0, 1, where=b)", "i32[2,4] bool[4]",
       [](A a) -> R { return {count_nonzero(a[0], 1, {.where = a[1]})}; }},
      {"nansum.where", "jnp.nansum(a, 1, where=b, initial=2)",
       "f64[2,4]=1,nan,2,3,nan,4,nan,5 bool[2,4]=1,1,0,1,1,0,0,0",
       [](A a) -> R { return {nansum(a[0], 1, {.where = a[1], .initial = 2})}; }},
      {"nanprod.where", "jnp.nanprod(a, where=b)", "f64[4]=1,nan,2,3 bool[4]=1,1,0,1",
       [](A a) -> R { return {nanprod(a[0], All, {.where = a[1]})}; }},
      {"nanmax.where", "jnp.nanmax(a, 1, where=b, initial=-2)",
       "f64[2,4]=1,nan,2,3,nan,4,nan,5 bool[2,4]=1,1,0,1,1,0,0,0",
       [](A a) -> R { return {nanmax(a[0], 1, {.where = a[1], .initial = -2})}; }},
      {"nanmin.where", "jnp.nanmin(a, where=b, initial=7)", "f32[4]=1,nan,-2,3 bool[4]=1,1,0,1",
       [](A a) -> R { return {nanmin(a[0], All, {.where = a[1], .initial = 7})}; }},
      {"nanmean.where", "jnp.nanmean(a, 1, where=b)",
       "f64[2,4]=1,nan,2,3,nan,4,nan,5 bool[2,4]=1,1,0,1,1,0,0,1",
       [](A a) -> R { return {nanmean(a[0], 1, {.where = a[1]})}; }},
      {"nanvar.where", "jnp.nanvar(a, 1, where=b, ddof=1)",
       "f64[2,4]=1,nan,2,3,nan,4,nan,5 bool[2,4]=1,1,0,1,1,0,0,1",
       [](A a) -> R { return {nanvar(a[0], 1, {.ddof = 1, .where = a[1]})}; }},
      {"nanstd.where", "jnp.nanstd(a, where=b)", "f64[2,2]=1,nan,2,4 bool[2,2]=1,1,0,1",
       [](A a) -> R { return {nanstd(a[0], All, {.where = a[1]})}; }},
  };
  return rows;
}

}  // namespace tessera::functions
