// Errors of every public function have its name and show its arguments. The edits that they offer
// work, are complete, and state their cost.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <regex>
#include <set>

namespace tessera::names_errors_test {
namespace {

// The edit that is applied to a call. The first run applies none.
struct Edit {
  std::optional<Fix> fix;
  Array operator()(size_t k, const std::vector<Array>& given) const {
    const Array& x = given[k];
    return fix && !fix->auto_axes && fix->operand == static_cast<int>(k) ? reshard(x, fix->spec)
                                                                         : x;
  }
  std::optional<PartitionSpec> out() const {
    return fix && !fix->auto_axes && fix->operand < 0 ? std::optional(fix->spec) : std::nullopt;
  }
};

using E = const Edit&;
using A = const std::vector<Array>&;

struct Call {
  const char* name;
  std::vector<const char*> given;  // the arrays, as messages show them
  std::function<Array(E, A)> f;
};

#define UNARY(name)                                                 \
  Call {                                                            \
#name, {"f32[8]{U:X}" }, [](E e, A a) { return name(e(0, a)); } \
  }
#define UNARY_OF(type, name)                               \
  Call {                                                   \
#name, {type }, [](E e, A a) { return name(e(0, a)); } \
  }
#define BINARY_OF(type, other, name)                                                             \
  Call {                                                                                         \
#name, {type, other },                                                                       \
            [](E e, A a) { return name(e(0, a), e(1, a), OutOptions{.out_sharding = e.out()}); } \
  }
#define BINARY(name) BINARY_OF("f32[8@X]", "f32[8@Y]", name)
#define INTEGERS(name) BINARY_OF("i32[8@X]", "i32[8@Y]", name)
#define ALONG(type, name)                                     \
  Call {                                                      \
#name, {type }, [](E e, A a) { return name(e(0, a), 0); } \
  }
#define REDUCTION(type, name)                                                              \
  Call {                                                                                   \
#name, {type }, [](E e, A a) { return name(e(0, a), {0}, {.out_sharding = e.out()}); } \
  }

const std::vector<Call>& Elementwise() {
  static const std::vector<Call> calls = {
      UNARY(abs),
      UNARY(sign),
      UNARY(square),
      UNARY(ceil),
      UNARY(floor),
      UNARY(relu),
      UNARY(exp),
      UNARY(exp2),
      UNARY(expm1),
      UNARY(log),
      UNARY(log2),
      UNARY(log10),
      UNARY(log1p),
      UNARY(sqrt),
      UNARY(rsqrt),
      UNARY(cbrt),
      UNARY(reciprocal),
      UNARY(sin),
      UNARY(cos),
      UNARY(tan),
      UNARY(asin),
      UNARY(acos),
      UNARY(atan),
      UNARY(sinh),
      UNARY(cosh),
      UNARY(tanh),
      UNARY(asinh),
      UNARY(acosh),
      UNARY(atanh),
      UNARY(erf),
      UNARY(erfc),
      UNARY(erf_inv),
      UNARY(lgamma),
      UNARY(digamma),
      UNARY(softplus),
      UNARY(logistic),
      UNARY(silu),
      UNARY(bessel_i0e),
      UNARY(bessel_i1e),
      UNARY(gelu),
      UNARY(is_finite),
      UNARY(isfinite),
      UNARY(isnan),
      UNARY(isinf),
      UNARY_OF("c64[8]{U:X}", angle),
      UNARY_OF("c64[8]{U:X}", isreal),
      UNARY(logical_not),
      UNARY(round),
      UNARY(rint),
      UNARY(nan_to_num),
      UNARY_OF("bool[8]", neg),
      UNARY_OF("i32[8]{U:X}", bitwise_not),
      UNARY_OF("i32[8]{U:X}", population_count),
      UNARY_OF("i32[8]{U:X}", clz),
      {"integer_pow", {"f32[8]{U:X}"}, [](E e, A a) { return integer_pow(e(0, a), 3); }},
      {"integer_pow", {"f32[8]{U:X}"}, [](E e, A a) { return integer_pow(e(0, a), -3); }},
      {"reduce_precision", {"i32[8]"}, [](E e, A a) { return reduce_precision(e(0, a), 5, 2); }},
      {"round", {"f32[8]{U:X}"}, [](E e, A a) { return round(e(0, a), {.decimals = 2}); }},
      {"gelu", {"f32[8]{U:X}"}, [](E e, A a) { return gelu(e(0, a), {.approximate = false}); }},
      {"astype", {"f32[8]{U:X}"}, [](E e, A a) { return astype(e(0, a), i32); }},
      {"convert_element_type",
       {"f32[8]{U:X}"},
       [](E e, A a) { return convert_element_type(e(0, a), i32); }},
      {"bitcast_convert_type",
       {"f32[8]{U:X}"},
       [](E e, A a) { return bitcast_convert_type(e(0, a), i32); }},
      BINARY(add),
      BINARY(sub),
      BINARY(mul),
      BINARY(div),
      BINARY(divide),
      BINARY(floor_divide),
      BINARY(rem),
      BINARY(remainder),
      BINARY(pow),
      BINARY(maximum),
      BINARY(minimum),
      BINARY(atan2),
      BINARY(zeta),
      BINARY(igamma),
      BINARY(igammac),
      BINARY(igamma_grad_a),
      BINARY(random_gamma_grad),
      BINARY(expn),
      BINARY(hypot),
      BINARY(complex),
      BINARY(nextafter),
      BINARY(logaddexp),
      BINARY(eq),
      BINARY(ne),
      BINARY(lt),
      BINARY(le),
      BINARY(gt),
      BINARY(ge),
      BINARY(logical_and),
      BINARY(logical_or),
      BINARY(logical_xor),
      INTEGERS(bitwise_and),
      INTEGERS(bitwise_or),
      INTEGERS(bitwise_xor),
      INTEGERS(mulhi),
      INTEGERS(shift_left),
      INTEGERS(shift_right_arithmetic),
      INTEGERS(shift_right_logical),
      INTEGERS(floor_divide),
      INTEGERS(remainder),
      {"polygamma", {"f32[8@X]", "f32[8@Y]"}, [](E e, A a) { return polygamma(e(0, a), e(1, a)); }},
      {"isclose", {"f32[8@X]", "f32[8@Y]"}, [](E e, A a) { return isclose(e(0, a), e(1, a)); }},
      {"allclose", {"f32[8@X]", "f32[8@Y]"}, [](E e, A a) { return allclose(e(0, a), e(1, a)); }},
      {"array_equal",
       {"f32[8@X]", "f32[8@Y]"},
       [](E e, A a) { return array_equal(e(0, a), e(1, a)); }},
      {"where",
       {"bool[8@X]", "f32[8@Y]", "f32[8]"},
       [](E e, A a) { return where(e(0, a), e(1, a), e(2, a), {.out_sharding = e.out()}); }},
      {"select_n",
       {"i32[8@X]", "f32[8@Y]", "f32[8]", "f32[8]"},
       [](E e, A a) {
         return select_n(e(0, a), {e(1, a), e(2, a), e(3, a)}, {.out_sharding = e.out()});
       }},
      {"clamp",
       {"f32[8@X]", "f32[8@Y]", "f32[8]"},
       [](E e, A a) { return clamp(e(0, a), e(1, a), e(2, a)); }},
      {"clip",
       {"f32[8@X]", "f32[8]", "f32[8@Y]"},
       [](E e, A a) { return clip(e(0, a), e(1, a), e(2, a)); }},
  };
  return calls;
}

const std::vector<Call>& Shapes() {
  static const std::vector<Call> calls = {
      {"reshape",
       {"f32[4,8@X]"},
       [](E e, A a) { return reshape(e(0, a), {32}, {.out_sharding = e.out()}); }},
      {"ravel", {"f32[4,8@X]"}, [](E e, A a) { return ravel(e(0, a), {.out_sharding = e.out()}); }},
      {"transpose",
       {"f32[4,8]"},
       [](E e, A a) {
         return transpose(e(0, a), {0, 0});
       }},
      {"moveaxis", {"f32[4,8]"}, [](E e, A a) { return moveaxis(e(0, a), 2, 0); }},
      {"swapaxes", {"f32[4,8]"}, [](E e, A a) { return swapaxes(e(0, a), 2, 0); }},
      {"expand_dims", {"f32[4,8]"}, [](E e, A a) { return expand_dims(e(0, a), 4); }},
      {"squeeze", {"f32[4,8]"}, [](E e, A a) { return squeeze(e(0, a), 0); }},
      {"broadcast_in_dim", {"f32[4]"}, [](E e, A a) { return broadcast_in_dim(e(0, a), {3}, 0); }},
      {"broadcast_to", {"f32[4]"}, [](E e, A a) { return broadcast_to(e(0, a), {3}); }},
      {"concatenate",
       {"f32[8@X]", "f32[8]"},
       [](E e, A a) {
         return concatenate({e(0, a), e(1, a)});
       }},
      {"stack",
       {"f32[8@X]", "f32[8@Y]"},
       [](E e, A a) {
         return stack({e(0, a), e(1, a)});
       }},
      {"append", {"f32[8@X]", "f32[8]"}, [](E e, A a) { return append(e(0, a), e(1, a), 0); }},
      {"append", {"f32[8,2@X]", "f32[8]"}, [](E e, A a) { return append(e(0, a), e(1, a)); }},
      {"unstack", {"f32[8@X]"}, [](E e, A a) { return unstack(e(0, a))[0]; }},
      {"split",
       {"f32[8@X]"},
       [](E e, A a) {
         return split(e(0, a), {3, 5})[0];
       }},
      {"slice", {"f32[8@X]"}, [](E e, A a) { return slice(e(0, a), {0}, {3}); }},
      {"dynamic_slice",
       {"f32[8@X]", "i32[]"},
       [](E e, A a) { return dynamic_slice(e(0, a), {e(1, a)}, {3}); }},
      {"dynamic_update_slice",
       {"f32[8@X]", "f32[4]", "i32[]"},
       [](E e, A a) { return dynamic_update_slice(e(0, a), e(1, a), {e(2, a)}); }},
      {"pad",
       {"f32[8@X]"},
       [](E e, A a) {
         return pad(e(0, a), {{1, e.out() ? 1 : 0}});
       }},
      {"rev", {"f32[8]"}, [](E e, A a) { return rev(e(0, a), 1); }},
      {"flip", {"f32[8]"}, [](E e, A a) { return flip(e(0, a), 1); }},
      {"tile", {"f32[8@X]"}, [](E e, A a) { return tile(e(0, a), {2}); }},
      {"repeat",
       {"f32[8@X]"},
       [](E e, A a) { return repeat(e(0, a), 2, 0, {.out_sharding = e.out()}); }},
      {"roll", {"f32[8]"}, [](E e, A a) { return roll(e(0, a), 1, 1); }},
      {"diff", {"f32[8@X]"}, [](E e, A a) { return diff(e(0, a)); }},
      {"diff",
       {"f32[8@X]", "f32[]"},
       [](E e, A a) { return diff(e(0, a), -1, {.prepend = e(1, a)}); }},
      {"take",
       {"f32[8@X]", "i32[3]"},
       [](E e, A a) { return take(e(0, a), e(1, a), 0, {.out_sharding = e.out()}); }},
      {"take_along_dim",
       {"f32[8@X]", "i32[3]"},
       [](E e, A a) { return take_along_dim(e(0, a), e(1, a), 0, {.out_sharding = e.out()}); }},
      {"index",
       {"f32[8@X,4]"},
       [](E e, A a) {
         return e.out() ? e(0, a).at(3).get({.out_sharding = e.out()}) : e(0, a)[3];
       }},
      {"at.get",
       {"f32[8@X]", "i32[3]"},
       [](E e, A a) { return e(0, a).at(e(1, a)).get({.out_sharding = e.out()}); }},
      {"at.set",
       {"f32[8]", "i32[4@X]", "f32[4@X]"},
       [](E e, A a) { return e(0, a).at(e(1, a)).set(e(2, a), {.out_sharding = e.out()}); }},
      {"tril", {"f32[8]"}, [](E e, A a) { return tril(e(0, a)); }},
      {"triu", {"f32[8]"}, [](E e, A a) { return triu(e(0, a)); }},
      {"diagonal",
       {"f32[8@X,8]"},
       [](E e, A a) { return diagonal(e(0, a), {.out_sharding = e.out()}); }},
      {"diag",
       {"f32[8@X,8]"},
       [](E e, A a) { return diag(e(0, a), 0, {.out_sharding = e.out()}); }},
      {"diag", {"f32[8@X]"}, [](E e, A a) { return diag(e(0, a), 1, {.out_sharding = e.out()}); }},
      {"matrix_trace", {"f32[8]"}, [](E e, A a) { return matrix_trace(e(0, a)); }},
      {"zeros", {}, [](E e, A) { return zeros({3}, {.out_sharding = e.fix ? e.out() : P("X")}); }},
      {"ones", {}, [](E e, A) { return ones({3}, {.out_sharding = e.fix ? e.out() : P("X")}); }},
      {"full", {}, [](E e, A) { return full({3}, 2, {.out_sharding = e.fix ? e.out() : P("X")}); }},
      {"zeros_like",
       {"f32[3]"},
       [](E e, A a) { return zeros_like(e(0, a), {.out_sharding = e.fix ? e.out() : P("X")}); }},
      {"ones_like",
       {"f32[3]"},
       [](E e, A a) { return ones_like(e(0, a), {.out_sharding = e.fix ? e.out() : P("X")}); }},
      {"full_like",
       {"f32[3]", "f32[]"},
       [](E e, A a) {
         return full_like(e(0, a), e(1, a), {.out_sharding = e.fix ? e.out() : P("X")});
       }},
      {"iota", {}, [](E e, A) { return iota({3}, 0, {.out_sharding = e.fix ? e.out() : P("X")}); }},
      {"arange",
       {},
       [](E e, A) { return arange(1, 4, 1, {.out_sharding = e.fix ? e.out() : P("X")}); }},
      {"eye", {}, [](E e, A) { return eye(3, {.out_sharding = e.fix ? e.out() : P("X")}); }},
      {"linspace",
       {},
       [](E e, A) { return linspace(0, 1, 3, {.out_sharding = e.fix ? e.out() : P("X")}); }},
      {"logspace",
       {},
       [](E e, A) { return logspace(0, 1, 3, {.out_sharding = e.fix ? e.out() : P("X")}); }},
      {"meshgrid", {"f32[8,2]"}, [](E e, A a) { return meshgrid({e(0, a)})[0]; }},
      {"one_hot",
       {"i32[8@X]"},
       [](E e, A a) {
         return one_hot(e(0, a), 3, {.out_sharding = e.fix ? e.out() : P("X", "Y")});
       }},
  };
  return calls;
}

const std::vector<Call>& Sums() {
  static const std::vector<Call> calls = {
      REDUCTION("key<fry>[8]", sum),
      REDUCTION("f32[8]{U:X}", prod),
      REDUCTION("f32[8]{U:X}", max),
      REDUCTION("f32[8]{U:X}", min),
      REDUCTION("key<fry>[8]", mean),
      REDUCTION("f32[8]{U:X}", any),
      REDUCTION("f32[8]{U:X}", all),
      REDUCTION("f32[8]{U:X}", logsumexp),
      REDUCTION("f32[8]{U:X}", var),
      REDUCTION("f32[8]{U:X}", stddev),
      REDUCTION("f32[8]{U:X}", ptp),
      REDUCTION("f32[8]{U:X}", count_nonzero),
      REDUCTION("f32[8]{U:X}", norm),
      REDUCTION("bool[8]", reduce_sum),
      REDUCTION("f32[8]{U:X}", reduce_prod),
      REDUCTION("f32[8]{U:X}", reduce_max),
      REDUCTION("f32[8]{U:X}", reduce_min),
      REDUCTION("f32[8]", reduce_and),
      REDUCTION("f32[8]", reduce_or),
      REDUCTION("f32[8]", reduce_xor),
      {"average", {"key<fry>[8]"}, [](E e, A a) { return average(e(0, a)); }},
      {"average",
       {"f32[8@X]", "f32[8@Y]"},
       [](E e, A a) { return average(e(0, a), 0, {.weights = e(1, a), .out_sharding = e.out()}); }},
      {"norm",
       {"f32[8,8]{U:X}"},
       [](E e, A a) {
         return norm(e(0, a), {0, 1}, {.ord = 1});
       }},
      {"cumsum",
       {"f32[8@X]"},
       [](E e, A a) { return cumsum(e(0, a), 0, {.out_sharding = e.out()}); }},
      {"cumprod",
       {"f32[8@X]"},
       [](E e, A a) { return cumprod(e(0, a), 0, {.out_sharding = e.out()}); }},
      {"cummax",
       {"f32[8@X]"},
       [](E e, A a) { return cummax(e(0, a), 0, {.out_sharding = e.out()}); }},
      {"cummin",
       {"f32[8@X]"},
       [](E e, A a) { return cummin(e(0, a), 0, {.out_sharding = e.out()}); }},
      {"cumlogsumexp",
       {"f32[8@X]"},
       [](E e, A a) { return cumlogsumexp(e(0, a), 0, {.out_sharding = e.out()}); }},
      ALONG("f32[8]{U:X}", argmax),
      ALONG("f32[8]{U:X}", argmin),
      ALONG("f32[8]{U:X}", softmax),
      ALONG("f32[8]{U:X}", log_softmax),
      {"sort", {"f32[8@X]"}, [](E e, A a) { return sort(e(0, a), 0, {.out_sharding = e.out()}); }},
      {"argsort",
       {"f32[8@X]"},
       [](E e, A a) { return argsort(e(0, a), 0, {.out_sharding = e.out()}); }},
      {"sort",
       {"f32[8@X]"},
       [](E e, A a) { return sort(e(0, a), 0, {.descending = true, .out_sharding = e.out()}); }},
      REDUCTION("f32[8@X]", median),
      {"quantile",
       {"f32[8@X]", "f32[2]"},
       [](E e, A a) { return quantile(e(0, a), e(1, a), 0, {.out_sharding = e.out()}); }},
      {"percentile",
       {"f32[8@X]"},
       [](E e, A a) { return percentile(e(0, a), 50, 0, {.out_sharding = e.out()}); }},
      {"top_k",
       {"f32[8@X]"},
       [](E e, A a) { return top_k(e(0, a), 2, {.out_sharding = e.out()}).values; }},
      {"layer_norm",
       {"f32[4,8@X]", "f32[8@Y]", "f32[8]"},
       [](E e, A a) { return layer_norm(e(0, a), e(1, a), e(2, a)); }},
      {"dot_general",
       {"f32[8@X]", "f32[8@X]"},
       [](E e, A a) {
         return dot_general(e(0, a), e(1, a), {{0}, {0}}, {.out_sharding = e.out()});
       }},
      {"matmul",
       {"f32[4,8@X]", "f32[8@X,4]"},
       [](E e, A a) { return matmul(e(0, a), e(1, a), {.out_sharding = e.out()}); }},
      {"matmul",
       {"f32[1,4,8@X]", "f32[3,8@X,4]"},
       [](E e, A a) { return matmul(e(0, a), e(1, a), {.out_sharding = e.out()}); }},
      {"dot",
       {"f32[8@X]", "f32[8@X]"},
       [](E e, A a) { return dot(e(0, a), e(1, a), {.out_sharding = e.out()}); }},
      {"tensordot",
       {"f32[8@X]", "f32[8@X]"},
       [](E e, A a) { return tensordot(e(0, a), e(1, a), 1, {.out_sharding = e.out()}); }},
      {"tensordot",
       {"f32[8@X]", "f32[8@X]"},
       [](E e, A a) {
         return tensordot(e(0, a), e(1, a), DotDims{{0}, {0}}, {.out_sharding = e.out()});
       }},
      {"outer",
       {"f32[8@X]", "f32[8@X]"},
       [](E e, A a) { return outer(e(0, a), e(1, a), {.out_sharding = e.out()}); }},
      {"inner",
       {"f32[8@X]", "f32[8@X]"},
       [](E e, A a) { return inner(e(0, a), e(1, a), {.out_sharding = e.out()}); }},
      {"vdot",
       {"f32[8@X]", "f32[8@X]"},
       [](E e, A a) { return vdot(e(0, a), e(1, a), {.out_sharding = e.out()}); }},
      {"kron",
       {"f32[8@X]", "f32[8@X]"},
       [](E e, A a) { return kron(e(0, a), e(1, a), {.out_sharding = e.out()}); }},
      {"einsum",
       {"f32[8@X]", "f32[8@X]"},
       [](E e, A a) {
         return einsum("i,i->", {e(0, a), e(1, a)}, {.out_sharding = e.out()});
       }},
      {"einsum",
       {"f32[8@X,8]"},
       [](E e, A a) { return einsum("ii->i", {e(0, a)}, {.out_sharding = e.out()}); }},
      {"tridiagonal_solve",
       {"f32[8@X]", "f32[8]", "f32[8]", "f32[8,2]"},
       [](E e, A a) { return tridiagonal_solve(e(0, a), e(1, a), e(2, a), e(3, a)); }},
      {"reshard", {"f32[3]"}, [](E e, A a) { return reshard(e(0, a), e.out().value_or(P("X"))); }},
      {"with_sharding_constraint",
       {"f32[8]"},
       [](E e, A a) { return with_sharding_constraint(e(0, a), P("X")); }},
  };
  return calls;
}

#define DRAW(name)                                                                   \
  Call {                                                                             \
    "random::" #name, {"key<fry>[]"}, [](E e, A a) {                                 \
      return random::name(e(0, a), {3}, {.out_sharding = e.fix ? e.out() : P("X")}); \
    }                                                                                \
  }
#define DRAW_BY(name, ...)                                                                   \
  Call {                                                                                     \
    "random::" #name, {"key<fry>[]"}, [](E e, A a) {                                         \
      return random::name(e(0, a), __VA_ARGS__, {.out_sharding = e.fix ? e.out() : P("X")}); \
    }                                                                                        \
  }

const std::vector<Call>& Draws() {
  static const std::vector<Call> calls = {
      DRAW(bits),
      DRAW(uniform),
      DRAW(normal),
      DRAW(gumbel),
      DRAW(exponential),
      DRAW(laplace),
      DRAW(logistic),
      DRAW(cauchy),
      DRAW(rademacher),
      DRAW_BY(randint, {3}, 0, 9),
      DRAW_BY(truncated_normal, -1, 1, {3}),
      DRAW_BY(bernoulli, 0.5, {3}),
      DRAW_BY(gamma, 2, {3}),
      DRAW_BY(loggamma, 2, {3}),
      DRAW_BY(beta, 2, 2, {3}),
      DRAW_BY(poisson, 2, {3}),
      DRAW_BY(permutation, 3),
      DRAW_BY(choice, 3, {3}),
  };
  return calls;
}

std::vector<Call> AllCalls() {
  std::vector<Call> all;
  for (const auto* part : {&Elementwise(), &Shapes(), &Sums(), &Draws()})
    all.insert(all.end(), part->begin(), part->end());
  return all;
}

class Names : public testing::TestWithParam<size_t> {};

// An edit sends at most the bytes that its text states.
void CheckFix(const Call& call, const Fix& fix, const std::vector<Array>& given) {
  SCOPED_TRACE(fix.text);
  EXPECT_THAT(fix.text, testing::Not(testing::HasSubstr("...")));
  if (!fix.text.starts_with("pad(")) {
    EXPECT_THAT(fix.text, testing::HasSubstr(fix.spec.text()));
  }
  EXPECT_THAT(fix.text, testing::HasSubstr("   sends "));
  const auto edited = [&](std::vector<Array> arrays) { return call.f(Edit{fix}, arrays); };
  const Lowered lowered = fix.auto_axes ? auto_axes(edited, {.out_sharding = fix.spec}).lower(given)
                                        : jit(edited).lower(given);
  EXPECT_LE(lowered.comm().bytes(), fix.bytes) << lowered.comm();
}

TEST_P(Names, AreWhatTheUserWrote) {
  const Call call = AllCalls()[GetParam()];
  MeshScope scope(abstract_mesh({{"X", 2}, {"Y", 4}}));
  std::vector<Array> given;
  for (const char* type : call.given) given.push_back(abstract_array(type));
  try {
    const Array y = call.f({}, given);
    FAIL() << call.name << " was accepted as " << type_of(y);
  } catch (const InternalError& e) {
    FAIL() << e.what();
  } catch (const Error& e) {
    SCOPED_TRACE(e.what());
    EXPECT_EQ(e.op(), call.name);
    EXPECT_THAT(e.where(), testing::StartsWith("names_errors_test.cc:"));
    for (size_t k = 0; k < e.operands().size(); ++k)
      EXPECT_EQ(e.operands()[k].type, k < given.size() ? call.given[k] : "nothing");
    for (const Fix& fix : e.fixes()) CheckFix(call, fix, given);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Names, testing::Range(size_t{0}, AllCalls().size()),
                         [](const auto& info) {
                           const std::string name = AllCalls()[info.param].name;
                           return std::regex_replace(name, std::regex("[^a-z0-9_]"), "_") + "_" +
                                  std::to_string(info.param);
                         });

// Functions that accept every array, or make arrays from numbers of the host.
const std::set<std::string> kCannotRefuse = {"array",         "abstract_array",
                                             "atleast_1d",    "atleast_2d",
                                             "stop_gradient", "optimization_barrier",
                                             "ArrayFromHost", "SplitEvenly",
                                             "real",          "imag",
                                             "conj"};

TEST(NamesOf, AllFunctions) {
  std::ifstream header(HEADER_DIR "/ops.h");
  ASSERT_TRUE(header);
  std::set<std::string> missing, known = kCannotRefuse;
  for (const Call& call : AllCalls()) known.insert(call.name);
  static const std::regex declared(R"(^(?:std::vector<Array>|Array|TopK) (\w+)\()");
  for (std::string line; std::getline(header, line);)
    if (std::smatch m;
        std::regex_search(line, m, declared) && line.find("detail") == std::string::npos)
      if (!known.contains(m[1])) missing.insert(m[1]);
  EXPECT_THAT(missing, testing::IsEmpty());
}

TEST(NamesOf, OperatorsAsTheCallsThatTakeOptions) {
  MeshScope scope(abstract_mesh({{"X", 2}, {"Y", 4}}));
  Array a = abstract_array("i32[8@X,4]"), b = abstract_array("i32[8@Y,4]");
  const std::pair<const char*, std::function<Array()>> operators[] = {
      {"add", [&] { return a + b; }},         {"sub", [&] { return a - b; }},
      {"mul", [&] { return a * b; }},         {"divide", [&] { return a / b; }},
      {"remainder", [&] { return a % b; }},   {"bitwise_and", [&] { return a & b; }},
      {"bitwise_or", [&] { return a | b; }},  {"bitwise_xor", [&] { return a ^ b; }},
      {"shift_left", [&] { return a << b; }}, {"shift_right_arithmetic", [&] { return a >> b; }},
      {"eq", [&] { return a == b; }},         {"ne", [&] { return a != b; }},
      {"lt", [&] { return a < b; }},          {"le", [&] { return a <= b; }},
      {"gt", [&] { return a > b; }},          {"ge", [&] { return a >= b; }},
      {"add", [&] { return a += b; }}};
  for (const auto& [name, f] : operators) {
    try {
      f();
      FAIL() << name << " was accepted";
    } catch (const ShardingError& e) {
      EXPECT_EQ(e.op(), name);
      const std::string call = fmt::format("{}(lhs, rhs, {{.out_sharding = P(", name);
      EXPECT_THAT(e.what(), testing::HasSubstr(call));
      EXPECT_THAT(e.what(), testing::Not(testing::HasSubstr("\n    .out_sharding")));
    }
  }
}

}  // namespace
}  // namespace tessera::names_errors_test
