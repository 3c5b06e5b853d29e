// Rows of statistics.h.
#include <tessera/statistics.h>

#include "functions/rows.h"

namespace tessera::functions {

const Rows& StatisticRows() {
  static const Rows rows = {
      {"nansum", "jnp.nansum(a, 1)", "f32[2,4]=1,nan,2,3,nan,nan,nan,nan",
       [](A a) -> R { return {nansum(a[0], 1)}; }},
      {"nanprod", "jnp.nanprod(a)", "f64[4]=1,nan,2,3", [](A a) -> R { return {nanprod(a[0])}; }},
      {"nanmax", "jnp.nanmax(a, 1)", "f32[2,4]=1,nan,2,3,nan,nan,nan,nan",
       [](A a) -> R { return {nanmax(a[0], 1)}; }},
      {"nanmin", "jnp.nanmin(a, 0, keepdims=True)", "f64[2,2]=1,nan,2,3",
       [](A a) -> R { return {nanmin(a[0], 0, {.keepdims = true})}; }},
      {"nanmin.i32", "jnp.nanmin(a)", "i32[4]", [](A a) -> R { return {nanmin(a[0])}; }},
      {"nanmean", "jnp.nanmean(a, 1)", "f32[2,4]=1,nan,2,3,nan,nan,nan,nan",
       [](A a) -> R { return {nanmean(a[0], 1)}; }},
      {"nanvar", "jnp.nanvar(a, 1, ddof=1)", "f64[2,4]=1,nan,2,3,nan,nan,5,nan",
       [](A a) -> R { return {nanvar(a[0], 1, {.ddof = 1})}; }},
      {"nanstd", "jnp.nanstd(a)", "f64[2,4]=1,nan,2,3,nan,nan,5,nan",
       [](A a) -> R { return {nanstd(a[0])}; }},
      {"nanmedian", "jnp.nanmedian(a, 1)", "f64[2,4]=1,nan,4,3,nan,nan,5,nan",
       [](A a) -> R { return {nanmedian(a[0], 1)}; }},
      {"nanquantile", "jnp.nanquantile(a, b, 1)",
       "f64[3,4]=1,nan,4,3,nan,nan,nan,nan,1,2,3,5 f64[2]=0.3,0.9",
       [](A a) -> R { return {nanquantile(a[0], a[1], 1)}; }},
      {"nanquantile.lower", "jnp.nanquantile(a, 0.4, (0, 1), method='lower', keepdims=True)",
       "f32[2,2,2]=1,nan,4,3,7,nan,-2,5",
       [](A a) -> R {
         return {
             nanquantile(a[0], 0.4, {0, 1}, {.method = QuantileMethod::kLower, .keepdims = true})};
       }},
      {"nanpercentile", "jnp.nanpercentile(a, 30)", "f64[4]=1,nan,4,3",
       [](A a) -> R { return {nanpercentile(a[0], 30)}; }},
      {"nanargmax", "jnp.nanargmax(a, 1)", "f32[2,4]=1,nan,4,3,nan,nan,nan,nan",
       [](A a) -> R { return {nanargmax(a[0], 1)}; }},
      {"nanargmin", "jnp.nanargmin(a, 0)", "f32[2,2]=1,nan,0,3",
       [](A a) -> R { return {nanargmin(a[0], 0)}; }},
      {"nancumsum", "jnp.nancumsum(a, 1)", "f64[2,4]=1,nan,4,3,nan,nan,5,nan",
       [](A a) -> R { return {nancumsum(a[0], 1)}; }},
      {"nancumprod", "jnp.nancumprod(a, 0)", "f64[4]=2,nan,4,3",
       [](A a) -> R { return {nancumprod(a[0], 0)}; }},
      {"cov", "jnp.cov(a)", "f64[3,6]", [](A a) -> R { return {cov(a[0])}; }},
      {"cov.columns", "jnp.cov(a, rowvar=False, bias=True)", "f64[6,2]",
       [](A a) -> R { return {cov(a[0], {.rowvar = false, .bias = true})}; }},
      {"cov.weights", "jnp.cov(a, fweights=b, aweights=c, ddof=1)",
       "f64[2,4] i32[4]=1,2,1,3 f64[4]:0.5:2",
       [](A a) -> R { return {cov(a[0], {.ddof = 1, .fweights = a[1], .aweights = a[2]})}; }},
      {"cov.line", "jnp.cov(a)", "f32[5]", [](A a) -> R { return {cov(a[0])}; }},
      {"corrcoef", "jnp.corrcoef(a)", "f64[3,6]", [](A a) -> R { return {corrcoef(a[0])}; }},
      {"convolve", "jnp.convolve(a, b)", "f64[5] f64[3]",
       [](A a) -> R { return {convolve(a[0], a[1])}; }},
      {"convolve.same", "jnp.convolve(a, b, mode='same')", "f64[3] f64[6]",
       [](A a) -> R { return {convolve(a[0], a[1], ConvolveMode::kSame)}; }},
      {"convolve.valid", "jnp.convolve(a, b, mode='valid')", "f32[6] f32[2]",
       [](A a) -> R { return {convolve(a[0], a[1], ConvolveMode::kValid)}; }},
      {"correlate", "jnp.correlate(a, b)", "f64[6] f64[2]",
       [](A a) -> R { return {correlate(a[0], a[1])}; }},
      {"correlate.full", "jnp.correlate(a, b, mode='full')", "f64[3] f64[4]",
       [](A a) -> R { return {correlate(a[0], a[1], ConvolveMode::kFull)}; }},
      {"gradient", "jnp.gradient(a)", "f64[4,3]", [](A a) -> R { return gradient(a[0]); }},
      {"gradient.spacing", "[jnp.gradient(a, 0.5, axis=1)]", "f32[2,4]",
       [](A a) -> R { return gradient(a[0], 1, {.spacing = 0.5}); }},
      {"gradient.coordinates", "[jnp.gradient(a, b)]", "f64[5] f64[5]=0,1,1.5,3,3.25",
       [](A a) -> R { return gradient(a[0], 0, {.coordinates = {a[1]}}); }},
      {"trapezoid", "jnp.trapezoid(a)", "f64[2,4]", [](A a) -> R { return {trapezoid(a[0])}; }},
      {"trapezoid.x", "jnp.trapezoid(a, b, axis=0)", "f64[4,2] f64[4,1]",
       [](A a) -> R { return {trapezoid(a[0], {.x = a[1], .dim = 0})}; }},
      {"trapezoid.line", "jnp.trapezoid(a, b, dx=9)", "f32[2,4] f32[4]",
       [](A a) -> R { return {trapezoid(a[0], {.x = a[1]})}; }},
      {"interp", "jnp.interp(a, b, c)", "f64[8]:-1:4 f64[4]=0,1,2,3 f64[4]",
       [](A a) -> R { return {interp(a[0], a[1], a[2])}; }},
      {"interp.ends", "jnp.interp(a, b, c, left=-9, right=9)",
       "f32[6]=-1,0,0.5,3,3.5,nan f32[3]=0,1,3 f32[3]",
       [](A a) -> R { return {interp(a[0], a[1], a[2], {.left = -9, .right = 9})}; }},
      {"interp.period", "jnp.interp(a, b, c, period=4)", "f64[6]:-9:9 f64[3]=3,-3,6 f64[3]",
       [](A a) -> R { return {interp(a[0], a[1], a[2], {.period = 4})}; }},
      {"map_coordinates.constant0", "map_coordinates(a, [b, c], 0, mode='constant', cval=3)",
       "f64[4,3] f64[2,5]:-9:9 f64[2,5]:-9:9",
       [](A a) -> R {
         return {map_coordinates(a[0], {a[1], a[2]},
                                 {.order = 0, .mode = EdgeMode::kConstant, .fill_value = 3})};
       }},
      {"map_coordinates.constant1", "map_coordinates(a, [b, c], 1, mode='constant', cval=3)",
       "f64[4,3] f64[2,5]:-9:9 f64[2,5]:-9:9",
       [](A a) -> R {
         return {map_coordinates(a[0], {a[1], a[2]},
                                 {.order = 1, .mode = EdgeMode::kConstant, .fill_value = 3})};
       }},
      {"map_coordinates.nearest0", "map_coordinates(a, [b, c], 0, mode='nearest', cval=3)",
       "f64[4,3] f64[2,5]:-9:9 f64[2,5]:-9:9",
       [](A a) -> R {
         return {map_coordinates(a[0], {a[1], a[2]},
                                 {.order = 0, .mode = EdgeMode::kNearest, .fill_value = 3})};
       }},
      {"map_coordinates.nearest1", "map_coordinates(a, [b, c], 1, mode='nearest', cval=3)",
       "f64[4,3] f64[2,5]:-9:9 f64[2,5]:-9:9",
       [](A a) -> R {
         return {map_coordinates(a[0], {a[1], a[2]},
                                 {.order = 1, .mode = EdgeMode::kNearest, .fill_value = 3})};
       }},
      {"map_coordinates.wrap0", "map_coordinates(a, [b, c], 0, mode='wrap', cval=3)",
       "f64[4,3] f64[2,5]:-9:9 f64[2,5]:-9:9",
       [](A a) -> R {
         return {map_coordinates(a[0], {a[1], a[2]},
                                 {.order = 0, .mode = EdgeMode::kWrap, .fill_value = 3})};
       }},
      {"map_coordinates.wrap1", "map_coordinates(a, [b, c], 1, mode='wrap', cval=3)",
       "f64[4,3] f64[2,5]:-9:9 f64[2,5]:-9:9",
       [](A a) -> R {
         return {map_coordinates(a[0], {a[1], a[2]},
                                 {.order = 1, .mode = EdgeMode::kWrap, .fill_value = 3})};
       }},
      {"map_coordinates.mirror0", "map_coordinates(a, [b, c], 0, mode='mirror', cval=3)",
       "f64[4,3] f64[2,5]:-9:9 f64[2,5]:-9:9",
       [](A a) -> R {
         return {map_coordinates(a[0], {a[1], a[2]},
                                 {.order = 0, .mode = EdgeMode::kMirror, .fill_value = 3})};
       }},
      {"map_coordinates.mirror1", "map_coordinates(a, [b, c], 1, mode='mirror', cval=3)",
       "f64[4,3] f64[2,5]:-9:9 f64[2,5]:-9:9",
       [](A a) -> R {
         return {map_coordinates(a[0], {a[1], a[2]},
                                 {.order = 1, .mode = EdgeMode::kMirror, .fill_value = 3})};
       }},
      {"map_coordinates.reflect0", "map_coordinates(a, [b, c], 0, mode='reflect', cval=3)",
       "f64[4,3] f64[2,5]:-9:9 f64[2,5]:-9:9",
       [](A a) -> R {
         return {map_coordinates(a[0], {a[1], a[2]},
                                 {.order = 0, .mode = EdgeMode::kReflect, .fill_value = 3})};
       }},
      {"map_coordinates.reflect1", "map_coordinates(a, [b, c], 1, mode='reflect', cval=3)",
       "f64[4,3] f64[2,5]:-9:9 f64[2,5]:-9:9",
       [](A a) -> R {
         return {map_coordinates(a[0], {a[1], a[2]},
                                 {.order = 1, .mode = EdgeMode::kReflect, .fill_value = 3})};
       }},
      {"map_coordinates.ints", "map_coordinates(a, [b], 1)", "i32[6]:-9:9 f32[8]:0:6",
       [](A a) -> R { return {map_coordinates(a[0], {a[1]})}; }},
      {"map_coordinates.numbers", "map_coordinates(a, [b, c], 1)", "f32[4,4] i32[3]:0:4 f32[3]:0:3",
       [](A a) -> R {
         return {map_coordinates(a[0], {a[1], a[2]})};
       }},
      {"unwrap", "jnp.unwrap(a)", "f64[2,6]:-9:9", [](A a) -> R { return {unwrap(a[0])}; }},
      {"unwrap.period", "jnp.unwrap(a, period=2, discont=1.5, axis=0)", "f64[6]:-9:9",
       [](A a) -> R { return {unwrap(a[0], {.dim = 0, .discont = 1.5, .period = 2})}; }},
      {"bartlett", "jnp.bartlett(5)", "", [](A) -> R { return {bartlett(5)}; }},
      {"blackman", "jnp.blackman(6)", "", [](A) -> R { return {blackman(6)}; }},
      {"hamming", "jnp.hamming(6)", "", [](A) -> R { return {hamming(6)}; }},
      {"hanning", "jnp.hanning(1)", "", [](A) -> R { return {hanning(1)}; }},
      {"kaiser", "jnp.kaiser(6, 8.6)", "", [](A) -> R { return {kaiser(6, 8.6)}; }},
      {"vecdot", "jnp.vecdot(a, b)", "c128[2,3] c128[3]",
       [](A a) -> R { return {vecdot(a[0], a[1])}; }},
      {"vecdot.dim", "jnp.vecdot(a, b, axis=0)", "f64[3,2] f64[3,2]",
       [](A a) -> R { return {vecdot(a[0], a[1], 0)}; }},
      {"matvec", "jnp.matvec(a, b)", "f64[2,3,4] f64[4]",
       [](A a) -> R { return {matvec(a[0], a[1])}; }},
      {"vecmat", "jnp.vecmat(a, b)", "f64[3] f64[2,3,4]",
       [](A a) -> R { return {vecmat(a[0], a[1])}; }},
  };
  return rows;
}

}  // namespace tessera::functions
