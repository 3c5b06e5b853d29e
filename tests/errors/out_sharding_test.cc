// Every public function that takes an .out_sharding accepts one for operands that it refuses
// without it: P(), or else the one that its error offers.
#include <gmock/gmock.h>
#include <tessera/lax_names.h>
#include <tessera/numpy_names.h>
#include <tessera/tessera.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "functions/coverage_options.h"

namespace tessera::out_sharding_test {
namespace {

using Out = const std::optional<PartitionSpec>&;
using A = const std::vector<Array>&;

struct Row {
  const char* name;
  std::vector<const char*> given;
  Array (*call)(Out, A);
};

Specs SpecsOf(Out out) { return out ? Specs(*out) : Specs(); }

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"add", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return add(a[0], a[1], {.out_sharding = out}); }},
      {"sub", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return sub(a[0], a[1], {.out_sharding = out}); }},
      {"mul", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return mul(a[0], a[1], {.out_sharding = out}); }},
      {"div", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return div(a[0], a[1], {.out_sharding = out}); }},
      {"divide", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return divide(a[0], a[1], {.out_sharding = out}); }},
      {"floor_divide", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return floor_divide(a[0], a[1], {.out_sharding = out}); }},
      {"rem", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return rem(a[0], a[1], {.out_sharding = out}); }},
      {"remainder", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return remainder(a[0], a[1], {.out_sharding = out}); }},
      {"pow", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return pow(a[0], a[1], {.out_sharding = out}); }},
      {"maximum", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return maximum(a[0], a[1], {.out_sharding = out}); }},
      {"minimum", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return minimum(a[0], a[1], {.out_sharding = out}); }},
      {"complex", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return complex(a[0], a[1], {.out_sharding = out}); }},
      {"atan2", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return atan2(a[0], a[1], {.out_sharding = out}); }},
      {"zeta", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return zeta(a[0], a[1], {.out_sharding = out}); }},
      {"hypot", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return hypot(a[0], a[1], {.out_sharding = out}); }},
      {"nextafter", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return nextafter(a[0], a[1], {.out_sharding = out}); }},
      {"logaddexp", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return logaddexp(a[0], a[1], {.out_sharding = out}); }},
      {"eq", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return eq(a[0], a[1], {.out_sharding = out}); }},
      {"ne", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return ne(a[0], a[1], {.out_sharding = out}); }},
      {"lt", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return lt(a[0], a[1], {.out_sharding = out}); }},
      {"le", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return le(a[0], a[1], {.out_sharding = out}); }},
      {"gt", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return gt(a[0], a[1], {.out_sharding = out}); }},
      {"ge", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return ge(a[0], a[1], {.out_sharding = out}); }},
      {"igamma", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return igamma(a[0], a[1], {.out_sharding = out}); }},
      {"igammac", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return igammac(a[0], a[1], {.out_sharding = out}); }},
      {"igamma_grad_a", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return igamma_grad_a(a[0], a[1], {.out_sharding = out}); }},
      {"random_gamma_grad", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return random_gamma_grad(a[0], a[1], {.out_sharding = out}); }},
      {"expn", {"i32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return expn(a[0], a[1], {.out_sharding = out}); }},
      {"multiply", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return multiply(a[0], a[1], {.out_sharding = out}); }},
      {"betainc", {"f32[8@X]", "f32[8@Y]", "f32[8]"}, [](Out out, A a) -> Array { return betainc(a[0], a[1], a[2], {.out_sharding = out}); }},
      {"logical_and", {"bool[8@X]", "bool[8@Y]"}, [](Out out, A a) -> Array { return logical_and(a[0], a[1], {.out_sharding = out}); }},
      {"logical_or", {"bool[8@X]", "bool[8@Y]"}, [](Out out, A a) -> Array { return logical_or(a[0], a[1], {.out_sharding = out}); }},
      {"logical_xor", {"bool[8@X]", "bool[8@Y]"}, [](Out out, A a) -> Array { return logical_xor(a[0], a[1], {.out_sharding = out}); }},
      {"bitwise_and", {"i32[8@X]", "i32[8@Y]"}, [](Out out, A a) -> Array { return bitwise_and(a[0], a[1], {.out_sharding = out}); }},
      {"bitwise_or", {"i32[8@X]", "i32[8@Y]"}, [](Out out, A a) -> Array { return bitwise_or(a[0], a[1], {.out_sharding = out}); }},
      {"bitwise_xor", {"i32[8@X]", "i32[8@Y]"}, [](Out out, A a) -> Array { return bitwise_xor(a[0], a[1], {.out_sharding = out}); }},
      {"mulhi", {"i32[8@X]", "i32[8@Y]"}, [](Out out, A a) -> Array { return mulhi(a[0], a[1], {.out_sharding = out}); }},
      {"shift_left", {"i32[8@X]", "i32[8@Y]"}, [](Out out, A a) -> Array { return shift_left(a[0], a[1], {.out_sharding = out}); }},
      {"shift_right_arithmetic", {"i32[8@X]", "i32[8@Y]"}, [](Out out, A a) -> Array { return shift_right_arithmetic(a[0], a[1], {.out_sharding = out}); }},
      {"shift_right_logical", {"i32[8@X]", "i32[8@Y]"}, [](Out out, A a) -> Array { return shift_right_logical(a[0], a[1], {.out_sharding = out}); }},
      {"where", {"bool[8@X]", "f32[8@Y]", "f32[8]"}, [](Out out, A a) -> Array { return where(a[0], a[1], a[2], {.out_sharding = out}); }},
      {"select_n", {"bool[8@X]", "f32[8@Y]", "f32[8]"}, [](Out out, A a) -> Array { return select_n(a[0], {a[1], a[2]}, {.out_sharding = out}); }},
      {"reshape", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return reshape(a[0], {4, 8}, {.out_sharding = out}); }},
      {"reshape", {"f32[6@X,4@Y]"}, [](Out out, A a) -> Array { return reshape(a[0], {24}, {.out_sharding = out}); }},
      {"ravel", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return ravel(a[0], {.out_sharding = out}); }},
      {"broadcast_in_dim", {"f32[8@X]"}, [](Out out, A a) -> Array { return broadcast_in_dim(a[0], {4, 8}, {1}, {.out_sharding = out}); }},
      {"broadcast_to", {"f32[8@X]"}, [](Out out, A a) -> Array { return broadcast_to(a[0], {4, 8}, {.out_sharding = out}); }},
      {"repeat", {"f32[8@X]"}, [](Out out, A a) -> Array { return repeat(a[0], 3, 0, {.out_sharding = out}); }},
      {"repeat", {"f32[8@X]", "i32[8]"}, [](Out out, A a) -> Array { return repeat(a[0], a[1], 0, {.total = 12, .out_sharding = out}); }},
      {"diag", {"f32[8@X]"}, [](Out out, A a) -> Array { return diag(a[0], 0, {.out_sharding = out}); }},
      {"diag", {"f32[8@X,8@Y]"}, [](Out out, A a) -> Array { return diag(a[0], 0, {.out_sharding = out}); }},
      {"diagonal", {"f32[8@X,8@Y]"}, [](Out out, A a) -> Array { return diagonal(a[0], {.out_sharding = out}); }},
      {"matrix_trace", {"f32[8@X,8@Y]"}, [](Out out, A a) -> Array { return matrix_trace(a[0], {.out_sharding = out}); }},
      {"meshgrid", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return meshgrid({a[0], a[1]}, {.out_sharding = out})[0]; }},
      {"one_hot", {"i32[8@X]"}, [](Out out, A a) -> Array { return one_hot(a[0], 4, {.out_sharding = out}); }},
      {"arange", {}, [](Out out, A) -> Array { return arange(8.0, {.out_sharding = out}); }},
      {"array", {}, [](Out out, A) -> Array { return array({1.0, 2.0}, {.out_sharding = out}); }},
      {"empty", {}, [](Out out, A) -> Array { return empty({8}, {.out_sharding = out}); }},
      {"zeros", {}, [](Out out, A) -> Array { return zeros({8}, {.out_sharding = out}); }},
      {"ones", {}, [](Out out, A) -> Array { return ones({8}, {.out_sharding = out}); }},
      {"eye", {}, [](Out out, A) -> Array { return eye(8, {.out_sharding = out}); }},
      {"full", {}, [](Out out, A) -> Array { return full({8}, 1.0, {.out_sharding = out}); }},
      {"iota", {}, [](Out out, A) -> Array { return iota({8}, 0, {.out_sharding = out}); }},
      {"linspace", {}, [](Out out, A) -> Array { return linspace(0.0, 1.0, 8, {.out_sharding = out}); }},
      {"logspace", {}, [](Out out, A) -> Array { return logspace(0.0, 1.0, 8, {.out_sharding = out}); }},
      {"geomspace", {}, [](Out out, A) -> Array { return geomspace(1.0, 2.0, 8, {.out_sharding = out}); }},
      {"zeros_like", {"f32[8@X]"}, [](Out out, A a) -> Array { return zeros_like(a[0], {.out_sharding = out}); }},
      {"ones_like", {"f32[8@X]"}, [](Out out, A a) -> Array { return ones_like(a[0], {.out_sharding = out}); }},
      {"empty_like", {"f32[8@X]"}, [](Out out, A a) -> Array { return empty_like(a[0], {.out_sharding = out}); }},
      {"full_like", {"f32[8@X]"}, [](Out out, A a) -> Array { return full_like(a[0], 1.0, {.out_sharding = out}); }},
      {"sum", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return sum(a[0], {0}, {.out_sharding = out}); }},
      {"prod", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return prod(a[0], {0}, {.out_sharding = out}); }},
      {"max", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return max(a[0], {0}, {.out_sharding = out}); }},
      {"min", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return min(a[0], {0}, {.out_sharding = out}); }},
      {"mean", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return mean(a[0], {0}, {.out_sharding = out}); }},
      {"any", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return any(a[0], {0}, {.out_sharding = out}); }},
      {"all", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return all(a[0], {0}, {.out_sharding = out}); }},
      {"ptp", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return ptp(a[0], {0}, {.out_sharding = out}); }},
      {"count_nonzero", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return count_nonzero(a[0], {0}, {.out_sharding = out}); }},
      {"logsumexp", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return logsumexp(a[0], {0}, {.out_sharding = out}); }},
      {"logmeanexp", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return logmeanexp(a[0], {0}, {.out_sharding = out}); }},
      {"nansum", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return nansum(a[0], {0}, {.out_sharding = out}); }},
      {"nanprod", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return nanprod(a[0], {0}, {.out_sharding = out}); }},
      {"nanmax", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return nanmax(a[0], {0}, {.out_sharding = out}); }},
      {"nanmin", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return nanmin(a[0], {0}, {.out_sharding = out}); }},
      {"nanmean", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return nanmean(a[0], {0}, {.out_sharding = out}); }},
      {"amax", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return amax(a[0], {0}, {.out_sharding = out}); }},
      {"amin", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return amin(a[0], {0}, {.out_sharding = out}); }},
      {"var", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return var(a[0], {0}, {.out_sharding = out}); }},
      {"stddev", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return stddev(a[0], {0}, {.out_sharding = out}); }},
      {"nanvar", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return nanvar(a[0], {0}, {.out_sharding = out}); }},
      {"nanstd", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return nanstd(a[0], {0}, {.out_sharding = out}); }},
      {"average", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return average(a[0], {0}, {.out_sharding = out}); }},
      {"median", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return median(a[0], {0}, {.out_sharding = out}); }},
      {"nanmedian", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return nanmedian(a[0], {0}, {.out_sharding = out}); }},
      {"norm", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return norm(a[0], {0}, {.out_sharding = out}); }},
      {"linalg::norm", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return linalg::norm(a[0], {0}, {.out_sharding = out}); }},
      {"signed_logsumexp", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return signed_logsumexp(a[0], {0}, {.out_sharding = out}).value; }},
      {"quantile", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return quantile(a[0], 0.5, {0}, {.out_sharding = out}); }},
      {"percentile", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return percentile(a[0], 0.5, {0}, {.out_sharding = out}); }},
      {"nanquantile", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return nanquantile(a[0], 0.5, {0}, {.out_sharding = out}); }},
      {"nanpercentile", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return nanpercentile(a[0], 0.5, {0}, {.out_sharding = out}); }},
      {"reduce_sum", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return reduce_sum(a[0], {0}, {.out_sharding = out}); }},
      {"reduce_prod", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return reduce_prod(a[0], {0}, {.out_sharding = out}); }},
      {"reduce_max", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return reduce_max(a[0], {0}, {.out_sharding = out}); }},
      {"reduce_min", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return reduce_min(a[0], {0}, {.out_sharding = out}); }},
      {"reduce_and", {"i32[8@X,4@Y]"}, [](Out out, A a) -> Array { return reduce_and(a[0], {0}, {.out_sharding = out}); }},
      {"reduce_or", {"i32[8@X,4@Y]"}, [](Out out, A a) -> Array { return reduce_or(a[0], {0}, {.out_sharding = out}); }},
      {"reduce_xor", {"i32[8@X,4@Y]"}, [](Out out, A a) -> Array { return reduce_xor(a[0], {0}, {.out_sharding = out}); }},
      {"cumsum", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return cumsum(a[0], 0, {.out_sharding = out}); }},
      {"cumprod", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return cumprod(a[0], 0, {.out_sharding = out}); }},
      {"cummax", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return cummax(a[0], 0, {.out_sharding = out}); }},
      {"cummin", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return cummin(a[0], 0, {.out_sharding = out}); }},
      {"cumlogsumexp", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return cumlogsumexp(a[0], 0, {.out_sharding = out}); }},
      {"nancumsum", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return nancumsum(a[0], 0, {.out_sharding = out}); }},
      {"nancumprod", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return nancumprod(a[0], 0, {.out_sharding = out}); }},
      {"cumulative_sum", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return cumulative_sum(a[0], 0, {.out_sharding = out}); }},
      {"cumulative_prod", {"f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return cumulative_prod(a[0], 0, {.out_sharding = out}); }},
      {"matmul", {"f32[8@X,4]", "f32[4,8@X]"}, [](Out out, A a) -> Array { return matmul(a[0], a[1], {.out_sharding = out}); }},
      {"matmul", {"f32[8,4@X]", "f32[4@X,8]"}, [](Out out, A a) -> Array { return matmul(a[0], a[1], {.out_sharding = out}); }},
      {"batch_matmul", {"f32[2,8@X,4]", "f32[2,4,8@X]"}, [](Out out, A a) -> Array { return batch_matmul(a[0], a[1], {.out_sharding = out}); }},
      {"dot", {"f32[8,4@X]", "f32[4@X,8]"}, [](Out out, A a) -> Array { return dot(a[0], a[1], {.out_sharding = out}); }},
      {"dot_general", {"f32[8,4@X]", "f32[4@X,8]"}, [](Out out, A a) -> Array { return dot_general(a[0], a[1], {{1}, {0}}, {.out_sharding = out}); }},
      {"tensordot", {"f32[8,4@X]", "f32[4@X,8]"}, [](Out out, A a) -> Array { return tensordot(a[0], a[1], 1, {.out_sharding = out}); }},
      {"outer", {"f32[8@X]", "f32[8@X]"}, [](Out out, A a) -> Array { return outer(a[0], a[1], {.out_sharding = out}); }},
      {"inner", {"f32[8@X]", "f32[8@X]"}, [](Out out, A a) -> Array { return inner(a[0], a[1], {.out_sharding = out}); }},
      {"vdot", {"f32[8@X]", "f32[8@X]"}, [](Out out, A a) -> Array { return vdot(a[0], a[1], {.out_sharding = out}); }},
      {"kron", {"f32[8@X]", "f32[8@X]"}, [](Out out, A a) -> Array { return kron(a[0], a[1], {.out_sharding = out}); }},
      {"einsum", {"f32[8,4@X]", "f32[4@X,8]"}, [](Out out, A a) -> Array { return einsum("ij,jk->ik", {a[0], a[1]}, {.out_sharding = out}); }},
      {"ragged_dot", {"f32[8,4@X]", "f32[2,4@X,6]", "i32[2]"}, [](Out out, A a) -> Array { return ragged_dot(a[0], a[1], a[2], {.out_sharding = out}); }},
      {"ragged_dot_general", {"f32[8,4@X]", "f32[2,4@X,6]", "i32[2]"}, [](Out out, A a) -> Array { return ragged_dot_general(a[0], a[1], a[2], {.dot = {{1}, {1}}, .lhs_ragged = {0}, .rhs_group = {0}}, {.out_sharding = out}); }},
      {"take", {"f32[8@X,4]", "i32[8@Y]"}, [](Out out, A a) -> Array { return take(a[0], a[1], 0, {.out_sharding = out}); }},
      {"take_along_dim", {"f32[8@X,4]", "i32[2,4]"}, [](Out out, A a) -> Array { return take_along_dim(a[0], a[1], 0, {.out_sharding = out}); }},
      {"take_along_axis", {"f32[8@X,4]", "i32[2,4]"}, [](Out out, A a) -> Array { return take_along_axis(a[0], a[1], 0, {.out_sharding = out}); }},
      {"embedding", {"f32[8@X,4]", "i32[6]"}, [](Out out, A a) -> Array { return embedding(a[0], a[1], {.out_sharding = out}); }},
      {"gather", {"f32[8@X,4]", "i32[6,1]"}, [](Out out, A a) -> Array { return gather(a[0], a[1], {.offset = {1}, .collapsed = {0}, .start = {0}}, {1, 4}, {.out_sharding = out}); }},
      {"scatter", {"f32[8@X,4]", "i32[8@Y,1]", "f32[8@Y,4]"}, [](Out out, A a) -> Array { return scatter(a[0], a[1], a[2], {.window = {1}, .inserted = {0}, .start = {0}}, {.out_sharding = out}); }},
      {"scatter_add", {"f32[8@X,4]", "i32[8@Y,1]", "f32[8@Y,4]"}, [](Out out, A a) -> Array { return scatter_add(a[0], a[1], a[2], {.window = {1}, .inserted = {0}, .start = {0}}, {.out_sharding = out}); }},
      {"scatter_mul", {"f32[8@X,4]", "i32[8@Y,1]", "f32[8@Y,4]"}, [](Out out, A a) -> Array { return scatter_mul(a[0], a[1], a[2], {.window = {1}, .inserted = {0}, .start = {0}}, {.out_sharding = out}); }},
      {"scatter_min", {"f32[8@X,4]", "i32[8@Y,1]", "f32[8@Y,4]"}, [](Out out, A a) -> Array { return scatter_min(a[0], a[1], a[2], {.window = {1}, .inserted = {0}, .start = {0}}, {.out_sharding = out}); }},
      {"scatter_max", {"f32[8@X,4]", "i32[8@Y,1]", "f32[8@Y,4]"}, [](Out out, A a) -> Array { return scatter_max(a[0], a[1], a[2], {.window = {1}, .inserted = {0}, .start = {0}}, {.out_sharding = out}); }},
      {"scatter_sub", {"f32[8@X,4]", "i32[8@Y,1]", "f32[8@Y,4]"}, [](Out out, A a) -> Array { return scatter_sub(a[0], a[1], a[2], {.window = {1}, .inserted = {0}, .start = {0}}, {.out_sharding = out}); }},
      {"scatter_apply", {"f32[8@X,4]", "i32[8@Y,1]"}, [](Out out, A a) -> Array { return scatter_apply(a[0], a[1], [](Array x) { return 2 * x; }, {8, 4}, {.window = {1}, .inserted = {0}, .start = {0}}, {.out_sharding = out}); }},
      {"get", {"f32[8@X,4]", "i32[6]"}, [](Out out, A a) -> Array { return a[0].at({a[1], All}).get({.out_sharding = out}); }},
      {"set", {"f32[8@X,4]", "i32[8@Y]", "f32[8@Y,4]"}, [](Out out, A a) -> Array { return a[0].at({a[1], All}).set(a[2], {.out_sharding = out}); }},
      {"map_coordinates", {"f32[8@X,4]", "f32[6]", "f32[6]"}, [](Out out, A a) -> Array { return map_coordinates(a[0], {a[1], a[2]}, {.out_sharding = out}); }},
      {"bincount", {"i32[8@X]"}, [](Out out, A a) -> Array { return bincount(a[0], {.length = 4, .out_sharding = out}); }},
      {"segment_sum", {"f32[8@X,4]", "i32[8@X]"}, [](Out out, A a) -> Array { return segment_sum(a[0], a[1], {.num_segments = 4, .out_sharding = out}); }},
      {"segment_prod", {"f32[8@X,4]", "i32[8@X]"}, [](Out out, A a) -> Array { return segment_prod(a[0], a[1], {.num_segments = 4, .out_sharding = out}); }},
      {"segment_max", {"f32[8@X,4]", "i32[8@X]"}, [](Out out, A a) -> Array { return segment_max(a[0], a[1], {.num_segments = 4, .out_sharding = out}); }},
      {"segment_min", {"f32[8@X,4]", "i32[8@X]"}, [](Out out, A a) -> Array { return segment_min(a[0], a[1], {.num_segments = 4, .out_sharding = out}); }},
      {"histogram", {"f32[8@X]"}, [](Out out, A a) -> Array { return histogram(a[0], {.bins = 4, .out_sharding = out}).counts; }},
      {"histogram2d", {"f32[8@X]", "f32[8@Y]"}, [](Out out, A a) -> Array { return histogram2d(a[0], a[1], {.bins = {4}, .out_sharding = out}).counts; }},
      {"histogramdd", {"f32[8@X,2]"}, [](Out out, A a) -> Array { return histogramdd(a[0], {.bins = {4}, .out_sharding = out}).counts; }},
      {"sort", {"f32[8@X,4]"}, [](Out out, A a) -> Array { return sort(a[0], 0, {.out_sharding = out}); }},
      {"argsort", {"f32[8@X,4]"}, [](Out out, A a) -> Array { return argsort(a[0], 0, {.out_sharding = out}); }},
      {"top_k", {"f32[4,8@X]"}, [](Out out, A a) -> Array { return top_k(a[0], 2, {.out_sharding = out}).values; }},
      {"associative_scan", {"f32[8@X,4]"}, [](Out out, A a) -> Array { return associative_scan([](Array x, Array y) { return x + y; }, a[0], {.out_sharding = SpecsOf(out)}); }},
      {"auto_axes", {"f32[8@X,4]"}, [](Out out, A a) -> Array { return auto_axes([](Array x) { return x + 1; }, {.out_sharding = SpecsOf(out)})(a[0]); }},
      {"conv_general_dilated", {"f32[2,4@X,8]", "f32[6,4@X,3]"}, [](Out out, A a) -> Array { return conv_general_dilated(a[0], a[1], {1}, "SAME", {.out_sharding = out}); }},
      {"conv", {"f32[2,4@X,8]", "f32[6,4@X,3]"}, [](Out out, A a) -> Array { return conv(a[0], a[1], {1}, "SAME", {.out_sharding = out}); }},
      {"conv_with_general_padding", {"f32[2,4@X,8]", "f32[6,4@X,3]"}, [](Out out, A a) -> Array { return conv_with_general_padding(a[0], a[1], {1}, "SAME", {1}, {1}, {.out_sharding = out}); }},
      {"conv_transpose", {"f32[2,8,4@X]", "f32[3,4@X,6]"}, [](Out out, A a) -> Array { return conv_transpose(a[0], a[1], {1}, "SAME", {.out_sharding = out}); }},
      {"signals::convolve", {"f32[8@X]", "f32[3]"}, [](Out out, A a) -> Array { return signals::convolve(a[0], a[1], {.out_sharding = out}); }},
      {"signals::correlate", {"f32[8@X]", "f32[3]"}, [](Out out, A a) -> Array { return signals::correlate(a[0], a[1], {.out_sharding = out}); }},
      {"signals::convolve2d", {"f32[8@X,8]", "f32[3,3]"}, [](Out out, A a) -> Array { return signals::convolve2d(a[0], a[1], {.out_sharding = out}); }},
      {"signals::correlate2d", {"f32[8@X,8]", "f32[3,3]"}, [](Out out, A a) -> Array { return signals::correlate2d(a[0], a[1], {.out_sharding = out}); }},
      {"fft::fft", {"c64[4,8@X]"}, [](Out out, A a) -> Array { return fft::fft(a[0], {.out_sharding = out}); }},
      {"fft::ifft", {"c64[4,8@X]"}, [](Out out, A a) -> Array { return fft::ifft(a[0], {.out_sharding = out}); }},
      {"fft::hfft", {"c64[4,8@X]"}, [](Out out, A a) -> Array { return fft::hfft(a[0], {.out_sharding = out}); }},
      {"fft::irfft", {"c64[4,8@X]"}, [](Out out, A a) -> Array { return fft::irfft(a[0], {.out_sharding = out}); }},
      {"fft::rfft", {"f32[4,8@X]"}, [](Out out, A a) -> Array { return fft::rfft(a[0], {.out_sharding = out}); }},
      {"fft::ihfft", {"f32[4,8@X]"}, [](Out out, A a) -> Array { return fft::ihfft(a[0], {.out_sharding = out}); }},
      {"fft::fftn", {"c64[4@Y,8@X]"}, [](Out out, A a) -> Array { return fft::fftn(a[0], {.out_sharding = out}); }},
      {"fft::ifftn", {"c64[4@Y,8@X]"}, [](Out out, A a) -> Array { return fft::ifftn(a[0], {.out_sharding = out}); }},
      {"fft::fft2", {"c64[4@Y,8@X]"}, [](Out out, A a) -> Array { return fft::fft2(a[0], {.out_sharding = out}); }},
      {"fft::ifft2", {"c64[4@Y,8@X]"}, [](Out out, A a) -> Array { return fft::ifft2(a[0], {.out_sharding = out}); }},
      {"fft::irfftn", {"c64[4@Y,8@X]"}, [](Out out, A a) -> Array { return fft::irfftn(a[0], {.out_sharding = out}); }},
      {"fft::irfft2", {"c64[4@Y,8@X]"}, [](Out out, A a) -> Array { return fft::irfft2(a[0], {.out_sharding = out}); }},
      {"fft::rfftn", {"f32[4@Y,8@X]"}, [](Out out, A a) -> Array { return fft::rfftn(a[0], {.out_sharding = out}); }},
      {"fft::rfft2", {"f32[4@Y,8@X]"}, [](Out out, A a) -> Array { return fft::rfft2(a[0], {.out_sharding = out}); }},
      {"linalg::cholesky", {"f32[8@X,8@Y]"}, [](Out out, A a) -> Array { return linalg::cholesky(a[0], {.out_sharding = out}); }},
      {"linalg::lu", {"f32[8@X,8@Y]"}, [](Out out, A a) -> Array { return linalg::lu(a[0], {.out_sharding = out}).lu; }},
      {"linalg::qr", {"f32[8@X,8@Y]"}, [](Out out, A a) -> Array { return linalg::qr(a[0], {.out_sharding = out}).q; }},
      {"linalg::solve", {"f32[8@X,8@Y]", "f32[8,2]"}, [](Out out, A a) -> Array { return linalg::solve(a[0], a[1], {.out_sharding = out}); }},
      {"linalg::solve_triangular", {"f32[8@X,8@Y]", "f32[8,2]"}, [](Out out, A a) -> Array { return linalg::solve_triangular(a[0], a[1], {.out_sharding = out}); }},
      {"linalg::triangular_solve", {"f32[8@X,8@Y]", "f32[2,8]"}, [](Out out, A a) -> Array { return linalg::triangular_solve(a[0], a[1], {.out_sharding = out}); }},
      {"linalg::dft", {}, [](Out out, A) -> Array { return linalg::dft(8, {.out_sharding = out}); }},
      {"linalg::hadamard", {}, [](Out out, A) -> Array { return linalg::hadamard(8, {.out_sharding = out}); }},
      {"linalg::helmert", {}, [](Out out, A) -> Array { return linalg::helmert(8, {.out_sharding = out}); }},
      {"linalg::invhilbert", {}, [](Out out, A) -> Array { return linalg::invhilbert(8, {.out_sharding = out}); }},
      {"linalg::invpascal", {}, [](Out out, A) -> Array { return linalg::invpascal(8, {.out_sharding = out}); }},
      {"linalg::pascal", {}, [](Out out, A) -> Array { return linalg::pascal(8, {.out_sharding = out}); }},
      {"random::bits", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::bits(a[0], {8}, {.out_sharding = out}); }},
      {"random::uniform", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::uniform(a[0], {8}, {.out_sharding = out}); }},
      {"random::normal", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::normal(a[0], {8}, {.out_sharding = out}); }},
      {"random::gumbel", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::gumbel(a[0], {8}, {.out_sharding = out}); }},
      {"random::exponential", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::exponential(a[0], {8}, {.out_sharding = out}); }},
      {"random::laplace", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::laplace(a[0], {8}, {.out_sharding = out}); }},
      {"random::logistic", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::logistic(a[0], {8}, {.out_sharding = out}); }},
      {"random::cauchy", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::cauchy(a[0], {8}, {.out_sharding = out}); }},
      {"random::rademacher", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::rademacher(a[0], {8}, {.out_sharding = out}); }},
      {"random::randint", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::randint(a[0], {8}, 0, 9, {.out_sharding = out}); }},
      {"random::truncated_normal", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::truncated_normal(a[0], -1, 1, {8}, {.out_sharding = out}); }},
      {"random::bernoulli", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::bernoulli(a[0], 0.5, {8}, {.out_sharding = out}); }},
      {"random::gamma", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::gamma(a[0], 2, {8}, {.out_sharding = out}); }},
      {"random::loggamma", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::loggamma(a[0], 2, {8}, {.out_sharding = out}); }},
      {"random::beta", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::beta(a[0], 2, 2, {8}, {.out_sharding = out}); }},
      {"random::poisson", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::poisson(a[0], 2, {8}, {.out_sharding = out}); }},
      {"random::permutation", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::permutation(a[0], 8, {.out_sharding = out}); }},
      {"random::choice", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::choice(a[0], 8, {4}, {.out_sharding = out}); }},
      {"random::chisquare", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::chisquare(a[0], 2, {8}, {.out_sharding = out}); }},
      {"random::t", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::t(a[0], 2, {8}, {.out_sharding = out}); }},
      {"random::weibull_min", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::weibull_min(a[0], 2, 2, {8}, {.out_sharding = out}); }},
      {"random::binomial", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::binomial(a[0], 4, 0.5, {8}, {.out_sharding = out}); }},
      {"random::geometric", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::geometric(a[0], 0.5, {8}, {.out_sharding = out}); }},
      {"random::ball", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::ball(a[0], 2, {8}, {.out_sharding = out}); }},
      {"random::orthogonal", {"key<fry>[]"}, [](Out out, A a) -> Array { return random::orthogonal(a[0], 4, Shape{}, {.out_sharding = out}); }},
      {"random::dirichlet", {"key<fry>[]", "f32[4]"}, [](Out out, A a) -> Array { return random::dirichlet(a[0], a[1], {8}, {.out_sharding = out}); }},
      {"random::categorical", {"key<fry>[]", "f32[8@X,4@Y]"}, [](Out out, A a) -> Array { return random::categorical(a[0], a[1], -1, {.out_sharding = out}); }},
      {"random::multivariate_normal", {"key<fry>[]", "f32[4]", "f32[4,4]"}, [](Out out, A a) -> Array { return random::multivariate_normal(a[0], a[1], a[2], {8}, {.out_sharding = out}); }},
      {"random::rng_bit_generator", {"u64[2]"}, [](Out out, A a) -> Array { return random::rng_bit_generator(a[0], {8}, {.out_sharding = out}).bits; }},
      {"initialisers::glorot_normal", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::glorot_normal(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::glorot_uniform", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::glorot_uniform(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::he_normal", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::he_normal(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::he_uniform", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::he_uniform(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::kaiming_normal", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::kaiming_normal(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::kaiming_uniform", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::kaiming_uniform(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::lecun_normal", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::lecun_normal(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::lecun_uniform", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::lecun_uniform(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::xavier_normal", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::xavier_normal(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::xavier_uniform", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::xavier_uniform(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::zeros", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::zeros(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::ones", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::ones(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::constant", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::constant(a[0], {4, 8}, 2, {.out_sharding = out}); }},
      {"initialisers::uniform", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::uniform(a[0], {4, 8}, 0.1, {.out_sharding = out}); }},
      {"initialisers::normal", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::normal(a[0], {4, 8}, 0.1, {.out_sharding = out}); }},
      {"initialisers::truncated_normal", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::truncated_normal(a[0], {4, 8}, 0.1, {.out_sharding = out}); }},
      {"initialisers::orthogonal", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::orthogonal(a[0], {4, 8}, {.out_sharding = out}); }},
      {"initialisers::delta_orthogonal", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::delta_orthogonal(a[0], {3, 4, 8}, {.out_sharding = out}); }},
      {"initialisers::variance_scaling", {"key<fry>[]"}, [](Out out, A a) -> Array { return initialisers::variance_scaling(a[0], {4, 8}, 2, FanMode::kIn, FanDistribution::kNormal, {.out_sharding = out}); }},
      {"conv_general_dilated_local", {"f32[2,4@X,8]", "f32[6,12,6]"}, [](Out out, A a) -> Array { return conv_general_dilated_local(a[0], a[1], {1}, "VALID", {3}, {.out_sharding = out}); }},
      {"conv_general_dilated_patches", {"f32[2,4@X,8]"}, [](Out out, A a) -> Array { return conv_general_dilated_patches(a[0], {3}, {1}, "SAME", {.out_sharding = out}); }},
  };
  return rows;
}

// Functions whose operands are memory of the host or files, and whose option is of other functions.
const std::set<std::string> kOthers = {"array_view", "from_dlpack", "load_npy",
                                       "histogram_bin_edges"};

// Functions of functions: their errors name the option in a note.
const std::set<std::string> kInNotes = {"associative_scan", "auto_axes", "scatter_apply"};

TEST(OutShardings, RowsAreThoseOfTheHeaders) {
  std::set<std::string> names = kOthers;
  for (const Row& row : Rows()) names.insert(row.name);
  names.insert("name");  // the parameter of a macro
  for (const std::string& name : functions::OptionTable().Taking("out_sharding"))
    EXPECT_TRUE(names.contains(name) || name.starts_with("detail::")) << name << " has no row";
}

class OutShardings : public testing::TestWithParam<size_t> {};

TEST_P(OutShardings, AreAccepted) {
  const Row& row = Rows()[GetParam()];
  MeshScope scope(abstract_mesh({{"X", 2}, {"Y", 4}}));
  std::vector<Array> given;
  for (const char* type : row.given) given.push_back(abstract_array(type));
  const auto expect_made = [&](const PartitionSpec& spec) {
    SCOPED_TRACE(spec.text());
    try {
      const Array y = row.call(spec, given);
      const PartitionSpec made = type_of(y).spec(), want = type_of(reshard(y, spec)).spec();
      EXPECT_EQ(made.text(), want.text()) << type_of(y);
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  };
  // A refused call offers an option that is accepted.
  const auto try_with = [&](Out out) {
    try {
      row.call(out, given);
      if (out) expect_made(*out);
    } catch (const ShardingError& e) {
      SCOPED_TRACE(e.what());
      size_t offered = 0;
      for (const Fix& fix : e.fixes()) {
        if (fix.operand >= 0 || fix.auto_axes) continue;
        expect_made(fix.spec);
        ++offered;
      }
      EXPECT_TRUE(offered > 0 || kInNotes.contains(row.name));
      EXPECT_THAT(e.what(), testing::HasSubstr(".out_sharding"));
    }
  };
  try_with(std::nullopt);
  try_with(P());
}

INSTANTIATE_TEST_SUITE_P(All, OutShardings, testing::Range(size_t{0}, Rows().size()),
                         [](const auto& info) {
                           std::string name = Rows()[info.param].name;
                           for (char& c : name)
                             if (c == ':') c = '_';
                           return name + "_" + std::to_string(info.param);
                         });

}  // namespace
}  // namespace tessera::out_sharding_test
