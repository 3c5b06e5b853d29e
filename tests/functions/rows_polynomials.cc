// Rows of polynomials.h.
#include <tessera/polynomials.h>
#include <tessera/sort.h>

#include "functions/rows.h"

namespace tessera::functions {

const Rows& PolynomialRows() {
  static const Rows rows = {
      {"polyval", "jnp.polyval(a, b)", "f64[4] f64[2,3]",
       [](A a) -> R { return {polyval(a[0], a[1])}; }},
      {"polyadd", "jnp.polyadd(a, b)", "f64[4] f64[2]",
       [](A a) -> R { return {polyadd(a[0], a[1])}; }},
      {"polysub", "jnp.polysub(a, b)", "i32[2] i32[4]",
       [](A a) -> R { return {polysub(a[0], a[1])}; }},
      {"polymul", "jnp.polymul(a, b)", "f64[4] f64[2]",
       [](A a) -> R { return {polymul(a[0], a[1])}; }},
      {"polydiv", "jnp.polydiv(a, b)", "f64[5] f64[2]:1:2",
       [](A a) -> R {
         auto [q, r] = polydiv(a[0], a[1]);
         return {q, r};
       }},
      {"polyder", "jnp.polyder(a, 2)", "f64[5]", [](A a) -> R { return {polyder(a[0], 2)}; }},
      {"polyint", "jnp.polyint(a, 2, b)", "f64[3] f64[2]",
       [](A a) -> R { return {polyint(a[0], 2, a[1])}; }},
      {"polyfit", "(lambda v: jnp.linalg.solve(v.T @ v, v.T @ b))(jnp.vander(a, 3))",
       "f64[6]:0.5:2 f64[6]", [](A a) -> R { return {polyfit(a[0], a[1], 2)}; }, 1e-9},
      {"polyfit.weights",
       "(lambda w: jnp.linalg.solve(w.T @ w, w.T @ (b * c[:, None])))(jnp.vander(a, 2) * c[:, "
       "None])",
       "f64[5]:0.5:2 f64[5,2] f64[5]:1:2",
       [](A a) -> R { return {polyfit(a[0], a[1], 1, {.w = a[2]})}; }, 1e-9},
      {"polyfit_all", "[*jnp.polyfit(a, b, 2, full=True)[:4], jnp.polyfit(a, b, 2, cov=True)[1]]",
       "f64[6]=0.5,1,1.5,2,2.5,3 f64[6]",
       [](A a) -> R {
         const Polyfit p = polyfit_all(a[0], a[1], 2);
         return {p.coefficients, p.residuals, p.rank, p.singular_values, p.covariance};
       },
       1e-9},
      {"polyfit_all.unscaled", "(lambda c, v: [c, v])(*jnp.polyfit(a, b, 1, w=c, cov='unscaled'))",
       "f64[4]=0.5,1,1.5,2 f64[4,2] f64[4]:1:2",
       [](A a) -> R {
         const Polyfit p = polyfit_all(a[0], a[1], 1, {.w = a[2], .unscaled = true});
         return {p.coefficients, p.covariance};
       },
       1e-9},
      {"poly", "jnp.poly(a)", "f64[3]", [](A a) -> R { return {poly(a[0])}; }},
      {"roots", "jnp.sort_complex(jnp.roots(a, strip_zeros=False))", "f64[4]=1,-6,11,-6",
       [](A a) -> R { return {sort(roots(a[0]))}; }, 1e-9},
      {"vander", "jnp.vander(a)", "f64[3]", [](A a) -> R { return {vander(a[0])}; }},
      {"vander.increasing", "jnp.vander(a, 4, increasing=True)", "f64[3]",
       [](A a) -> R { return {vander(a[0], {.columns = 4, .increasing = true})}; }},
  };
  return rows;
}

}  // namespace tessera::functions
