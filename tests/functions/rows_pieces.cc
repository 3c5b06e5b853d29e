// Rows of pieces.h.
#include <tessera/pieces.h>

#include "functions/rows.h"

namespace tessera::functions {

const Rows& PieceRows() {
  static const Rows rows = {
      {"vstack", "jnp.vstack([a, b])", "f32[4] f32[2,4]",
       [](A a) -> R {
         return {vstack({a[0], a[1]})};
       }},
      {"hstack", "jnp.hstack([a, b])", "f32[2] f32[3]",
       [](A a) -> R {
         return {hstack({a[0], a[1]})};
       }},
      {"hstack.matrices", "jnp.hstack([a, b])", "f32[2,2] f32[2,3]",
       [](A a) -> R {
         return {hstack({a[0], a[1]})};
       }},
      {"dstack", "jnp.dstack([a, b])", "f64[2,3] f64[2,3]",
       [](A a) -> R {
         return {dstack({a[0], a[1]})};
       }},
      {"column_stack", "jnp.column_stack([a, b])", "f64[2] f64[2,3]",
       [](A a) -> R {
         return {column_stack({a[0], a[1]})};
       }},
      {"block", "jnp.block([[a, b], [c]])", "f64[2,2] f64[2,1] f64[1,3]",
       [](A a) -> R {
         return {block({{a[0], a[1]}, {a[2]}})};
       }},
      {"array_split", "jnp.array_split(a, 3)", "f64[8]",
       [](A a) -> R { return array_split(a[0], 3); }},
      {"hsplit", "jnp.hsplit(a, 2)", "f64[2,4]", [](A a) -> R { return hsplit(a[0], 2); }},
      {"vsplit", "jnp.vsplit(a, 2)", "f64[4,2]", [](A a) -> R { return vsplit(a[0], 2); }},
      {"dsplit", "jnp.dsplit(a, 2)", "f64[2,1,4]", [](A a) -> R { return dsplit(a[0], 2); }},
      {"atleast_3d", "jnp.atleast_3d(a)", "f64[2,4]", [](A a) -> R { return {atleast_3d(a[0])}; }},
      {"broadcast_arrays", "jnp.broadcast_arrays(a, b)", "f64[2,1] f64[3]",
       [](A a) -> R {
         return broadcast_arrays({a[0], a[1]});
       }},
      {"broadcast_shapes", "jnp.zeros(jnp.broadcast_shapes((2, 1), (3,)))", "",
       [](A) -> R {
         return {zeros(broadcast_shapes({{2, 1}, {3}}))};
       }},
      {"fliplr", "jnp.fliplr(a)", "f64[2,4]", [](A a) -> R { return {fliplr(a[0])}; }},
      {"flipud", "jnp.flipud(a)", "f64[2,4]", [](A a) -> R { return {flipud(a[0])}; }},
      {"rot90", "jnp.rot90(a)", "f64[2,4]", [](A a) -> R { return {rot90(a[0])}; }},
      {"rot90.thrice", "jnp.rot90(a, 3, (1, 2))", "f64[2,2,3]",
       [](A a) -> R {
         return {rot90(a[0], 3, {1, 2})};
       }},
      {"rollaxis", "jnp.rollaxis(a, 2, 1)", "f64[2,3,4]",
       [](A a) -> R { return {rollaxis(a[0], 2, 1)}; }},
      {"pad.edge", "jnp.pad(a, ((2, 1), (0, 3)), mode='edge')", "f64[2,4]",
       [](A a) -> R {
         return {pad(a[0], {{2, 1}, {0, 3}}, PadMode::kEdge)};
       }},
      {"pad.reflect", "jnp.pad(a, ((1, 3), (9, 4)), mode='reflect')", "f64[2,4]",
       [](A a) -> R {
         return {pad(a[0], {{1, 3}, {9, 4}}, PadMode::kReflect)};
       }},
      {"pad.symmetric", "jnp.pad(a, ((3, 0), (5, 9)), mode='symmetric')", "f64[2,4]",
       [](A a) -> R {
         return {pad(a[0], {{3, 0}, {5, 9}}, PadMode::kSymmetric)};
       }},
      {"pad.wrap", "jnp.pad(a, ((1, 5), (6, 0)), mode='wrap')", "f64[2,4]",
       [](A a) -> R {
         return {pad(a[0], {{1, 5}, {6, 0}}, PadMode::kWrap)};
       }},
      {"pad.reflect_of_one", "jnp.pad(a, ((2, 1),), mode='reflect')", "f64[1]",
       [](A a) -> R {
         return {pad(a[0], {{2, 1}}, PadMode::kReflect)};
       }},
      {"pad.linear_ramp", "jnp.pad(a, ((2, 1), (3, 2)), mode='linear_ramp', end_values=1.5)",
       "f64[2,4]",
       [](A a) -> R {
         return {pad(a[0], {{2, 1}, {3, 2}}, PadMode::kLinearRamp, {.end_value = 1.5})};
       }},
      {"pad.maximum", "jnp.pad(a, ((0, 1), (1, 0)), mode='maximum')", "f64[2,4]p",
       [](A a) -> R {
         return {pad(a[0], {{0, 1}, {1, 0}}, PadMode::kMaximum)};
       }},
      {"pad.minimum", "jnp.pad(a, ((0, 1), (1, 0)), mode='minimum')", "f64[2,4]p",
       [](A a) -> R {
         return {pad(a[0], {{0, 1}, {1, 0}}, PadMode::kMinimum)};
       }},
      {"pad.mean", "jnp.pad(a, ((0, 1), (1, 0)), mode='mean')", "f64[2,4]",
       [](A a) -> R {
         return {pad(a[0], {{0, 1}, {1, 0}}, PadMode::kMean)};
       }},
      {"pad.mean_of_ints", "jnp.pad(a, ((0, 1), (1, 0)), mode='mean')", "i32[2,4]",
       [](A a) -> R {
         return {pad(a[0], {{0, 1}, {1, 0}}, PadMode::kMean)};
       }},
      {"repeat.counts", "jnp.repeat(a, jnp.array([2, 0, 1, 3]), axis=1, total_repeat_length=6)",
       "f64[2,4]",
       [](A a) -> R {
         return {repeat(a[0], array({2, 0, 1, 3}), 1)};
       }},
      {"repeat.counts_beyond",
       "jnp.repeat(a, jnp.array([2, 0, 1, 1]), axis=1, total_repeat_length=7)", "f64[2,4]",
       [](A a) -> R {
         return {repeat(a[0], array({2, 0, 1, 1}), 1, {.total = 7})};
       }},
      {"repeat.counts_cut", "jnp.repeat(a, jnp.array([2, 1]), axis=0, total_repeat_length=2)",
       "f64[2,4]",
       [](A a) -> R {
         return {repeat(a[0], array({2, 1}), 0, {.total = 2})};
       }},
      {"take.clip", "jnp.take(a, jnp.array([-7, -1, 0, 3, 9]), axis=1, mode='clip')", "f64[2,4]",
       [](A a) -> R {
         return {take(a[0], array({-7, -1, 0, 3, 9}), 1, {.mode = TakeMode::kClip})};
       }},
      {"take.wrap", "jnp.take(a, jnp.array([-7, -1, 0, 3, 9]), axis=1, mode='wrap')", "f64[2,4]",
       [](A a) -> R {
         return {take(a[0], array({-7, -1, 0, 3, 9}), 1, {.mode = TakeMode::kWrap})};
       }},
      {"take.fill_value",
       "jnp.take(a, jnp.array([-7, -1, 0, 3, 9]), axis=1, mode='fill', fill_value=-1.5)",
       "f64[2,4]",
       [](A a) -> R {
         return {take(a[0], array({-7, -1, 0, 3, 9}), 1, {.fill_value = -1.5})};
       }},
      {"resize", "jnp.resize(a, (3, 3))", "f64[2,2]",
       [](A a) -> R {
         return {resize(a[0], {3, 3})};
       }},
      {"delete_", "jnp.delete(a, np.array([1, -1]), axis=1)", "f64[2,5]",
       [](A a) -> R {
         return {delete_(a[0], {1, -1}, 1)};
       }},
      {"insert", "jnp.insert(a, 1, b, axis=0)", "f64[3,2] f64[2]",
       [](A a) -> R { return {insert(a[0], 1, a[1], 0)}; }},
      {"ediff1d", "jnp.ediff1d(a, to_begin=b, to_end=c)", "f64[2,3] f64[1] f64[2]",
       [](A a) -> R { return {ediff1d(a[0], {.before = a[1], .after = a[2]})}; }},
      {"packbits", "jnp.packbits(a, axis=1)", "bool[2,10]",
       [](A a) -> R { return {packbits(a[0], {.dim = 1})}; }},
      {"packbits.little", "jnp.packbits(a, axis=0, bitorder='little')", "i32[9,2]:0:2",
       [](A a) -> R { return {packbits(a[0], {.dim = 0, .little = true})}; }},
      {"unpackbits", "jnp.unpackbits(a, axis=1)", "u8[2,3]:0:256",
       [](A a) -> R { return {unpackbits(a[0], {.dim = 1})}; }},
      {"select", "jnp.select([a > 1, a > 0], [a, b], 7.)", "f32[6] f32[6]",
       [](A a) -> R {
         return {select({a[0] > 1, a[0] > 0}, {a[0], a[1]}, 7.0)};
       }},
      {"choose", "jnp.choose(a, [b, c], mode='clip')", "i32[6]:-1:3 f32[6] f32[6]",
       [](A a) -> R {
         return {choose(a[0], {a[1], a[2]})};
       }},
      {"piecewise", "jnp.piecewise(a, [a < -1, a > 0], [lambda x: -x, lambda x: x * x, 3.])",
       "f32[6]",
       [](A a) -> R {
         return {piecewise(a[0], {a[0]<-1, a[0]> 0},
                           {[](Array x) { return -x; }, [](Array x) { return x * x; },
                            [](Array x) { return full_like(x, 3.0); }})};
       }},
      {"put_along_dim", "jnp.put_along_axis(a, b, c, 1, inplace=False)",
       "f64[2,4] i32[2,2]=0,2,1,3 f64[2,2]",
       [](A a) -> R { return {put_along_dim(a[0], a[1], a[2], 1)}; }},
      {"put", "jnp.put(a, b, c, inplace=False)", "f64[2,4] i32[3]=0,5,-1 f64[2]",
       [](A a) -> R { return {put(a[0], a[1], a[2])}; }},
      {"place", "jnp.place(a, b, c, inplace=False)", "f64[2,4] bool[2,4] f64[2]",
       [](A a) -> R { return {place(a[0], a[1], a[2])}; }},
      {"fill_diagonal", "jnp.fill_diagonal(a, 5., inplace=False)", "f64[3,4]",
       [](A a) -> R { return {fill_diagonal(a[0], 5.0)}; }},
      {"fill_diagonal.values", "jnp.fill_diagonal(a, b, inplace=False)", "f64[3,3] f64[3]",
       [](A a) -> R { return {fill_diagonal(a[0], a[1])}; }},
      {"tri", "jnp.tri(3, 4, 1)", "",
       [](A) -> R { return {tri(3, {.dtype = f32, .columns = 4, .k = 1})}; }},
      {"tril_indices", "jnp.tril_indices(3, -1, 4)", "",
       [](A) -> R { return tril_indices(3, {.k = -1, .columns = 4}); }},
      {"triu_indices", "jnp.triu_indices(3)", "", [](A) -> R { return triu_indices(3); }},
      {"tril_indices_from", "jnp.tril_indices_from(a)", "f32[2,3]",
       [](A a) -> R { return tril_indices_from(a[0]); }},
      {"triu_indices_from", "jnp.triu_indices_from(a, 1)", "f32[2,3]",
       [](A a) -> R { return triu_indices_from(a[0], 1); }},
      {"diag_indices", "jnp.diag_indices(3)", "", [](A) -> R { return diag_indices(3); }},
      {"diag_indices_from", "jnp.diag_indices_from(a)", "f32[2,2,2]",
       [](A a) -> R { return diag_indices_from(a[0]); }},
      {"indices", "jnp.indices((2, 3))", "",
       [](A) -> R {
         return {indices({2, 3})};
       }},
      {"ix_", "jnp.ix_(a, b)", "i32[2] i32[3]",
       [](A a) -> R {
         return ix_({a[0], a[1]});
       }},
      {"unravel_index", "jnp.unravel_index(a, (3, 4))", "i32[5]=0,11,5,-1,20",
       [](A a) -> R {
         return unravel_index(a[0], {3, 4});
       }},
      {"ravel_multi_index", "jnp.ravel_multi_index((a, b), (3, 4), mode='wrap')",
       "i32[4]=0,2,3,-1 i32[4]=0,3,5,-2",
       [](A a) -> R {
         return {ravel_multi_index({a[0], a[1]}, {3, 4}, IndexMode::kWrap)};
       }},
      {"diagflat", "jnp.diagflat(a, 1)", "f64[2,2]", [](A a) -> R { return {diagflat(a[0], 1)}; }},
      {"fft::fftfreq", "jnp.fft.fftfreq(5, 0.1)", "",
       [](A) -> R { return {fft::fftfreq(5, {.d = 0.1})}; }},
      {"fft::rfftfreq", "jnp.fft.rfftfreq(6)", "", [](A) -> R { return {fft::rfftfreq(6)}; }},
      {"fft::ifftshift", "jnp.fft.ifftshift(a)", "f64[5]",
       [](A a) -> R { return {fft::ifftshift(a[0])}; }},
      {"geomspace", "jnp.geomspace(a, b, 4)", "f64[2]:1:2 f64[2]:3:9",
       [](A a) -> R { return {geomspace(a[0], a[1], 4)}; }},
      {"apply_along_dim", "jnp.apply_along_axis(lambda v: v * v.sum(), 0, a)", "f64[3,2]",
       [](A a) -> R { return {apply_along_dim([](Array v) { return v * sum(v); }, 0, a[0])}; }},
      {"apply_along_dim.scalar", "jnp.apply_along_axis(jnp.sum, 1, a)", "f64[3,2,2]",
       [](A a) -> R { return {apply_along_dim([](Array v) { return sum(v); }, 1, a[0])}; }},
      {"apply_over_dims", "jnp.apply_over_axes(jnp.sum, a, [0, 2])", "f64[3,2,2]",
       [](A a) -> R {
         return {apply_over_dims([](Array v, int d) { return sum(v, d); }, a[0], {0, 2})};
       }},
      {"vectorize", "jnp.vectorize(lambda x, y: x * y + 1)(a, b)", "f64[2,1] f64[3]",
       [](A a) -> R {
         return {vectorize([](Array x, Array y) { return x * y + 1; })(a[0], a[1])};
       }},
      {"fromfunction", "jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype='float32')", "",
       [](A) -> R {
         return {fromfunction([](std::vector<Array> i) { return 10 * i[0] + i[1]; }, {2, 3})};
       }},
  };
  return rows;
}

}  // namespace tessera::functions
