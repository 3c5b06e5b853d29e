// Calls of elementwise functions and of neural networks'.
#include <tessera/numpy_names.h>

#include "functions/calls/calls.h"

namespace tessera::functions {

namespace {
using C = const RandomCall&;
using R = std::vector<Array>;
#define UNARY(name)                              \
  {                                              \
#name, [](C c) -> R { return {name(c[0])}; } \
  }
#define BINARY(name)                                   \
  {                                                    \
#name, [](C c) -> R { return {name(c[0], c[1])}; } \
  }
#define PAIR_OF_ONE(name)       \
  {                             \
#name, [](C c) -> R {         \
      const auto made = name(c[0]);   \
      return {made.first, made.second}; \
    } \
  }
}  // namespace

const CallTable& ElementCalls() {
  static const CallTable table = {
      UNARY(signbit),
      UNARY(trunc),
      UNARY(fabs),
      UNARY(sinc),
      UNARY(degrees),
      UNARY(radians),
      UNARY(positive),
      UNARY(spacing),
      UNARY(isposinf),
      UNARY(isneginf),
      UNARY(iscomplex),
      UNARY(isreal),
      UNARY(abs),
      UNARY(sign),
      UNARY(square),
      UNARY(negative),
      UNARY(ceil),
      UNARY(floor),
      UNARY(rint),
      UNARY(isnan),
      UNARY(isinf),
      UNARY(isfinite),
      UNARY(logical_not),
      UNARY(angle),
      UNARY(real),
      UNARY(imag),
      UNARY(conj),
      UNARY(exp),
      UNARY(expm1),
      UNARY(log),
      UNARY(log1p),
      UNARY(log2),
      UNARY(log10),
      UNARY(sqrt),
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
      UNARY(nan_to_num),
      UNARY(bitwise_not),
      UNARY(bitwise_count),
      UNARY(invert),
      UNARY(exp2),
      UNARY(i0),
      PAIR_OF_ONE(frexp),
      PAIR_OF_ONE(modf),
      BINARY(copysign),
      BINARY(heaviside),
      BINARY(fmax),
      BINARY(fmin),
      BINARY(float_power),
      BINARY(gcd),
      BINARY(lcm),
      BINARY(ldexp),
      BINARY(logaddexp2),
      BINARY(logaddexp),
      BINARY(add),
      BINARY(subtract),
      BINARY(multiply),
      BINARY(divide),
      BINARY(floor_divide),
      BINARY(remainder),
      BINARY(fmod),
      BINARY(power),
      BINARY(maximum),
      BINARY(minimum),
      BINARY(hypot),
      BINARY(arctan2),
      BINARY(nextafter),
      BINARY(equal),
      BINARY(less),
      BINARY(greater_equal),
      BINARY(logical_and),
      BINARY(logical_xor),
      BINARY(bitwise_and),
      BINARY(bitwise_xor),
      BINARY(left_shift),
      BINARY(right_shift),
      BINARY(array_equiv),
      BINARY(array_equal),
      BINARY(isclose),
      {"divmod",
       [](C c) -> R {
         const auto made = divmod(c[0], c[1]);
         return {made.first, made.second};
       }},
      {"where", [](C c) -> R { return {where(c[0], c[1], c[2])}; }},
      {"clip", [](C c) -> R { return {clip(c[0], c[1], c[2])}; }},
      {"around",
       [](C c) -> R { return {around(c[0], static_cast<int>(c.integer("decimals", 0)))}; }},
      // nn
      UNARY(relu),
      UNARY(relu6),
      UNARY(selu),
      UNARY(hard_tanh),
      UNARY(hard_sigmoid),
      UNARY(hard_silu),
      UNARY(log_sigmoid),
      UNARY(soft_sign),
      UNARY(mish),
      UNARY(squareplus),
      UNARY(sparse_plus),
      UNARY(sparse_sigmoid),
      UNARY(sigmoid),
      UNARY(silu),
      UNARY(softplus),
      UNARY(elu),
      UNARY(celu),
      UNARY(leaky_relu),
      UNARY(log1mexp),
      {"gelu", [](C c) -> R { return {gelu(c[0], {.approximate = c.flag("approximate", true)})}; }},
      {"glu", [](C c) -> R { return {glu(c[0], c.axis())}; }},
      {"softmax", [](C c) -> R { return {softmax(c[0], c.has("axis") ? c.dims() : Dims(-1))}; }},
      {"log_softmax",
       [](C c) -> R { return {log_softmax(c[0], c.has("axis") ? c.dims() : Dims(-1))}; }},
      {"standardize",
       [](C c) -> R {
         return {standardize(c[0], c.has("axis") ? c.dims() : Dims(-1),
                             {.epsilon = c.number("epsilon", 1e-5)})};
       }},
      {"one_hot",
       [](C c) -> R { return {one_hot(c[0], c.integer("num_classes", 3), {.dim = c.axis()})}; }},
      {"dot_product_attention",
       [](C c) -> R {
         return {dot_product_attention(c[0], c[1], c[2],
                                       {.bias = c.at("bias"),
                                        .mask = c.at("mask"),
                                        .is_causal = c.flag("is_causal"),
                                        .query_lengths = c.at("query_seq_lengths"),
                                        .key_value_lengths = c.at("key_value_seq_lengths")})};
       }},
  };
  return table;
}

}  // namespace tessera::functions
