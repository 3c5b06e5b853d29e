// Wrong shapes, dtypes and options of NumPy's functions.
#include <gmock/gmock.h>
#include <tessera/arithmetic.h>
#include <tessera/distributions.h>
#include <tessera/pieces.h>
#include <tessera/polynomials.h>
#include <tessera/sets.h>
#include <tessera/special.h>
#include <tessera/statistics.h>
#include <tessera/tessera.h>

#include "cases.h"

namespace tessera::numpy_errors_test {
namespace {

const std::vector<RefusedCase>& Cases() {
  static const std::vector<RefusedCase> cases = {
      {"searchsorted_rank",
       [] {
         searchsorted(ones({2, 2}), ones({2}));
       }},
      {"digitize_rank",
       [] {
         digitize(ones({2}), ones({2, 2}));
       }},
      {"bincount_floats", [] { bincount(ones({2})); }},
      {"bincount_weights",
       [] {
         bincount(array({1, 2}), {.weights = ones({3}), .length = 3});
       }},
      {"bincount_traced",
       [] {
         jit([](Array x) { return bincount(x); })(array({1, 2}));
       }},
      {"bincount_length",
       [] {
         bincount(array({1, 2}), {.length = -1});
       }},
      {"heaviside_complex", [] { heaviside(complex(ones({2}), ones({2})), 1.0); }},
      {"trapezoid_one_place", [] { trapezoid(ones({5}), {.x = array({3.0})}); }},
      {"trapezoid_places",
       [] {
         trapezoid(ones({2, 1}), {.x = array({3.0, 4.0, 5.0})});
       }},
      {"repeat_negative",
       [] {
         repeat(array({1, 2, 3}), array({2, -1, 1}), 0);
       }},
      {"multivariate_normal_vectors",
       [] { stats::multivariate_normal::logpdf(ones({4}), ones({1}), 1.0); }},
      {"multivariate_normal_number",
       [] { stats::multivariate_normal::logpdf(1.0, ones({3}), eye(3)); }},
      {"multivariate_normal_of_numbers",
       [] { stats::multivariate_normal::logpdf(ones({2}), 0.0, eye(2)); }},
      {"histogram_bins", [] { histogram(ones({2}), {.bins = 0}); }},
      {"histogram_weights", [] { histogram(ones({2}), {.weights = ones({3})}); }},
      {"histogramdd_rank", [] { histogramdd(ones({2})); }},
      {"histogramdd_bins",
       [] {
         histogramdd(ones({2, 3}), {.bins = {2, 2}});
       }},
      {"histogramdd_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         histogramdd(abstract_array("f32[8,2@x]"),
                     {.edges = {ones({3}), abstract_array("f32[4@x]")}});
       }},
      {"ediff1d_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         ediff1d(abstract_array("f32[16@x]"));
       }},
      {"gradient_sharded_coordinates",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}, {"y", 2}}));
         gradient(abstract_array("f32[16@x,4]"), 0, {.coordinates = {abstract_array("f32[16@y]")}});
       }},
      {"nancumsum_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         nancumsum(abstract_array("f32[16@x,4]"), 0, {.reverse = true});
       }},
      {"geomspace_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         geomspace(abstract_array("f32[16@x]"), abstract_array("f32[16]{U:x}"), 5,
                   {.endpoint = false});
       }},
      {"segment_sum_ids",
       [] {
         segment_sum(ones({3, 2}), array({0, 1}));
       }},
      {"segment_sum_floats", [] { segment_sum(ones({2}), ones({2})); }},
      {"segment_sum_sharded",
       [] {
         MeshScope scope(abstract_mesh({{"x", 2}}));
         segment_sum(abstract_array("f32[8@x,4]"), abstract_array("i32[8@x]"), {.num_segments = 4});
       }},
      {"segment_sum_abstract",
       [] { segment_sum(abstract_array("f32[8,4]"), abstract_array("i32[8]")); }},
      {"nonzero_scalar", [] { nonzero(ones({})); }},
      {"nonzero_traced", [] { jit([](Array x) { return nonzero(x)[0]; })(ones({2})); }},
      {"nonzero_size", [] { nonzero(ones({2}), {.size = -2}); }},
      {"compress_longer",
       [] {
         compress(ones({4}), ones({3, 2}), 0);
       }},
      {"unique_size", [] { unique(ones({2}), {.size = -2}); }},
      {"lexsort_nothing", [] { lexsort({}); }},
      {"partition_place", [] { partition(ones({4}), 4); }},
      {"nanquantile_empty", [] { nanquantile(ones({0}), 0.5); }},
      {"cov_rank",
       [] {
         cov(ones({2, 2, 2}));
       }},
      {"cov_weights",
       [] {
         cov(ones({2, 3}), {.fweights = ones({2})});
       }},
      {"convolve_empty", [] { convolve(ones({0}), ones({2})); }},
      {"convolve_rank",
       [] {
         convolve(ones({2, 2}), ones({2}));
       }},
      {"gradient_one", [] { gradient(ones({1})); }},
      {"gradient_coordinates", [] { gradient(ones({3}), 0, {.coordinates = {ones({2})}}); }},
      {"interp_points", [] { interp(ones({2}), ones({3}), ones({2})); }},
      {"interp_period", [] { interp(ones({2}), ones({3}), ones({3}), {.period = 0}); }},
      {"hanning_size", [] { hanning(-1); }},
      {"polyval_scalar", [] { polyval(1, ones({2})); }},
      {"polydiv_empty", [] { polydiv(ones({2}), ones({0})); }},
      {"polyder_order", [] { polyder(ones({2}), -1); }},
      {"polyint_constants", [] { polyint(ones({2}), 3, ones({2})); }},
      {"quantile_weights_method", [] { quantile(ones({2}), 0.5, All, {.weights = ones({2})}); }},
      {"quantile_weights_shape",
       [] {
         quantile(ones({2, 3}), 0.5, 1,
                  {.method = QuantileMethod::kInvertedCdf, .weights = ones({2})});
       }},
      {"map_coordinates_order", [] { map_coordinates(ones({2}), {ones({3})}, {.order = 3}); }},
      {"map_coordinates_rank",
       [] {
         map_coordinates(ones({2, 2}), {ones({3})});
       }},
      {"polyfit_covariance", [] { polyfit_all(ones({2}), ones({2}), 1); }},
      {"polyfit_degree", [] { polyfit(ones({2}), ones({2}), -1); }},
      {"polyfit_shapes", [] { polyfit(ones({2}), ones({3}), 1); }},
      {"vander_rank",
       [] {
         vander(ones({2, 2}));
       }},
      {"roots_rank",
       [] {
         roots(ones({2, 2}));
       }},
      {"vstack_nothing", [] { vstack({}); }},
      {"hstack_shapes",
       [] {
         hstack({ones({2, 2}), ones({3, 2})});
       }},
      {"block_empty_row", [] { block({{}}); }},
      {"array_split_parts", [] { array_split(ones({4}), 0); }},
      {"broadcast_shapes",
       [] {
         broadcast_shapes({{2, 3}, {4}});
       }},
      {"rot90_plane",
       [] {
         rot90(ones({2, 2}), 1, 0);
       }},
      {"delete_slice", [] { delete_(ones({2}), {2}, 0); }},
      {"insert_place", [] { insert(ones({2}), 3, 1, 0); }},
      {"packbits_floats", [] { packbits(ones({8})); }},
      {"unpackbits_ints",
       [] {
         unpackbits(array({1, 2}));
       }},
      {"select_count",
       [] {
         select({ones({2}, bool_)}, {ones({2}), ones({2})});
       }},
      {"select_floats", [] { select({ones({2})}, {ones({2})}); }},
      {"choose_floats", [] { choose(ones({2}), {ones({2})}); }},
      {"piecewise_count", [] { piecewise(ones({2}), {ones({2}, bool_)}, {}); }},
      {"put_along_dim_rank",
       [] {
         put_along_dim(ones({2, 2}), array({0}), 1, 0);
       }},
      {"place_mask", [] { place(ones({2}), ones({3}, bool_), ones({1})); }},
      {"place_no_values", [] { place(ones({2}), ones({2}, bool_), ones({0})); }},
      {"fill_diagonal_rank", [] { fill_diagonal(ones({2}), 1); }},
      {"tril_indices_size", [] { tril_indices(-1); }},
      {"diag_indices_from",
       [] {
         diag_indices_from(ones({2, 3}));
       }},
      {"ix_rank",
       [] {
         ix_({ones({2, 2})});
       }},
      {"ravel_multi_index_dims",
       [] {
         ravel_multi_index({array({0})}, {2, 2});
       }},
      {"gcd_floats", [] { gcd(ones({2}), ones({2})); }},
      {"ldexp_floats", [] { ldexp(ones({2}), ones({2})); }},
      {"positive_bool", [] { positive(ones({2}, bool_)); }},
      {"gamma_complex", [] { gamma(ones({2}, c64)); }},
      {"bernoulli_negative", [] { bernoulli(-1); }},
      {"harmonics_degrees",
       [] {
         sph_harm_y(ones({2}), array({0, 1}), ones({2}), ones({2}));
       }},
      {"harmonics_highest",
       [] {
         sph_harm_y(array({0, 1}), array({0, 1}), ones({2}), ones({2}), {.n_max = -1});
       }},
      {"harmonics_unknown",
       [] {
         jit([](Array n) { return sph_harm_y(n, n, ones({2}), ones({2})); })(array({0, 1}));
       }},
      {"igamma_complex", [] { igamma(ones({2}), ones({2}, c64)); }},
      {"igammac_sizes", [] { igammac(ones({2}), ones({3})); }},
      {"betainc_complex", [] { betainc(1.0, 2.0, ones({2}, c64)); }},
      {"betainc_sizes", [] { betainc(ones({2}), ones({3}), 0.5); }},
      {"expn_complex", [] { expn(1, ones({2}, c64)); }},
      {"owens_t_complex", [] { owens_t(1.0, ones({2}, c64)); }},
      {"hyp1f1_complex", [] { hyp1f1(1.0, 2.0, ones({2}, c64)); }},
      {"hyp2f1_sizes", [] { hyp2f1(ones({2}), 1.0, 2.0, ones({3})); }},
      {"fresnel_complex", [] { fresnel(ones({2}, c64)); }},
      {"bessel_jn_order", [] { bessel_jn(ones({2}), -1); }},
      {"multigammaln_dims", [] { multigammaln(ones({2}), -1); }},
  };
  return cases;
}

class Numpy : public testing::TestWithParam<RefusedCase> {};

TEST_P(Numpy, AreRefused) {
  ExpectRefused(std::string("numpy_") + GetParam().name, GetParam().program);
  ExpectUsable();
}

INSTANTIATE_CASES(Numpy, Cases());

}  // namespace
}  // namespace tessera::numpy_errors_test
