// Rows of numpy_names.h.
#include <tessera/numpy_names.h>

#include "functions/rows.h"

namespace tessera::functions {

const Rows& NumpyNameRows() {
  static const Rows rows = {
      {"absolute", "jnp.absolute(a)", "f64[4]:-0.9:0.9", [](A a) -> R { return {absolute(a[0])}; }},
      {"negative", "jnp.negative(a)", "f64[4]:-0.9:0.9", [](A a) -> R { return {negative(a[0])}; }},
      {"conjugate", "jnp.conjugate(a)", "f64[4]:-0.9:0.9",
       [](A a) -> R { return {conjugate(a[0])}; }},
      {"arcsin", "jnp.arcsin(a)", "f64[4]:-0.9:0.9", [](A a) -> R { return {arcsin(a[0])}; }},
      {"arccos", "jnp.arccos(a)", "f64[4]:-0.9:0.9", [](A a) -> R { return {arccos(a[0])}; }},
      {"arctan", "jnp.arctan(a)", "f64[4]:-0.9:0.9", [](A a) -> R { return {arctan(a[0])}; }},
      {"arcsinh", "jnp.arcsinh(a)", "f64[4]:-0.9:0.9", [](A a) -> R { return {arcsinh(a[0])}; }},
      {"arctanh", "jnp.arctanh(a)", "f64[4]:-0.9:0.9", [](A a) -> R { return {arctanh(a[0])}; }},
      {"rad2deg", "jnp.rad2deg(a)", "f64[4]:-0.9:0.9", [](A a) -> R { return {rad2deg(a[0])}; }},
      {"deg2rad", "jnp.deg2rad(a)", "f64[4]:-0.9:0.9", [](A a) -> R { return {deg2rad(a[0])}; }},
      {"arccosh", "jnp.arccosh(a)", "f64[4]:1.5:3", [](A a) -> R { return {arccosh(a[0])}; }},
      {"invert", "jnp.invert(a)", "i32[4]", [](A a) -> R { return {invert(a[0])}; }},
      {"bitwise_invert", "jnp.bitwise_invert(a)", "i32[4]",
       [](A a) -> R { return {bitwise_invert(a[0])}; }},
      {"bitwise_count", "jnp.bitwise_count(a)", "i32[4]",
       [](A a) -> R { return {bitwise_count(a[0])}; }},
      {"subtract", "jnp.subtract(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {subtract(a[0], a[1])}; }},
      {"multiply", "jnp.multiply(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {multiply(a[0], a[1])}; }},
      {"true_divide", "jnp.true_divide(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {true_divide(a[0], a[1])}; }},
      {"mod", "jnp.mod(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {mod(a[0], a[1])}; }},
      {"fmod", "jnp.fmod(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {fmod(a[0], a[1])}; }},
      {"power", "jnp.power(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {power(a[0], a[1])}; }},
      {"arctan2", "jnp.arctan2(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {arctan2(a[0], a[1])}; }},
      {"equal", "jnp.equal(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {equal(a[0], a[1])}; }},
      {"not_equal", "jnp.not_equal(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {not_equal(a[0], a[1])}; }},
      {"less", "jnp.less(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {less(a[0], a[1])}; }},
      {"less_equal", "jnp.less_equal(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {less_equal(a[0], a[1])}; }},
      {"greater", "jnp.greater(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {greater(a[0], a[1])}; }},
      {"greater_equal", "jnp.greater_equal(a, b)", "f64[4]:1:3 f64[2,4]:1:3",
       [](A a) -> R { return {greater_equal(a[0], a[1])}; }},
      {"left_shift", "jnp.left_shift(a, b)", "i32[4] i32[4]:0:5",
       [](A a) -> R { return {left_shift(a[0], a[1])}; }},
      {"bitwise_left_shift", "jnp.bitwise_left_shift(a, b)", "i32[4] i32[4]:0:5",
       [](A a) -> R { return {bitwise_left_shift(a[0], a[1])}; }},
      {"right_shift", "jnp.right_shift(a, b)", "i32[4] i32[4]:0:5",
       [](A a) -> R { return {right_shift(a[0], a[1])}; }},
      {"bitwise_right_shift", "jnp.bitwise_right_shift(a, b)", "i32[4] i32[4]:0:5",
       [](A a) -> R { return {bitwise_right_shift(a[0], a[1])}; }},
      {"around", "jnp.around(a, 1)", "f64[4]", [](A a) -> R { return {around(a[0], 1)}; }},
      {"amax", "jnp.amax(a, 1)", "f64[2,4]p", [](A a) -> R { return {amax(a[0], 1)}; }},
      {"amin", "jnp.amin(a)", "f64[2,4]p", [](A a) -> R { return {amin(a[0])}; }},
      {"concat", "jnp.concat([a, b], axis=1)", "f64[2,2] f64[2,1]",
       [](A a) -> R {
         return {concat({a[0], a[1]}, 1)};
       }},
      {"permute_dims", "jnp.permute_dims(a, (1, 0))", "f64[2,4]",
       [](A a) -> R {
         return {permute_dims(a[0], {1, 0})};
       }},
      {"cumulative_sum", "jnp.cumulative_sum(a, axis=1)", "f64[2,4]",
       [](A a) -> R { return {cumulative_sum(a[0], 1)}; }},
      {"cumulative_prod", "jnp.cumulative_prod(a, axis=0)", "f64[4]",
       [](A a) -> R { return {cumulative_prod(a[0], 0)}; }},
      {"take_along_axis", "jnp.take_along_axis(a, b, 1)", "f64[2,4] i32[2,1]=3,0",
       [](A a) -> R { return {take_along_axis(a[0], a[1], 1)}; }},
      {"put_along_axis", "jnp.put_along_axis(a, b, c, 1, inplace=False)",
       "f64[2,4] i32[2,1]=3,0 f64[2,1]",
       [](A a) -> R { return {put_along_axis(a[0], a[1], a[2], 1)}; }},
      {"empty", "jnp.zeros((2, 3))", "",
       [](A) -> R {
         return {empty({2, 3})};
       }},
      {"empty_like", "jnp.zeros_like(a)", "f32[2]", [](A a) -> R { return {empty_like(a[0])}; }},
      {"asarray", "jnp.asarray(a)", "f64[4]", [](A a) -> R { return {asarray(a[0])}; }},
      {"copy", "jnp.copy(a)", "f64[4]", [](A a) -> R { return {copy(a[0])}; }},
      {"apply_along_axis", "jnp.apply_along_axis(jnp.sum, 0, a)", "f64[3,2]",
       [](A a) -> R { return {apply_along_axis([](Array v) { return sum(v); }, 0, a[0])}; }},
      {"apply_over_axes", "jnp.apply_over_axes(jnp.sum, a, [0])", "f64[3,2]",
       [](A a) -> R {
         return {apply_over_axes([](Array v, int d) { return sum(v, d); }, a[0], 0)};
       }},
  };
  return rows;
}

}  // namespace tessera::functions
