// The table of special functions.
#include "special_functions.h"

namespace tessera::special_test {
namespace {

Array Whole(const Array& x) { return astype(x, i64); }

#define ONE(name)                                                 \
  {                                                               \
#name, [](const Arrays& x) -> Arrays { return {name(x[0])}; } \
  }
#define TWO(name)                                                       \
  {                                                                     \
#name, [](const Arrays& x) -> Arrays { return {name(x[0], x[1])}; } \
  }
#define THREE(name)                                                           \
  {                                                                           \
#name, [](const Arrays& x) -> Arrays { return {name(x[0], x[1], x[2])}; } \
  }
#define PAIR(name)                                \
  {                                               \
#name, [](const Arrays& x) -> Arrays {          \
      auto [first, second] = name(x[0]);          \
      return {first, second};                     \
    } \
  }
}  // namespace

const std::map<std::string, SpecialFunction>& SpecialFunctions() {
  static const std::map<std::string, SpecialFunction> calls = {
      ONE(gamma),
      ONE(gammasgn),
      ONE(loggamma),
      TWO(betaln),
      TWO(beta),
      ONE(factorial),
      TWO(comb),
      TWO(poch),
      TWO(igamma),
      TWO(igammac),
      TWO(igamma_grad_a),
      TWO(random_gamma_grad),
      THREE(betainc),
      TWO(xlogy),
      TWO(xlog1py),
      ONE(logit),
      ONE(expit),
      ONE(entr),
      TWO(rel_entr),
      TWO(kl_div),
      TWO(boxcox),
      TWO(boxcox1p),
      ONE(ndtr),
      ONE(log_ndtr),
      ONE(ndtri),
      ONE(erfcx),
      ONE(dawsn),
      ONE(wofz),
      TWO(owens_t),
      ONE(i0),
      ONE(i1),
      ONE(expi),
      ONE(exp1),
      TWO(expn),
      ONE(spence),
      PAIR(sici),
      PAIR(fresnel),
      THREE(hyp1f1),
      {"hyp2f1", [](const Arrays& x) -> Arrays { return {hyp2f1(x[0], x[1], x[2], x[3])}; }},
      {"sph_harm_y",
       [](const Arrays& x) -> Arrays {
         return {sph_harm_y(Whole(x[0]), Whole(x[1]), x[2], x[3], {.n_max = 12})};
       }},
  };
  return calls;
}

}  // namespace tessera::special_test
