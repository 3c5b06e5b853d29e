// Rows of arithmetic.h.
#include <tessera/arithmetic.h>

#include "functions/rows.h"

namespace tessera::functions {

const Rows& ArithmeticRows() {
  static const Rows rows = {
      {"copysign", "jnp.copysign(a, b)", "f32[5]=1,-2,0,inf,3 f32[5]=-1,2,-0,-3,-inf",
       [](A a) -> R { return {copysign(a[0], a[1])}; }},
      {"signbit", "jnp.signbit(a)", "f64[6]=1,-2,0,-0,-inf,nan",
       [](A a) -> R { return {signbit(a[0])}; }},
      {"heaviside", "jnp.heaviside(a, b)", "f32[5]=-1,0,-0,2,nan f32[5]",
       [](A a) -> R { return {heaviside(a[0], a[1])}; }},
      {"fmax", "jnp.fmax(a, b)", "f32[5]=-1,0,nan,2,nan f32[5]=1,-1,3,nan,nan",
       [](A a) -> R { return {fmax(a[0], a[1])}; }},
      {"fmin", "jnp.fmin(a, b)", "f32[5]=-1,0,nan,2,nan f32[5]=1,-1,3,nan,nan",
       [](A a) -> R { return {fmin(a[0], a[1])}; }},
      {"float_power", "jnp.float_power(a, b)", "f64[4]:0.5:2 f64[4]",
       [](A a) -> R { return {float_power(a[0], a[1])}; }},
      {"gcd", "jnp.gcd(a, b)", "i32[6]=12,-18,0,7,0,100 i32[6]=8,27,5,0,0,-75",
       [](A a) -> R { return {gcd(a[0], a[1])}; }},
      {"lcm", "jnp.lcm(a, b)", "i32[6]=12,-18,0,7,0,100 i32[6]=8,27,5,0,0,-75",
       [](A a) -> R { return {lcm(a[0], a[1])}; }},
      {"ldexp", "jnp.ldexp(a, b)", "f32[4]=1.5,-1,1,1e-30 i32[4]=3,-4,127,120",
       [](A a) -> R { return {ldexp(a[0], a[1])}; }},
      {"frexp", "jnp.frexp(a)", "f32[8]=1.5,-1,0,inf,nan,1e-30,3e38,-0.2",
       [](A a) -> R {
         auto [m, n] = frexp(a[0]);
         return {m, n};
       }},
      {"modf", "jnp.modf(a)", "f32[4]=1.5,-1.25,0,nan",
       [](A a) -> R {
         auto [m, n] = modf(a[0]);
         return {m, n};
       }},
      {"divmod", "jnp.divmod(a, b)", "f32[5]=5,-5,3,0.5,7 f32[5]=3,3,-2,0.25,-3",
       [](A a) -> R {
         auto [q, r] = divmod(a[0], a[1]);
         return {q, r};
       }},
      {"trunc", "jnp.trunc(a)", "f32[6]=1.5,-1.5,-0.2,0,inf,nan",
       [](A a) -> R { return {trunc(a[0])}; }},
      {"fabs", "jnp.fabs(a)", "f32[4]=1.5,-1.5,-0,-inf", [](A a) -> R { return {fabs(a[0])}; }},
      {"sinc", "jnp.sinc(a)", "f64[5]=0,0.5,-1,1.25,3.1", [](A a) -> R { return {sinc(a[0])}; }},
      {"logaddexp2", "jnp.logaddexp2(a, b)", "f64[4] f64[4]",
       [](A a) -> R { return {logaddexp2(a[0], a[1])}; }},
      {"degrees", "jnp.degrees(a)", "f64[4]", [](A a) -> R { return {degrees(a[0])}; }},
      {"radians", "jnp.radians(a)", "f64[4]", [](A a) -> R { return {radians(a[0])}; }},
      {"positive", "jnp.positive(a)", "f64[4]", [](A a) -> R { return {positive(a[0])}; }},
      {"spacing", "jnp.spacing(a)", "f32[4]=1,-3,0.1,1e10",
       [](A a) -> R { return {spacing(a[0])}; }},
      {"isposinf", "jnp.isposinf(a)", "f32[4]=1,inf,-inf,nan",
       [](A a) -> R { return {isposinf(a[0])}; }},
      {"isneginf", "jnp.isneginf(a)", "f32[4]=1,inf,-inf,nan",
       [](A a) -> R { return {isneginf(a[0])}; }},
      {"iscomplex", "jnp.iscomplex(a)", "c64[3]", [](A a) -> R { return {iscomplex(a[0])}; }},
      {"array_equiv", "jnp.array_equiv(a, b)", "i32[2,2]=1,2,1,2 i32[2]=1,2",
       [](A a) -> R { return {array_equiv(a[0], a[1])}; }},
  };
  return rows;
}

}  // namespace tessera::functions
