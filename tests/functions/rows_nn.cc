// Rows of nn.h and initialisers.h.

#include "functions/rows.h"

namespace tessera::functions {

// Kinks, and where exponents overflow.

namespace {
const Rows& Activations() {
  static const Rows rows = {
      {"identity", "jnn.identity(a)", "f32[4]", [](A a) -> R { return {identity(a[0])}; }},
      {"relu6", "jnn.relu6(a)", "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {relu6(a[0])}; }},
      {"leaky_relu", "jnn.leaky_relu(a)",
       "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {leaky_relu(a[0])}; }},
      {"leaky_relu.slope", "jnn.leaky_relu(a, b)", "f64[4] f64[]",
       [](A a) -> R { return {leaky_relu(a[0], a[1])}; }},
      {"elu", "jnn.elu(a)", "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {elu(a[0])}; }},
      {"elu.alpha", "jnn.elu(a, 1.5)", "bf16[4]", [](A a) -> R { return {elu(a[0], 1.5)}; }},
      {"celu", "jnn.celu(a)", "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {celu(a[0])}; }},
      {"celu.alpha", "jnn.celu(a, b)", "f32[4] f32[]:1:2",
       [](A a) -> R { return {celu(a[0], a[1])}; }},
      {"selu", "jnn.selu(a)", "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {selu(a[0])}; }},
      {"hard_tanh", "jnn.hard_tanh(a)",
       "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {hard_tanh(a[0])}; }},
      {"hard_tanh.i32", "jnn.hard_tanh(a)", "i32[4]=-3,0,1,9",
       [](A a) -> R { return {hard_tanh(a[0])}; }},
      {"hard_sigmoid", "jnn.hard_sigmoid(a)",
       "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {hard_sigmoid(a[0])}; }},
      {"hard_silu", "jnn.hard_silu(a)",
       "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {hard_silu(a[0])}; }},
      {"hard_swish", "jnn.hard_swish(a)", "f64[4]", [](A a) -> R { return {hard_swish(a[0])}; }},
      {"sigmoid", "jnn.sigmoid(a)", "f64[4]", [](A a) -> R { return {sigmoid(a[0])}; }},
      {"swish", "jnn.swish(a)", "f64[4]", [](A a) -> R { return {swish(a[0])}; }},
      {"log_sigmoid", "jnn.log_sigmoid(a)",
       "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {log_sigmoid(a[0])}; }},
      // JAX's derivative of inf / inf is NaN.
      {"soft_sign",
       "jnp.where(jnp.isinf(a), jnp.sign(a), jnn.soft_sign(jnp.where(jnp.isinf(a), 0, a)))",
       "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {soft_sign(a[0])}; }},
      {"mish", "jnn.mish(a)", "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {mish(a[0])}; }},
      {"squareplus",
       "jnp.where(jnp.isinf(a), jnp.maximum(a, 0), jnn.squareplus(jnp.where(jnp.isinf(a), 0, a)))",
       "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {squareplus(a[0])}; }},
      {"squareplus.b", "jnn.squareplus(a, b)", "f32[4] f32[4]:0:3",
       [](A a) -> R { return {squareplus(a[0], a[1])}; }},
      {"sparse_plus", "jnn.sparse_plus(a)",
       "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {sparse_plus(a[0])}; }},
      {"sparse_sigmoid", "jnn.sparse_sigmoid(a)",
       "f32[16]=0,-0,1,-1,3,-3,6,-6,0.5,-0.25,100,-100,1e-5,nan,inf,-inf",
       [](A a) -> R { return {sparse_sigmoid(a[0])}; }},
      {"log1mexp", "jnn.log1mexp(a)", "f32[8]=0,0.1,0.6931472,0.7,1e-8,30,120,inf",
       [](A a) -> R { return {log1mexp(a[0])}; }},
      {"glu", "jnn.glu(a)", "f32[2,4]", [](A a) -> R { return {glu(a[0])}; }},
      {"glu.dim", "jnn.glu(a, 0)", "f64[4,2]", [](A a) -> R { return {glu(a[0], 0)}; }},
  };
  return rows;
}

const Rows& Norms() {
  static const Rows rows = {
      {"logmeanexp", "jnn.logmeanexp(a)", "f32[2,4]", [](A a) -> R { return {logmeanexp(a[0])}; }},
      {"logmeanexp.dim", "jnn.logmeanexp(a, axis=1, keepdims=True)", "f64[2,4]",
       [](A a) -> R { return {logmeanexp(a[0], 1, {.keepdims = true})}; }},
      {"standardize", "jnn.standardize(a)", "f64[2,4]",
       [](A a) -> R { return {standardize(a[0])}; }},
      {"standardize.dims", "jnn.standardize(a, axis=(0, 1), algorithm='stable')", "f64[2,4]",
       [](A a) -> R {
         return {standardize(a[0], {0, 1})};
       }},
      {"standardize.far", "jnn.standardize(a, algorithm='stable')", "f32[2,4]:999:1001",
       [](A a) -> R { return {standardize(a[0])}; }},
      {"standardize.given", "jnn.standardize(a, mean=b, variance=c, epsilon=0.1)",
       "f64[2,4] f64[2,1] f64[2,1]:1:2",
       [](A a) -> R {
         return {standardize(a[0], -1, {.mean = a[1], .variance = a[2], .epsilon = 0.1})};
       }},
      {"rms_norm", "a / jnp.sqrt(jnp.mean(a * a, -1, keepdims=True) + 1e-5) * b", "f64[2,4] f64[4]",
       [](A a) -> R { return {rms_norm(a[0], a[1])}; }},
      {"rms_norm.bf16",
       "(a.astype('float32') / jnp.sqrt(jnp.mean(a.astype('float32')**2, (0, 1), "
       "keepdims=True) + 1e-3) * b).astype('bfloat16')",
       "bf16[2,4] bf16[4]",
       [](A a) -> R {
         return {rms_norm(a[0], a[1], {0, 1}, {.epsilon = 1e-3})};
       }},
      {"group_norm",
       "(lambda g: ((g - g.mean((1, 3), keepdims=True)) / jnp.sqrt(g.var((1, 3), keepdims=True) "
       "+ 1e-5)).reshape(a.shape) * b + c)(a.reshape(2, 3, 2, 2))",
       "f64[2,3,4] f64[4] f64[4]", [](A a) -> R { return {group_norm(a[0], a[1], a[2], 2)}; }},
      {"instance_norm",
       "(a - a.mean((1, 2), keepdims=True)) / jnp.sqrt(a.var((1, 2), keepdims=True) + 1e-5) * b + "
       "c",
       "f64[2,2,3,4] f64[4] f64[4]", [](A a) -> R { return {instance_norm(a[0], a[1], a[2])}; }},
      {"batch_norm",
       "[(a - a.mean((0, 1))) / jnp.sqrt(a.var((0, 1)) + 1e-5) * b + c, a.mean((0, 1)), "
       "a.var((0, 1))]",
       "f64[2,3,4] f64[4] f64[4]",
       [](A a) -> R {
         const BatchNormed made = batch_norm(a[0], a[1], a[2]);
         return {made.y, made.mean, made.variance};
       }},
      {"batch_norm.given",
       "(a - d[:, None]) / jnp.sqrt(e[:, None] + 0.1) * b[:, None] + c[:, None]",
       "f64[2,4,3] f64[4] f64[4] f64[4] f64[4]:1:2",
       [](A a) -> R {
         return {batch_norm(a[0], a[1], a[2],
                            {.mean = a[3], .variance = a[4], .epsilon = 0.1, .dim = 1})
                     .y};
       }},
      {"dropout", "jnp.where(jax.random.bernoulli(jax.random.key(3), 0.75, a.shape), a / 0.75, 0)",
       "f32[4,4]", [](A a) -> R { return {dropout(random::key(3), a[0], 0.25)}; }},
      {"dropout.broadcast",
       "jnp.where(jax.random.bernoulli(jax.random.key(3), 0.5, (4, 1)), a / 0.5, 0)", "f32[4,4]",
       [](A a) -> R { return {dropout(random::key(3), a[0], 0.5, {.broadcast_dims = {1}})}; }},
      {"embedding", "jnp.take(a, b, axis=0)", "f32[4,2] i32[3]=0,3,-1",
       [](A a) -> R { return {embedding(a[0], a[1])}; }},
      {"rotary_embedding",
       "(lambda t, x, y: jnp.concatenate([x * jnp.cos(t) - y * jnp.sin(t), y * jnp.cos(t) + x * "
       "jnp.sin(t)], -1))(b[..., None, None] * 10000.0 ** (-jnp.arange(2) / 2), a[..., :2], a[..., "
       "2:])",
       "f64[2,3,2,4] f64[3]:0:9", [](A a) -> R { return {rotary_embedding(a[0], a[1])}; }},
      {"rotary_embedding.interleaved",
       "(lambda t, x, y: jnp.stack([x * jnp.cos(t) - y * jnp.sin(t), y * jnp.cos(t) + x * "
       "jnp.sin(t)], -1).reshape(a.shape))(b[..., None, None] * 100.0 ** (-jnp.arange(2) / 2), "
       "a[..., ::2], a[..., 1::2])",
       "f64[2,3,2,4] i32[2,3]:0:9",
       [](A a) -> R { return {rotary_embedding(a[0], a[1], {.base = 100, .interleaved = true})}; }},
  };
  return rows;
}

const Rows& Losses() {
  static const Rows rows = {
      {"cross_entropy",
       "jnp.where(b < 6, -jnp.take_along_axis(jnn.log_softmax(a), b[:, None], "
       "1)[:, 0], 0)",
       "f64[4,6] i32[4]=0,5,2,9", [](A a) -> R { return {cross_entropy(a[0], a[1])}; }},
      {"cross_entropy.smoothed",
       "-0.9 * jnp.take_along_axis(jnn.log_softmax(a, 0), b[None], 0)[0] - 0.1 * "
       "jnn.log_softmax(a, 0).mean(0)",
       "f64[6,4] i32[4]:0:6",
       [](A a) -> R { return {cross_entropy(a[0], a[1], {.dim = 0, .smoothing = 0.1})}; }},
      {"cross_entropy.smoothed_padding",
       "jnp.where((b >= 0) & (b < 6), -0.9 * jnp.take_along_axis(jnn.log_softmax(a), "
       "b.clip(0, 5)[:, None], 1)[:, 0] - 0.1 * jnn.log_softmax(a).mean(1), 0)",
       "f64[5,6] i32[5]=0,-100,2,6,-1",
       [](A a) -> R { return {cross_entropy(a[0], a[1], {.smoothing = 0.1})}; }},
      {"cross_entropy.soft", "-jnp.sum(b * jnn.log_softmax(a), -1)", "f32[4,6] f32[4,6]:0:1",
       [](A a) -> R { return {cross_entropy(a[0], a[1])}; }},
      {"make_causal_mask", "jnp.broadcast_to(jnp.tril(jnp.ones((4, 4), bool)), (2, 1, 4, 4))",
       "i32[2,4]", [](A a) -> R { return {make_causal_mask(a[0])}; }},
  };
  return rows;
}

const Rows& Attentions() {
  static const Rows rows = {
      {"dot_product_attention", "jnn.dot_product_attention(a, b, c)",
       "f32[2,3,2,4] f32[2,5,2,4] f32[2,5,2,4]",
       [](A a) -> R { return {dot_product_attention(a[0], a[1], a[2])}; }},
      {"dot_product_attention.causal", "jnn.dot_product_attention(a, b, c, is_causal=True)",
       "f32[4,2,4] f32[4,2,4] f32[4,2,4]",
       [](A a) -> R { return {dot_product_attention(a[0], a[1], a[2], {.is_causal = true})}; }},
      {"dot_product_attention.grouped",
       "jnn.dot_product_attention(a, b, c, d, e, scale=0.3, is_causal=True)",
       "f32[2,3,4,2] f32[2,5,2,2] f32[2,5,2,2] f32[4,3,5] bool[2,1,1,5]",
       [](A a) -> R {
         return {dot_product_attention(
             a[0], a[1], a[2], {.bias = a[3], .mask = a[4], .scale = 0.3, .is_causal = true})};
       }},
      {"dot_product_attention.multi_query",
       "jnn.dot_product_attention(a, b, c, bias=d, local_window_size=(1, 0))",
       "f32[2,4,4,2] f32[2,4,1,2] f32[2,4,1,2] f32[2,1,1,4]",
       [](A a) -> R {
         return {dot_product_attention(a[0], a[1], a[2],
                                       {.bias = a[3], .local_window = std::pair(1, 0)})};
       }},
      {"dot_product_attention.lengths",
       "jnn.dot_product_attention(a, b, c, query_seq_lengths=d, key_value_seq_lengths=e, "
       "local_window_size=2)",
       "f32[2,4,2,2] f32[2,6,2,2] f32[2,6,2,2] i32[2]=4,2 i32[2]=3,6",
       [](A a) -> R {
         return {dot_product_attention(
             a[0], a[1], a[2],
             {.query_lengths = a[3], .key_value_lengths = a[4], .local_window = std::pair(2, 2)})};
       }},
      {"dot_product_attention.bf16", "jnn.dot_product_attention(a, b, c, is_causal=True)",
       "bf16[2,4,2,4] bf16[2,4,2,4] bf16[2,4,2,4]",
       [](A a) -> R { return {dot_product_attention(a[0], a[1], a[2], {.is_causal = true})}; },
       0.1},
  };
  return rows;
}

const Rows& Initialisers() {
  static const Rows rows = {
      {"initialisers::zeros", "jnn.initializers.zeros(jax.random.key(5), (2, 3), 'float32')", "",
       [](A) -> R {
         return {initialisers::zeros(random::key(5), {2, 3}, {.dtype = f32})};
       }},
      {"initialisers::ones", "jnn.initializers.ones(jax.random.key(5), (2, 3), 'float32')", "",
       [](A) -> R {
         return {initialisers::ones(random::key(5), {2, 3}, {.dtype = f32})};
       }},
      {"initialisers::constant", "jnn.initializers.constant(3)(jax.random.key(5), (2, 3))", "",
       [](A) -> R {
         return {initialisers::constant(random::key(5), {2, 3}, 3)};
       }},
      {"initialisers::uniform",
       "jnn.initializers.uniform(0.3)(jax.random.key(5), (2, 3), 'bfloat16')", "",
       [](A) -> R {
         return {initialisers::uniform(random::key(5), {2, 3}, 0.3, {.dtype = bf16})};
       }},
      {"initialisers::normal", "jnn.initializers.normal()(jax.random.key(5), (2, 3))", "",
       [](A) -> R {
         return {initialisers::normal(random::key(5), {2, 3})};
       }},
      {"initialisers::truncated_normal",
       "jnn.initializers.truncated_normal(0.5, lower=-1)(jax.random.key(5), (2, 3), 'float32')", "",
       [](A) -> R {
         return {initialisers::truncated_normal(random::key(5), {2, 3}, 0.5,
                                                {.dtype = f32, .lower = -1})};
       }},
      {"initialisers::variance_scaling",
       "jnn.initializers.variance_scaling(0.7, 'fan_geo_avg', 'normal')(jax.random.key(5), (2, 3, "
       "4), 'bfloat16')",
       "",
       [](A) -> R {
         return {initialisers::variance_scaling(random::key(5), {2, 3, 4}, 0.7,
                                                FanMode::kGeometricAverage,
                                                FanDistribution::kNormal, {.dtype = bf16})};
       }},
      {"initialisers::variance_scaling.out",
       "jnn.initializers.variance_scaling(0.7, 'fan_out', 'uniform')(jax.random.key(5), (2, 3))",
       "",
       [](A) -> R {
         return {initialisers::variance_scaling(random::key(5), {2, 3}, 0.7, FanMode::kOut,
                                                FanDistribution::kUniform)};
       }},
      {"initialisers::glorot_uniform",
       "jnn.initializers.glorot_uniform()(jax.random.key(5), (2, 3))", "",
       [](A) -> R {
         return {initialisers::glorot_uniform(random::key(5), {2, 3})};
       }},
      {"initialisers::glorot_normal",
       "jnn.initializers.glorot_normal(in_axis=(0, 1), out_axis=2, "
       "batch_axis=3)(jax.random.key(5), "
       "(2, 3, 4, 2), 'float32')",
       "",
       [](A) -> R {
         return {initialisers::glorot_normal(
             random::key(5), {2, 3, 4, 2},
             {.dtype = f32, .in_dims = {0, 1}, .out_dims = 2, .batch_dims = 3})};
       }},
      {"initialisers::lecun_uniform",
       "jnn.initializers.lecun_uniform()(jax.random.key(5), (2, 3), 'float16')", "",
       [](A) -> R {
         return {initialisers::lecun_uniform(random::key(5), {2, 3}, {.dtype = f16})};
       }},
      {"initialisers::lecun_normal", "jnn.initializers.lecun_normal()(jax.random.key(5), (2, 3))",
       "",
       [](A) -> R {
         return {initialisers::lecun_normal(random::key(5), {2, 3})};
       }},
      {"initialisers::he_uniform", "jnn.initializers.he_uniform()(jax.random.key(5), (2, 3))", "",
       [](A) -> R {
         return {initialisers::he_uniform(random::key(5), {2, 3})};
       }},
      {"initialisers::he_normal", "jnn.initializers.he_normal()(jax.random.key(5), (2, 3))", "",
       [](A) -> R {
         return {initialisers::he_normal(random::key(5), {2, 3})};
       }},
      {"initialisers::xavier_uniform",
       "jnn.initializers.xavier_uniform()(jax.random.key(5), (2, 3))", "",
       [](A) -> R {
         return {initialisers::xavier_uniform(random::key(5), {2, 3})};
       }},
      {"initialisers::xavier_normal", "jnn.initializers.xavier_normal()(jax.random.key(5), (2, 3))",
       "",
       [](A) -> R {
         return {initialisers::xavier_normal(random::key(5), {2, 3})};
       }},
      {"initialisers::kaiming_uniform",
       "jnn.initializers.kaiming_uniform()(jax.random.key(5), (2, 3))", "",
       [](A) -> R {
         return {initialisers::kaiming_uniform(random::key(5), {2, 3})};
       }},
      {"initialisers::kaiming_normal",
       "jnn.initializers.kaiming_normal()(jax.random.key(5), (2, 3))", "",
       [](A) -> R {
         return {initialisers::kaiming_normal(random::key(5), {2, 3})};
       }},
      {"initialisers::orthogonal",
       "jnn.initializers.orthogonal(2.0, column_axis=0)(jax.random.key(5), (3, 2, 2))", "",
       [](A) -> R {
         return {
             initialisers::orthogonal(random::key(5), {3, 2, 2}, {.scale = 2, .column_dim = 0})};
       }},
      {"initialisers::delta_orthogonal",
       "jnn.initializers.delta_orthogonal()(jax.random.key(5), (3, 2, 2, 3))", "",
       [](A) -> R {
         return {initialisers::delta_orthogonal(random::key(5), {3, 2, 2, 3})};
       }},
  };
  return rows;
}
}  // namespace

const Rows& NnRows() {
  static const Rows all = [] {
    Rows rows;
    for (const Rows* part : {&Activations(), &Norms(), &Losses(), &Attentions(), &Initialisers()})
      rows.insert(rows.end(), part->begin(), part->end());
    return rows;
  }();
  return all;
}

}  // namespace tessera::functions
