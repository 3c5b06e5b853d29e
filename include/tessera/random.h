// Random numbers: functions of a key, with the bits that JAX gives.
//
//   Array key = random::key(0);
//   auto [k, ks] = random::split<2>(key);
//   Array x = random::normal(k, {8, 4}, {.out_sharding = P("x")});
//
// A key is an element of dtype key<fry>: two words of 32 bits. Arrays of keys are reshaped,
// indexed, selected, compared for equality, carried by loops and mapped over as others are; nothing
// is computed with them. A draw gives each element the bits that the key has for the element's
// index in the whole array, so they do not depend on the mesh, the sharding, jit or vmap, and every
// device makes its part by itself. The same key gives the same numbers: use one once, and split it
// for more.
//
// Functions that draw take one key; `vmap` draws with each key of an array. `shape` is that of the
// result; without one it is that of the parameters. The dtype is the default float unless the
// options say otherwise. Over Explicit axes a result is replicated, or lies as its parameters do,
// unless `out_sharding` says otherwise. Derivatives are those of the formula in its parameters. All
// throw DTypeError for an operand that is not a key and ShapeError for shapes that do not fit.
#pragma once
#include <array>
#include <utility>

#include "tessera/options.h"

namespace TESSERA_PUBLIC tessera {

// A number, or an array that broadcasts to the shape of what is drawn.
class Bound {
 public:
  template <Number T>
  Bound(T v) : number_(Scalar(v)) {}
  Bound(Array array) : array_(std::move(array)) {}
  // Returns it as an operand on a line.
  Operand at(Loc loc) const { return number_ ? Operand(*number_, loc) : Operand(array_, loc); }

 private:
  std::optional<Scalar> number_;
  Array array_;
};
struct UniformOptions {
  DType dtype = {};
  Bound minval = 0, maxval = 1;
  std::optional<PartitionSpec> out_sharding = {};
};
struct CategoricalOptions {
  std::optional<Shape> shape = {};  // that of the logits without the dim; may have more in front
  bool replace = true;              // false: a draw takes no class twice in the extra dims
  std::optional<PartitionSpec> out_sharding = {};
};
struct OrthogonalOptions {
  DType dtype = {};
  std::optional<int64_t> m = {};  // columns; as many as rows
  std::optional<PartitionSpec> out_sharding = {};
};
struct BallOptions {
  DType dtype = {};
  double p = 2;  // of the norm
  std::optional<PartitionSpec> out_sharding = {};
};
struct PermutationOptions {
  int dim = 0;
  bool independent = false;  // each line along the dim in an order of its own
  std::optional<PartitionSpec> out_sharding = {};
};
struct ChoiceOptions {
  bool replace = true;  // false: no element twice
  Array p = {};         // [n]: how likely each is; of equal likelihood without
  int dim = 0;          // of an array: what lies along it is chosen from
  std::optional<PartitionSpec> out_sharding = {};
};

namespace trace {
class KeyChecker;
}

// Scope: a key that is used up twice is a TraceError that names both lines. Splitting a key uses it
// up, and so does every draw; folding a number in does not. Keys are compared by value: by their
// words, and while a function is traced by how they are computed. A key from outside of a loop may
// not be used up in it, as each iteration would, nor one that the loop carries on unchanged; of
// branches, each may use it. A jitted function counts at every call. Of this thread.
class [[nodiscard]] KeyReuseCheck {
 public:
  KeyReuseCheck();
  ~KeyReuseCheck();
  KeyReuseCheck(const KeyReuseCheck&) = delete;

 private:
  trace::KeyChecker* own_;  // null inside of another check
};

namespace random {

// ---- keys ----

// Returns the key [] of a seed: a number, or a scalar array of integers.
Array key(Operand seed, Loc loc = Loc::Current());
// Returns new keys [shape], each of which stands for other numbers than the key and the others do.
Array split(Operand key, Shape shape = 2, Loc loc = Loc::Current());
std::vector<Array> split_apart(Operand key, int64_t n, Loc loc = Loc::Current());
// The same, apart: auto [a, b] = split<2>(key).
template <size_t n>
std::array<Array, n> split(Operand key, Loc loc = Loc::Current()) {
  std::vector<Array> keys = split_apart(std::move(key), static_cast<int64_t>(n), loc);
  std::array<Array, n> apart;
  std::move(keys.begin(), keys.end(), apart.begin());
  return apart;
}
// Returns the key [] that stands for an integer [] under this key: of a step, a layer, a device.
Array fold_in(Operand key, Operand data, Loc loc = Loc::Current());
// Returns the two words of each key: u32[..., 2].
Array key_data(Operand key, Loc loc = Loc::Current());
// Returns the keys [...] that have these words, u32[..., 2].
Array wrap_key_data(Operand words, Loc loc = Loc::Current());

// ---- numbers ----

// Returns random bits: an unsigned dtype, by default that of the default int's size.
Array bits(Operand key, Shape shape = {}, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns floats in [minval, maxval).
Array uniform(Operand key, Shape shape = {}, UniformOptions options = {}, Loc loc = Loc::Current());
// Returns floats of the normal distribution, of mean 0 and variance 1.
Array normal(Operand key, Shape shape = {}, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns floats of Gumbel's distribution, of location 0 and scale 1.
Array gumbel(Operand key, Shape shape = {}, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns floats of the exponential distribution, of rate 1.
Array exponential(Operand key, Shape shape = {}, CreateOptions options = {},
                  Loc loc = Loc::Current());
// Returns floats of Laplace's distribution, of location 0 and scale 1.
Array laplace(Operand key, Shape shape = {}, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns floats of the logistic distribution, of location 0 and scale 1.
Array logistic(Operand key, Shape shape = {}, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns floats of Cauchy's distribution, of location 0 and scale 1.
Array cauchy(Operand key, Shape shape = {}, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns -1 or 1, in the default int.
Array rademacher(Operand key, Shape shape = {}, CreateOptions options = {},
                 Loc loc = Loc::Current());
// Returns integers in [minval, maxval), in the default int; minval where that is empty. Bounds that
// the dtype lacks are its own.
Array randint(Operand key, Shape shape, Operand minval, Operand maxval, CreateOptions options = {},
              Loc loc = Loc::Current());

// ---- of parameters, which broadcast to the shape ----

// Returns standard normal floats between lower and upper, neither included.
Array truncated_normal(Operand key, Operand lower, Operand upper, Loc loc = Loc::Current());
Array truncated_normal(Operand key, Operand lower, Operand upper, Shape shape,
                       CreateOptions options = {}, Loc loc = Loc::Current());
// Returns bools, true with probability p.
Array bernoulli(Operand key, Operand p = 0.5, Loc loc = Loc::Current());
Array bernoulli(Operand key, Operand p, Shape shape, OutOptions options = {},
                Loc loc = Loc::Current());
// Return floats of the gamma distribution with shape a and scale 1, and their logarithms, which are
// accurate where a is small. Their derivative with respect to `a` is that of the number which is
// larger with the same probability, as in JAX; a second derivative can be taken forward only.
Array gamma(Operand key, Operand a, Loc loc = Loc::Current());
Array gamma(Operand key, Operand a, Shape shape, CreateOptions options = {},
            Loc loc = Loc::Current());
Array loggamma(Operand key, Operand a, Loc loc = Loc::Current());
Array loggamma(Operand key, Operand a, Shape shape, CreateOptions options = {},
               Loc loc = Loc::Current());
Array beta(Operand key, Operand a, Operand b, Loc loc = Loc::Current());
Array beta(Operand key, Operand a, Operand b, Shape shape, CreateOptions options = {},
           Loc loc = Loc::Current());
// Returns vectors of floats that add up to 1: [shape..., n] for alpha [..., n].
Array dirichlet(Operand key, Operand alpha, Loc loc = Loc::Current());
Array dirichlet(Operand key, Operand alpha, Shape shape, CreateOptions options = {},
                Loc loc = Loc::Current());
// Returns floats of the chi-square distribution with df degrees of freedom.
Array chisquare(Operand key, Operand df, Loc loc = Loc::Current());
Array chisquare(Operand key, Operand df, Shape shape, CreateOptions options = {},
                Loc loc = Loc::Current());
// Returns floats of Student's t distribution with df degrees of freedom.
Array t(Operand key, Operand df, Loc loc = Loc::Current());
Array t(Operand key, Operand df, Shape shape, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns floats of the Weibull distribution with this scale and concentration.
Array weibull_min(Operand key, Operand scale, Operand concentration, Loc loc = Loc::Current());
Array weibull_min(Operand key, Operand scale, Operand concentration, Shape shape,
                  CreateOptions options = {}, Loc loc = Loc::Current());
// Returns how often each of n trials of probability p succeeds, as floats; NaN where n is negative
// or p is no probability. There is no derivative.
Array binomial(Operand key, Operand n, Operand p, Loc loc = Loc::Current());
Array binomial(Operand key, Operand n, Operand p, Shape shape, CreateOptions options = {},
               Loc loc = Loc::Current());
// Returns at which trial of probability p the first success comes, in the default int: 1 or more.
Array geometric(Operand key, Operand p, Loc loc = Loc::Current());
Array geometric(Operand key, Operand p, Shape shape, CreateOptions options = {},
                Loc loc = Loc::Current());
// Returns counts of events at a mean rate, in the default int; -1 where the rate is NaN.
Array poisson(Operand key, Operand rate, Loc loc = Loc::Current());
Array poisson(Operand key, Operand rate, Shape shape, CreateOptions options = {},
              Loc loc = Loc::Current());

// ---- vectors and matrices ----

// Returns normal vectors [shape..., n] of this mean [..., n] and covariance [..., n, n], whose
// Cholesky factor they are made by: a matrix that is not positive definite gives NaN. Throws
// ShardingError where the dims of size n are sharded.
Array multivariate_normal(Operand key, Operand mean, Operand cov, Loc loc = Loc::Current());
Array multivariate_normal(Operand key, Operand mean, Operand cov, Shape shape,
                          CreateOptions options = {}, Loc loc = Loc::Current());
// Returns orthogonal matrices [shape..., n, m], all equally likely: those of m <= n have
// orthonormal columns, others orthonormal rows.
Array orthogonal(Operand key, int64_t n, Shape shape = {}, OrthogonalOptions options = {},
                 Loc loc = Loc::Current());
// Returns vectors [shape..., d] whose p-norm is at most 1, all equally likely.
Array ball(Operand key, int64_t d, Shape shape = {}, BallOptions options = {},
           Loc loc = Loc::Current());

// ---- choices ----

// Returns indices along a dim of the logits, the logarithms of how likely each is up to a constant.
Array categorical(Operand key, Operand logits, int dim = -1, CategoricalOptions options = {},
                  Loc loc = Loc::Current());
// Returns x in random order along a dim; for an integer n, the numbers 0 to n - 1 in random order.
Array permutation(Operand key, Operand x, PermutationOptions options = {},
                  Loc loc = Loc::Current());
// Returns elements of x [shape], or what lies along a dim of it [shape in place of the dim]; of a
// number n: integers below n.
Array choice(Operand key, Operand x, Shape shape = {}, ChoiceOptions options = {},
             Loc loc = Loc::Current());

}  // namespace random
}  // namespace tessera
