// Keys and draws of random numbers.
#include <map>

#include "ops.h"
#include "tessera/random.h"

namespace tessera::conformance {
namespace {

CreateOptions DrawOptionsOf(const Call& c) {
  return {.dtype = c.dtype(), .out_sharding = c.spec()};
}
Shape ShapeOf(const Call& c) {
  return c.has("shape") ? Shape(c.integers("shape")) : Shape(std::vector<int64_t>{});
}

// A parameter is an operand, or an attribute of its name.
Operand Parameter(const Call& c, size_t i, const char* name) {
  return c.has(name) ? Operand(ParseScalar(c.attr(name)), c.loc()) : c.in(i);
}
Bound LimitOf(const Call& c, size_t i, const char* name, double otherwise) {
  if (!c.has(name) && c.size() <= i) return otherwise;
  const Operand x = Parameter(c, i, name);
  if (!x.scalar()) return x.array();
  return x.scalar()->as_double();
}

template <class Draw>
OpFunction Plain(Draw draw) {
  return [=](const Call& c) {
    return std::vector{draw(c.in(0), ShapeOf(c), DrawOptionsOf(c), c.loc())};
  };
}

// Without a shape, JAX's samplers take the shape of their parameters, and some have another
// sharding then.
using OfShape = Array (*)(Operand, Operand, Shape, CreateOptions, Loc);
using OfParameter = Array (*)(Operand, Operand, Loc);
OpFunction OfOne(OfShape draw, OfParameter without, const char* name) {
  return [=](const Call& c) {
    const Operand x = Parameter(c, 1, name);
    const CreateOptions options = DrawOptionsOf(c);
    if (c.has("shape")) return std::vector{draw(c.in(0), x, ShapeOf(c), options, c.loc())};
    if (options.dtype.is_default() && !options.out_sharding)
      return std::vector{without(c.in(0), x, c.loc())};
    const Shape own(x.scalar() ? std::vector<int64_t>{} : x.array().shape(c.loc()));
    return std::vector{draw(c.in(0), x, own, options, c.loc())};
  };
}

// The same of two parameters, which may be of several shapes.
using OfTwo = Array (*)(Operand, Operand, Operand, Shape, CreateOptions, Loc);
using OfTwoParameters = Array (*)(Operand, Operand, Operand, Loc);
OpFunction OfPair(OfTwo draw, OfTwoParameters without, const char* first, const char* second) {
  return [=](const Call& c) {
    const bool is_number = c.has(first);
    const Operand x = Parameter(c, 1, first), y = Parameter(c, is_number ? 1 : 2, second);
    const CreateOptions options = DrawOptionsOf(c);
    if (c.has("shape")) return std::vector{draw(c.in(0), x, y, ShapeOf(c), options, c.loc())};
    const Array drawn = without(c.in(0), x, y, c.loc());
    return std::vector{options.dtype.is_default() ? drawn : astype(drawn, options.dtype, c.loc())};
  };
}

Array TruncatedNormal(const Call& c) {
  const Operand lower = Parameter(c, 1, "lower"), upper = Parameter(c, 2, "upper");
  const CreateOptions options = DrawOptionsOf(c);
  if (!c.has("shape") && options.dtype.is_default() && !options.out_sharding)
    return random::truncated_normal(c.in(0), lower, upper, c.loc());
  return random::truncated_normal(c.in(0), lower, upper, ShapeOf(c), options, c.loc());
}

Array Orthogonal(const Call& c) {
  OrthogonalOptions options{.dtype = c.dtype(), .out_sharding = c.spec()};
  if (c.has("m")) options.m = c.attr("m").get<int64_t>();
  return random::orthogonal(c.in(0), c.attr("n").get<int64_t>(), ShapeOf(c), options, c.loc());
}

Array Ball(const Call& c) {
  BallOptions options{.dtype = c.dtype(), .out_sharding = c.spec()};
  if (c.has("p_norm")) options.p = c.attr("p_norm").get<double>();
  return random::ball(c.in(0), c.attr("d").get<int64_t>(), ShapeOf(c), options, c.loc());
}

Array Bernoulli(const Call& c) {
  const Operand p = c.has("p") || c.size() > 1 ? Parameter(c, 1, "p") : Operand(0.5, c.loc());
  const auto spec = c.spec();
  if (!c.has("shape")) return random::bernoulli(c.in(0), p, c.loc());
  return random::bernoulli(c.in(0), p, ShapeOf(c), {.out_sharding = spec}, c.loc());
}

Array Beta(const Call& c) {
  const Operand a = Parameter(c, 1, "a"), b = Parameter(c, 2, "b");
  const CreateOptions options = DrawOptionsOf(c);
  if (!c.has("shape")) return random::beta(c.in(0), a, b, c.loc());
  return random::beta(c.in(0), a, b, ShapeOf(c), options, c.loc());
}

Array Dirichlet(const Call& c) {
  const Operand alpha = Parameter(c, 1, "alpha");
  const CreateOptions options = DrawOptionsOf(c);
  if (!c.has("shape")) return random::dirichlet(c.in(0), alpha, c.loc());
  return random::dirichlet(c.in(0), alpha, ShapeOf(c), options, c.loc());
}

Array Categorical(const Call& c) {
  CategoricalOptions options{.replace = c.flag("replace", true), .out_sharding = c.spec()};
  if (c.has("shape")) options.shape = ShapeOf(c);
  return random::categorical(c.in(0), c.in(1), c.dim("axis", -1), options, c.loc());
}

Array Permutation(const Call& c) {
  return random::permutation(
      c.in(0), c.in(1),
      {.dim = c.dim("axis", 0), .independent = c.flag("independent"), .out_sharding = c.spec()},
      c.loc());
}

Array Choice(const Call& c) {
  ChoiceOptions options{.replace = c.flag("replace", true), .dim = c.dim("axis", 0)};
  if (c.has("p")) {
    const auto p = c.attr("p").get<std::vector<double>>();
    options.p = array(p, {}, c.loc());
  }
  return random::choice(c.in(0), c.in(1), ShapeOf(c), options, c.loc());
}

Array Uniform(const Call& c) {
  return random::uniform(c.in(0), ShapeOf(c),
                         {.dtype = c.dtype(),
                          .minval = LimitOf(c, 1, "minval", 0),
                          .maxval = LimitOf(c, 2, "maxval", 1),
                          .out_sharding = c.spec()},
                         c.loc());
}

Array Randint(const Call& c) {
  return random::randint(c.in(0), ShapeOf(c), Parameter(c, 1, "minval"), Parameter(c, 2, "maxval"),
                         DrawOptionsOf(c), c.loc());
}

OpFunction One(Array (*f)(const Call&)) {
  return [=](const Call& c) { return std::vector{f(c)}; };
}

void AddKeys(OpTable& table) {
  table["random.key"] = [](const Call& c) { return std::vector{random::key(c.in(0), c.loc())}; };
  table["random.split"] = [](const Call& c) {
    const Shape n = c.has("num") ? Shape(c.integers("num")) : Shape(2);
    return std::vector{random::split(c.in(0), n, c.loc())};
  };
  table["random.fold_in"] = [](const Call& c) {
    return std::vector{random::fold_in(c.in(0), Parameter(c, 1, "data"), c.loc())};
  };
  table["random.key_data"] = [](const Call& c) {
    return std::vector{random::key_data(c.in(0), c.loc())};
  };
  table["random.wrap_key_data"] = [](const Call& c) {
    return std::vector{random::wrap_key_data(c.in(0), c.loc())};
  };
}

}  // namespace

namespace {

std::vector<Array> Generate(const Call& c) {
  static const std::map<std::string, RandomAlgorithm> algorithms = {
      {"RNG_DEFAULT", RandomAlgorithm::kDefault},
      {"RNG_THREE_FRY", RandomAlgorithm::kThreefry},
      {"RNG_PHILOX", RandomAlgorithm::kPhilox}};
  const DType dtype = c.dtype();
  const GeneratedBits made =
      random::rng_bit_generator(c.in(0), ShapeOf(c),
                                {.dtype = dtype.is_default() ? u32 : dtype,
                                 .algorithm = algorithms.at(c.text("algorithm", "RNG_DEFAULT")),
                                 .out_sharding = c.spec()},
                                c.loc());
  return {made.state, made.bits};
}

}  // namespace

void AddRandom(OpTable& table) {
  table["rng_bit_generator"] = Generate;
  AddKeys(table);
  table["random.bits"] = Plain(random::bits);
  table["random.normal"] = Plain(random::normal);
  table["random.gumbel"] = Plain(random::gumbel);
  table["random.exponential"] = Plain(random::exponential);
  table["random.laplace"] = Plain(random::laplace);
  table["random.logistic"] = Plain(random::logistic);
  table["random.cauchy"] = Plain(random::cauchy);
  table["random.rademacher"] = Plain(random::rademacher);
  table["random.gamma"] = OfOne(random::gamma, random::gamma, "a");
  table["random.loggamma"] = OfOne(random::loggamma, random::loggamma, "a");
  table["random.poisson"] = OfOne(random::poisson, random::poisson, "lam");
  table["random.chisquare"] = OfOne(random::chisquare, random::chisquare, "df");
  table["random.t"] = OfOne(random::t, random::t, "df");
  table["random.geometric"] = OfOne(random::geometric, random::geometric, "p");
  table["random.weibull_min"] =
      OfPair(random::weibull_min, random::weibull_min, "scale", "concentration");
  table["random.binomial"] = OfPair(random::binomial, random::binomial, "n", "p");
  table["random.multivariate_normal"] =
      OfPair(random::multivariate_normal, random::multivariate_normal, "mean", "cov");
  table["random.orthogonal"] = One(Orthogonal);
  table["random.ball"] = One(Ball);
  table["random.uniform"] = One(Uniform);
  table["random.randint"] = One(Randint);
  table["random.truncated_normal"] = One(TruncatedNormal);
  table["random.bernoulli"] = One(Bernoulli);
  table["random.beta"] = One(Beta);
  table["random.dirichlet"] = One(Dirichlet);
  table["random.categorical"] = One(Categorical);
  table["random.permutation"] = One(Permutation);
  table["random.choice"] = One(Choice);
}

}  // namespace tessera::conformance
