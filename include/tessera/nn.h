// Functions of neural networks: activations, normalisation, losses, attention. ops.h has relu,
// silu, gelu, softplus, softmax, log_softmax, layer_norm and one_hot.
//
// Unless its comment says otherwise, a function keeps the shape, the dtype and the sharding of its
// first operand; ints and bools become floats. Derivatives at kinks are those of JAX.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/ops.h"
#include "tessera/options.h"

namespace TESSERA_PUBLIC tessera {

// ---- activations: [...] -> [...] ----

// Returns x.
Array identity(Operand x, Loc loc = Loc::Current());
// Returns min(max(x, 0), 6). Its derivative is 0 at 0 and at 6.
Array relu6(Operand x, Loc loc = Loc::Current());
// Returns x where x >= 0, else negative_slope * x.
Array leaky_relu(Operand x, Operand negative_slope = 0.01, Loc loc = Loc::Current());
// Returns x where x > 0, else alpha * (e^x - 1).
Array elu(Operand x, Operand alpha = 1.0, Loc loc = Loc::Current());
// Returns max(x, 0) + alpha * (e^(min(x, 0) / alpha) - 1).
Array celu(Operand x, Operand alpha = 1.0, Loc loc = Loc::Current());
// Returns elu with the scale and alpha of self-normalizing networks.
Array selu(Operand x, Loc loc = Loc::Current());
// Returns x limited to [-1, 1].
Array hard_tanh(Operand x, Loc loc = Loc::Current());
// Returns relu6(x + 3) / 6.
Array hard_sigmoid(Operand x, Loc loc = Loc::Current());
// Returns x * hard_sigmoid(x).
Array hard_silu(Operand x, Loc loc = Loc::Current());
// Returns log(1 / (1 + e^-x)) without overflow.
Array log_sigmoid(Operand x, Loc loc = Loc::Current());
// Returns x / (|x| + 1).
Array soft_sign(Operand x, Loc loc = Loc::Current());
// Returns x * tanh(softplus(x)).
Array mish(Operand x, Loc loc = Loc::Current());
// Returns (x + sqrt(x^2 + b)) / 2.
Array squareplus(Operand x, Operand b = 4, Loc loc = Loc::Current());
// Returns 0 for x <= -1, x for x >= 1, and (x + 1)^2 / 4 between.
Array sparse_plus(Operand x, Loc loc = Loc::Current());
// Returns the derivative of sparse_plus: 0 for x <= -1, 1 for x >= 1, and (x + 1) / 2 between.
Array sparse_sigmoid(Operand x, Loc loc = Loc::Current());
// Returns log(1 - e^-x), accurate for small and for large x.
Array log1mexp(Operand x, Loc loc = Loc::Current());
// Returns the first half of x along `dim` times the logistic function of the second: `dim` becomes
// half as long. Throws ShapeError for an odd size.
Array glu(Operand x, int dim = -1, Loc loc = Loc::Current());
// JAX's other names.
inline Array sigmoid(Operand x, Loc loc = Loc::Current()) { return logistic(std::move(x), loc); }
inline Array swish(Operand x, Loc loc = Loc::Current()) { return silu(std::move(x), loc); }
inline Array hard_swish(Operand x, Loc loc = Loc::Current()) {
  return hard_silu(std::move(x), loc);
}

// ---- normalisation ----

// Returns log(mean(e^x)) over `dims` without overflow.
Array logmeanexp(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());

struct StandardizeOptions {
  Array mean = {}, variance = {};  // default: of x, along the dims
  double epsilon = 1e-5;
};
// Returns (x - mean) / sqrt(variance + epsilon), with the statistics over `dims`; given ones
// promote with x. The variance is mean((x - mean)^2), accurate also where the mean is large.
Array standardize(Operand x, Dims dims = -1, StandardizeOptions options = {},
                  Loc loc = Loc::Current());
struct NormalizeOptions {
  double epsilon = 1e-5;
};
// Returns x / sqrt(mean(x^2) + epsilon) * scale over `dims`; the scale broadcasts.
Array rms_norm(Operand x, Operand scale, Dims dims = -1, NormalizeOptions options = {},
               Loc loc = Loc::Current());
// Returns x [batch, ..., features] with each group of features of each example normalised to mean 0
// and variance 1, times scale [features], plus bias [features]. Throws ShapeError if the groups do
// not divide the features.
Array group_norm(Operand x, Operand scale, Operand bias, int64_t groups,
                 NormalizeOptions options = {}, Loc loc = Loc::Current());
// Same, with each feature a group: the statistics are over the dims between the first and the last.
Array instance_norm(Operand x, Operand scale, Operand bias, NormalizeOptions options = {},
                    Loc loc = Loc::Current());
struct BatchNormOptions {
  Array mean = {}, variance = {};  // [features], of training; default: those of x
  double epsilon = 1e-5;
  int dim = -1;  // the features
};
// The normalised array, and the statistics [features] that were used.
struct BatchNormed {
  Array y, mean, variance;
};
// Returns x with each feature normalised over all other dims, times scale [features], plus bias
// [features]. With a sharded batch the statistics are of the whole batch.
BatchNormed batch_norm(Operand x, Operand scale, Operand bias, BatchNormOptions options = {},
                       Loc loc = Loc::Current());

// ---- random and looked up ----

struct DropoutOptions {
  std::vector<int64_t> broadcast_dims = {};  // elements along these are dropped together
};
// Returns x with each element set to 0 with probability `rate`, and the others divided by 1 - rate.
// The choice depends on the key alone, not on the sharding. Throws ShapeError unless 0 <= rate
// <= 1.
Array dropout(Operand key, Operand x, double rate, DropoutOptions options = {},
              Loc loc = Loc::Current());
// Returns the rows of table [n, features] at ids [...]: [..., features]. An id out of bounds gives
// NaN. A table whose rows are sharded needs an out_sharding.
Array embedding(Operand table, Operand ids, OutOptions options = {}, Loc loc = Loc::Current());

struct RotaryOptions {
  double base = 10000;
  bool interleaved = false;  // pairs are neighbours; else element i and i + features / 2
};
// Returns x [..., n, heads, features] with pairs of features rotated by the angle position *
// base^(-2 i / features), where i numbers the pairs. Positions are [n] or [..., n]. Throws
// ShapeError for an odd number of features.
Array rotary_embedding(Operand x, Operand positions, RotaryOptions options = {},
                       Loc loc = Loc::Current());

// ---- losses ----

struct CrossEntropyOptions {
  int dim = -1;          // the classes
  double smoothing = 0;  // share of the label that is spread over all classes
};
// Returns -sum(p * log_softmax(logits)) along the classes: [...] without that dim. Labels are class
// numbers, which are ints [...], or probabilities p of the shape of the logits. A class number out
// of bounds gives 0, also with smoothing: such a row has no derivative. Floats of fewer than 32
// bits give f32. The classes may be sharded: only numbers per row are sent. Throws ShapeError for
// labels of another shape, and unless 0 <= smoothing <= 1.
Array cross_entropy(Operand logits, Operand labels, CrossEntropyOptions options = {},
                    Loc loc = Loc::Current());

// ---- attention ----

// Returns a mask [..., 1, n, n] for x [..., n]: whether element i of a sequence sees element j <=
// i.
Array make_causal_mask(Operand x, Loc loc = Loc::Current());

struct AttentionOptions {
  Array bias = {};                   // added to the scores; broadcasts to [batch, heads, t, s]
  Array mask = {};                   // bools; broadcasts likewise; false: not seen
  std::optional<double> scale = {};  // of the scores; default: 1 / sqrt(features)
  bool is_causal = false;            // position t sees positions s <= t
  Array query_lengths = {}, key_value_lengths = {};  // ints [batch]; default: all positions
  // Position t sees only positions from t - first to t + second.
  std::optional<std::pair<int64_t, int64_t>> local_window = {};
};
// Returns softmax(query key^T * scale) value: the shape of the query [batch, t, heads, features].
// Keys and values are [batch, s, key heads, features]; each group of heads / key heads query heads
// shares one key head. The batch may be left out of all three. If the heads are sharded, key heads
// may be sharded over the major part of the same axes, P(None, None, SubAxis("model", 1, 2)), or
// whole; nothing is sent. Positions beyond query_lengths give 0. Large scores are computed in
// blocks and never exist whole (docs/performance.md). Throws ShapeError for shapes that do not
// match and if the key heads do not divide the heads, and DTypeError for masks that are not bool
// and dtypes that differ.
Array dot_product_attention(Operand query, Operand key, Operand value,
                            AttentionOptions options = {}, Loc loc = Loc::Current());

}  // namespace tessera
