// Random numbers: functions of a key, with the same bits as JAX.
//
//   Array key = random::key(0);
//   auto [k, ks] = random::split<2>(key);
//   Array x = random::normal(k, {8, 4}, {.out_sharding = P("x")});
//
// A key is an element of dtype key<fry>: two 32-bit words. Arrays of keys can be reshaped,
// indexed, selected, compared for equality, carried by loops and mapped over like other arrays,
// but there is no arithmetic on them. An element of a sample depends only on the key and on the
// element's index in the whole array: its bits are Threefry-2x32 of the two (Salmon et al., 2011).
// The numbers are therefore the same on every mesh, in every sharding, and under jit and vmap, and
// each device generates its own shard. The same key gives the same numbers: use a key once, and
// split it for more.
//
// Functions that sample take one key; vmap over an array of keys samples with each of them. `shape`
// is the shape of the result; it defaults to the shape of the parameters. The dtype is the default
// float unless the options set one. Over Explicit axes a result is replicated, or has the sharding
// of its parameters, unless `out_sharding` is set. Samples are differentiable with respect to the
// parameters. All functions throw DTypeError for an operand that is not a key, and ShapeError for
// shapes that do not match.
#pragma once
#include <array>
#include <utility>

#include "tessera/options.h"

namespace TESSERA_PUBLIC tessera {

// A number, or an array that broadcasts to the shape of the sample.
class Bound {
 public:
  template <RealNumber T>
  Bound(T v) : number_(Scalar(v)) {}
  Bound(Array array) : array_(std::move(array)) {}
  // Returns the bound as an operand written at `loc`.
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
  std::optional<Shape> shape = {};  // default: the logits' shape without the dim; may prepend dims
  bool replace = true;              // false: no class twice in the prepended dims
  std::optional<PartitionSpec> out_sharding = {};
};
struct OrthogonalOptions {
  DType dtype = {};
  std::optional<int64_t> m = {};  // columns; default: the number of rows
  std::optional<PartitionSpec> out_sharding = {};
};
struct BallOptions {
  DType dtype = {};
  double p = 2;  // order of the norm
  std::optional<PartitionSpec> out_sharding = {};
};
// The generators of rng_bit_generator: Threefry-2x32 and Philox-4x32. The default is Philox, as in
// JAX on a CPU.
enum class RandomAlgorithm : uint8_t { kDefault, kThreefry, kPhilox };
struct BitGeneratorOptions {
  DType dtype = u32;  // unsigned
  RandomAlgorithm algorithm = RandomAlgorithm::kDefault;
  std::optional<PartitionSpec> out_sharding = {};  // of the bits
};
// Random bits, and the state that follows them.
struct GeneratedBits {
  Array state, bits;
};
struct PermutationOptions {
  int dim = 0;
  bool independent = false;  // permute each line along the dim independently
  std::optional<PartitionSpec> out_sharding = {};
};
struct ChoiceOptions {
  bool replace = true;  // false: no element twice
  Array p = {};         // probabilities [n]; default: uniform
  int dim = 0;          // the dim of an array to choose slices from
  std::optional<PartitionSpec> out_sharding = {};
};

namespace trace {
class KeyChecker;
}

// Scope: using a key twice is a TraceError that names both lines. Splitting a key uses it, and so
// does sampling; folding in a number does not. Keys are compared by value: by their words, and in a
// traced function by the computation that gives them. A loop may not use a key from outside, as
// every iteration would use it, nor a key that it carries unchanged. Each branch may use the same
// key. Every call of a jitted function counts. Applies to this thread.
class [[nodiscard]] KeyReuseCheck {
 public:
  [[nodiscard]] KeyReuseCheck();
  ~KeyReuseCheck();
  KeyReuseCheck(const KeyReuseCheck&) = delete;

 private:
  trace::KeyChecker* own_;  // null inside another check
};

namespace random {

// ---- keys ----

// Returns the key [] of a seed, which is a number or an integer array [].
Array key(Operand seed, Loc loc = Loc::Current());
// Returns new keys [shape], independent of the key and of each other.
Array split(Operand key, Shape shape = 2, Loc loc = Loc::Current());
std::vector<Array> split_apart(Operand key, int64_t n, Loc loc = Loc::Current());
// Same, as a std::array: auto [a, b] = split<2>(key).
template <size_t n>
std::array<Array, n> split(Operand key, Loc loc = Loc::Current()) {
  std::vector<Array> keys = split_apart(std::move(key), static_cast<int64_t>(n), loc);
  std::array<Array, n> apart;
  std::move(keys.begin(), keys.end(), apart.begin());
  return apart;
}
// Returns a new key [] from a key and an integer []: the number of a step, a layer, a device.
Array fold_in(Operand key, Operand data, Loc loc = Loc::Current());
// Returns the two words of each key: u32[..., 2].
Array key_data(Operand key, Loc loc = Loc::Current());
// Returns the keys [...] with these words, u32[..., 2].
Array wrap_key_data(Operand words, Loc loc = Loc::Current());

// ---- numbers ----

// Returns random bits in an unsigned dtype. Default: the unsigned dtype as wide as the default int.
Array bits(Operand key, Shape shape = {}, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns the next random bits [shape] of a generator, and its state after them. The state is the
// generator's own, u32[4] or u64[2]: a 64-bit key and a 64-bit counter, not a key of this header.
// Bits and states are those of JAX on a CPU. Throws DTypeError for other dtypes, and ShapeError for
// other shapes of the state.
GeneratedBits rng_bit_generator(Operand state, Shape shape, BitGeneratorOptions options = {},
                                Loc loc = Loc::Current());
// Returns uniform floats in [minval, maxval).
Array uniform(Operand key, Shape shape = {}, UniformOptions options = {}, Loc loc = Loc::Current());
// Returns samples of the standard normal distribution. The parts of complex samples are
// independent, with variance 1/2 each.
Array normal(Operand key, Shape shape = {}, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns samples of the Gumbel distribution with location 0 and scale 1.
Array gumbel(Operand key, Shape shape = {}, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns samples of the exponential distribution with rate 1.
Array exponential(Operand key, Shape shape = {}, CreateOptions options = {},
                  Loc loc = Loc::Current());
// Returns samples of the Laplace distribution with location 0 and scale 1.
Array laplace(Operand key, Shape shape = {}, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns samples of the logistic distribution with location 0 and scale 1.
Array logistic(Operand key, Shape shape = {}, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns samples of the Cauchy distribution with location 0 and scale 1.
Array cauchy(Operand key, Shape shape = {}, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns -1 or 1 with equal probability, in the default int.
Array rademacher(Operand key, Shape shape = {}, CreateOptions options = {},
                 Loc loc = Loc::Current());
// Returns uniform integers in [minval, maxval), in the default int; minval if that range is empty.
// Bounds out of range for the dtype are clamped to it.
Array randint(Operand key, Shape shape, Operand minval, Operand maxval, CreateOptions options = {},
              Loc loc = Loc::Current());

// ---- of parameters, which broadcast to the shape ----

// Returns standard normal samples in the open interval (lower, upper).
Array truncated_normal(Operand key, Operand lower, Operand upper, Loc loc = Loc::Current());
Array truncated_normal(Operand key, Operand lower, Operand upper, Shape shape,
                       CreateOptions options = {}, Loc loc = Loc::Current());
// Returns bools that are true with probability p.
Array bernoulli(Operand key, Operand p = 0.5, Loc loc = Loc::Current());
Array bernoulli(Operand key, Operand p, Shape shape, OutOptions options = {},
                Loc loc = Loc::Current());
// Return samples of the gamma distribution with shape a and scale 1 (by Marsaglia and Tsang, 2000),
// and the logarithms of such samples, which stay accurate for small a. As in JAX, the derivative
// with respect to `a` is the derivative of the quantile function at the sample's probability. A
// second derivative is available in forward mode only.
Array gamma(Operand key, Operand a, Loc loc = Loc::Current());
Array gamma(Operand key, Operand a, Shape shape, CreateOptions options = {},
            Loc loc = Loc::Current());
Array loggamma(Operand key, Operand a, Loc loc = Loc::Current());
Array loggamma(Operand key, Operand a, Shape shape, CreateOptions options = {},
               Loc loc = Loc::Current());
Array beta(Operand key, Operand a, Operand b, Loc loc = Loc::Current());
Array beta(Operand key, Operand a, Operand b, Shape shape, CreateOptions options = {},
           Loc loc = Loc::Current());
// Returns samples of the Dirichlet distribution, vectors that sum to 1: [shape..., n] for alpha
// [..., n].
Array dirichlet(Operand key, Operand alpha, Loc loc = Loc::Current());
Array dirichlet(Operand key, Operand alpha, Shape shape, CreateOptions options = {},
                Loc loc = Loc::Current());
// Returns samples of the chi-square distribution with df degrees of freedom.
Array chisquare(Operand key, Operand df, Loc loc = Loc::Current());
Array chisquare(Operand key, Operand df, Shape shape, CreateOptions options = {},
                Loc loc = Loc::Current());
// Returns samples of Student's t distribution with df degrees of freedom.
Array t(Operand key, Operand df, Loc loc = Loc::Current());
Array t(Operand key, Operand df, Shape shape, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns samples of the Weibull distribution with this scale and concentration.
Array weibull_min(Operand key, Operand scale, Operand concentration, Loc loc = Loc::Current());
Array weibull_min(Operand key, Operand scale, Operand concentration, Shape shape,
                  CreateOptions options = {}, Loc loc = Loc::Current());
// Returns the number of successes in n trials of probability p, as floats; NaN if n is
// negative or p is not a probability. For large means by Hoermann's transformed rejection
// (1993). Not differentiable.
Array binomial(Operand key, Operand n, Operand p, Loc loc = Loc::Current());
Array binomial(Operand key, Operand n, Operand p, Shape shape, CreateOptions options = {},
               Loc loc = Loc::Current());
// Returns the number of trials of probability p up to and including the first success, in the
// default int: 1 or more.
Array geometric(Operand key, Operand p, Loc loc = Loc::Current());
Array geometric(Operand key, Operand p, Shape shape, CreateOptions options = {},
                Loc loc = Loc::Current());
// Returns samples of the Poisson distribution with this rate, in the default int; -1 if the rate is
// NaN. By Knuth's product of uniform numbers for rates below 10, else by Hoermann's transformed
// rejection (1993).
Array poisson(Operand key, Operand rate, Loc loc = Loc::Current());
Array poisson(Operand key, Operand rate, Shape shape, CreateOptions options = {},
              Loc loc = Loc::Current());

// ---- vectors and matrices ----

// Returns normal vectors [shape..., n] with mean [..., n] and covariance [..., n, n], computed with
// the Cholesky factor of the covariance: NaN if it is not positive definite. Throws ShardingError
// if the dims of size n are sharded.
Array multivariate_normal(Operand key, Operand mean, Operand cov, Loc loc = Loc::Current());
Array multivariate_normal(Operand key, Operand mean, Operand cov, Shape shape,
                          CreateOptions options = {}, Loc loc = Loc::Current());
// Returns uniformly distributed matrices [shape..., n, m] with orthonormal columns if m <= n, else
// orthonormal rows.
Array orthogonal(Operand key, int64_t n, Shape shape = {}, OrthogonalOptions options = {},
                 Loc loc = Loc::Current());
// Returns uniformly distributed vectors [shape..., d] in the unit ball of the p-norm.
Array ball(Operand key, int64_t d, Shape shape = {}, BallOptions options = {},
           Loc loc = Loc::Current());

// ---- choices ----

// Returns indices along `dim` of the logits, sampled with probability proportional to e^logit: the
// argmax of the logits plus Gumbel samples.
Array categorical(Operand key, Operand logits, int dim = -1, CategoricalOptions options = {},
                  Loc loc = Loc::Current());
// Returns x in random order along a dim. For an integer n: the numbers 0 to n - 1 in random order.
Array permutation(Operand key, Operand x, PermutationOptions options = {},
                  Loc loc = Loc::Current());
// Returns random elements of a 1-D x: [shape]. For more dims: slices of x along .dim, with [shape]
// in place of that dim. For an integer n: integers in [0, n).
Array choice(Operand key, Operand x, Shape shape = {}, ChoiceOptions options = {},
             Loc loc = Loc::Current());

}  // namespace random
}  // namespace tessera
