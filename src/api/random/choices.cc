// Samples classes, permutations and elements.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "api/random/distributions.h"
#include "api/random/parameters.h"
#include "api/random/random_integers.h"
#include "base/at.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "tessera/random.h"

namespace tessera {

using namespace api;

namespace {

// Returns the first n elements along a dim.
Array First(const Array& x, int64_t dim, int64_t n, Call call) {
  const base::Shape& shape = ShapeOf(x);
  base::Shape starts(shape.size(), 0), limits = shape;
  base::At(limits, dim) = n;
  return slice(x, starts, limits, {}, call.loc);
}

// ---- classes ------------------------------------------------------------------------------------

struct Classes {
  int64_t dim = 0;           // the dim of the logits that counts the classes
  base::Shape batch, shape;  // the shapes of the logits without `dim`, and of the sample
  int64_t extra() const { return static_cast<int64_t>(shape.size() - batch.size()); }
  base::Shape prefix() const { return {shape.begin(), shape.begin() + extra()}; }
};

// Samples the class with the largest sum of its logit and a Gumbel number.
Array WithReplacement(const Array& key, const Array& logits, const Classes& c, Call call) {
  base::Shape full(c.shape.begin() + c.extra(), c.shape.end());
  full.insert(full.begin() + c.dim, base::At(ShapeOf(logits), c.dim));
  const base::Shape prefix = c.prefix();
  full.insert(full.begin(), prefix.begin(), prefix.end());
  const DrawnAs as = LaidLike(logits, full, TypeOf(logits)->dtype());
  const Array noisy = add(Gumbel(key, as, call), logits, {}, call.loc);
  return argmax(noisy, static_cast<int>(c.extra() + c.dim), {.dtype = base::DefaultInt()},
                call.loc);
}

// Samples the classes with the k largest such sums (Kool et al., "Stochastic beams and where to
// find them", 2019).
Array WithoutReplacement(const Array& key, const Array& logits, const Classes& c, Call call) {
  const Loc loc = call.loc;
  const DrawnAs as = LaidLike(logits, ShapeOf(logits), TypeOf(logits)->dtype());
  const Array noisy = add(logits, Gumbel(key, as, call), {}, loc);
  const int64_t k = base::Elements(c.prefix());
  const Array lines = moveaxis(noisy, static_cast<int>(c.dim), -1, loc);
  const Array indices = moveaxis(top_k(lines, k, {}, loc).indices, -1, 0, loc);
  return Reshape(indices, c.shape, call);
}

// ---- orders -------------------------------------------------------------------------------------

// Shuffles by sorting by random words. Several rounds make up for words that are equal by chance.
Array Shuffled(Array key, Array x, int64_t dim, Call call) {
  const double size = static_cast<double>(std::max<int64_t>(1, TypeOf(x)->elements()));
  const double words = std::log(static_cast<double>(std::numeric_limits<uint32_t>::max()));
  const int rounds = static_cast<int>(std::ceil(3 * std::log(size) / words));
  for (int i = 0; i < rounds; ++i) {
    const std::vector<Array> keys = SplitApart(key, 2, call);
    key = keys[0];
    const DrawnAs as = LaidLike(x, ShapeOf(x), u32);
    const Array order = RandomBits(keys[1], as, 32, call);
    x = sort(std::vector<Array>{order, x}, static_cast<int>(dim), {.num_keys = 1}, call.loc)[1];
  }
  return x;
}

Array IndicesUpTo(int64_t n, Call call) { return iota({n}, 0, {}, call.loc); }

// Whether all slices along the dim get one order, or each its own.
enum class Orders { kOne, kIndependent };

Array RandomlyPermuted(const Array& key, const Array& x, int64_t dim, Orders orders, Call call) {
  if ((orders == Orders::kIndependent || TypeOf(x)->rank() == 1) && !TypeOf(x)->dtype().is_key())
    return Shuffled(key, x, dim, call);
  const Array order = Shuffled(key, IndicesUpTo(base::At(ShapeOf(x), dim), call), 0, call);
  return take(x, order, static_cast<int>(dim), {}, call.loc);
}

// ---- elements -----------------------------------------------------------------------------------

struct Chosen {
  base::Shape shape;
  int64_t draws = 0, n = 0, dim = 0;
  bool replace = true;
};

// Samples indices by weight: the positions of uniform numbers among the cumulative weights.
Array ByWeight(const Array& key, const Array& p, const Chosen& c, Call call) {
  const Loc loc = call.loc;
  const DType t = TypeOf(p)->dtype();
  const Array sums = cumsum(p, 0, {}, loc);
  const Array u = Uniform(key, {{c.draws}, t}, 0, 1, call);
  const Array one = StrongScalar(1, t, call);
  const Array last = slice(sums, {c.n - 1}, {c.n}, {}, loc);
  const Array r = mul(last, sub(one, u, {}, loc), {}, loc);
  const Array below = lt(sums, Reshape(r, {c.draws, 1}, call), {}, loc);
  return sum(Convert(below, base::DefaultInt(), call), -1, {.dtype = base::DefaultInt()}, loc);
}

// Samples the indices [draws] of the chosen elements.
Array ChosenPlaces(const Array& key, const std::optional<Array>& p, const Chosen& c, Call call) {
  const Loc loc = call.loc;
  if (p && c.replace) return ByWeight(key, *p, c, call);
  if (p) {
    const Array noisy = add(Gumbel(key, {{c.n}, TypeOf(*p)->dtype()}, call), log(*p, loc), {}, loc);
    return Convert(top_k(noisy, c.draws, {}, loc).indices, base::DefaultInt(), call);
  }
  if (c.replace) return RandomIntegers(key, {{c.draws}, base::DefaultInt()}, 0, c.n, call);
  return First(Shuffled(key, IndicesUpTo(c.n, call), 0, call), 0, c.draws, call);
}

// Returns the shape of the choice: the chosen shape replaces the dim.
base::Shape ShapeOfChoice(base::Shape from, const Chosen& c) {
  from.erase(from.begin() + c.dim);
  from.insert(from.begin() + c.dim, c.shape.begin(), c.shape.end());
  return from;
}

Array ChoiceOf(const Array& key, const std::optional<Array>& x, const std::optional<Array>& p,
               const Chosen& c, Call call) {
  if (!x) return Reshape(ChosenPlaces(key, p, c, call), c.shape, call);
  const Array chosen =
      !p && !c.replace
          ? First(RandomlyPermuted(key, *x, c.dim, Orders::kOne, call), c.dim, c.draws, call)
          : take(*x, ChosenPlaces(key, p, c, call), static_cast<int>(c.dim), {}, call.loc);
  return Reshape(chosen, ShapeOfChoice(ShapeOf(*x), c), call);
}

// Returns n if the operand is a number n, which stands for the elements 0 to n - 1.
std::optional<int64_t> CountOf(const Operand& x, Call call) {
  if (!x.scalar()) {
    if (TypeOf(ToArray(x, call))->rank() == 0)
      FailShape(call, 17, "it takes an integer or an array of rank 1 or more, not a scalar array",
                {"the size of the result would depend on its value"});
    return std::nullopt;
  }
  if (x.scalar()->kind() == Scalar::kFloat || x.scalar()->kind() == Scalar::kBool)
    FailDType(call, 15, "it takes an integer or an array");
  if (x.scalar()->as_int() < 0)
    FailShape(
        call, 17,
        fmt::format("the number of elements must be 0 or more, not {}", x.scalar()->as_int()));
  return x.scalar()->as_int();
}

}  // namespace

namespace random {

Array categorical(Operand key, Operand logits, int dim, CategoricalOptions options, Loc loc) {
  const Call call{"random::categorical", loc};
  std::vector<Operand> operands = WithKey(key, {logits}, call);
  const Array l = ToArray(logits, call);
  const ir::Type* type = TypeOf(l);
  if (!type->dtype().is_floating())
    FailDType(call, 16, fmt::format("logits must be floats, not {}", type->text()));
  Classes c{.dim = NormalDim(dim, type->rank(), call), .batch = type->shape(), .shape = {}};
  c.batch.erase(c.batch.begin() + c.dim);
  c.shape = options.shape ? options.shape->dims() : c.batch;
  CheckShape(c.shape, call);
  CheckBroadcastsTo(c.batch, c.shape, call);
  if (base::At(type->shape(), c.dim) == 0 && base::Elements(c.shape) > 0)
    FailShape(call, 17, "the dim is empty: there is no class to sample");
  if (!options.replace) {
    const int64_t k = base::Elements(c.prefix()), n = base::At(type->shape(), c.dim);
    if (k > n)
      FailShape(call, 17, fmt::format("cannot sample {} of {} classes without replacement", k, n));
    if (base::Shape(c.shape.begin() + c.extra(), c.shape.end()) != c.batch)
      FailShape(call, 17,
                fmt::format("the shape {} does not end with the shape of the logits, {}",
                            ir::FieldText(c.shape), ir::FieldText(c.batch)));
  }
  const DrawnAs as{c.shape, base::DefaultInt(), options.out_sharding};
  return DrawnLaidOut(operands, fmt::format("{} {} ", c.dim, options.replace), as, call,
                      [&](const std::vector<Operand>& all, const DrawnAs&) {
                        const auto draw = options.replace ? WithReplacement : WithoutReplacement;
                        return draw(all[0].array(), all[1].array(), c, call);
                      });
}

Array permutation(Operand key, Operand x, PermutationOptions options, Loc loc) {
  const Call call{"random::permutation", loc};
  const std::optional<int64_t> n = CountOf(x, call);
  std::vector<Operand> operands = WithKey(key, {x}, call);
  const base::Shape shape = n ? base::Shape{*n} : TypeOf(x.array())->shape();
  const int64_t dim = NormalDim(options.dim, static_cast<int64_t>(shape.size()), call);
  const DType t = n ? base::DefaultInt() : TypeOf(x.array())->dtype();
  const Orders orders = options.independent ? Orders::kIndependent : Orders::kOne;
  return DrawnLaidOut(
      operands, fmt::format("{} {} ", dim, options.independent), {shape, t, options.out_sharding},
      call,
      [&](const std::vector<Operand>& all, const DrawnAs&) {
        const Array values = n ? IndicesUpTo(*n, call) : all[1].array();
        return RandomlyPermuted(all[0].array(), values, dim, orders, call);
      },
      Shards::kMoved);
}

Array choice(Operand key, Operand x, Shape shape, ChoiceOptions options, Loc loc) {
  const Call call{"random::choice", loc};
  const std::optional<int64_t> n = CountOf(x, call);
  const bool weighted = options.p.impl() != nullptr;
  std::vector<Operand> parameters{x};
  if (weighted) parameters.emplace_back(options.p, loc);
  std::vector<Operand> operands = WithKey(key, parameters, call);
  CheckShape(shape.dims(), call);
  Chosen c{
      .shape = shape.dims(), .draws = base::Elements(shape.dims()), .replace = options.replace};
  if (!n) c.dim = NormalDim(options.dim, TypeOf(x.array())->rank(), call);
  c.n = n ? *n : base::At(TypeOf(x.array())->shape(), c.dim);
  if (c.draws > 0 && c.n == 0) FailShape(call, 17, "there is nothing to choose from");
  if (!c.replace && c.draws > c.n)
    FailShape(call, 17,
              fmt::format("cannot sample {} of {} elements without replacement", c.draws, c.n));
  if (weighted && TypeOf(options.p)->shape() != base::Shape{c.n})
    FailShape(call, 17,
              fmt::format(".p has the shape {}, but there are {} elements",
                          ir::FieldText(TypeOf(options.p)->shape()), c.n));
  const DType t = n ? base::DefaultInt() : TypeOf(x.array())->dtype();
  const base::Shape from = n ? base::Shape{*n} : TypeOf(x.array())->shape();
  return DrawnLaidOut(
      operands, fmt::format("{} {} ", c.dim, c.replace),
      {ShapeOfChoice(from, c), t, options.out_sharding}, call,
      [&](const std::vector<Operand>& all, const DrawnAs&) {
        std::optional<Array> values, p;
        if (!n) values = all[1].array();
        if (weighted) p = ToFloat(all[2], call);
        return ChoiceOf(all[0].array(), values, p, c, call);
      },
      Shards::kMoved);
}

}  // namespace random
}  // namespace tessera
