// The public functions for keys, bits, and the basic distributions.
#include "tessera/random.h"

#include <fmt/format.h>

#include "api/random/distributions.h"
#include "api/random/parameters.h"
#include "base/dtype.h"

namespace tessera {

using namespace api;

namespace {

// The words of messages about an integer argument, and whether it may be a bool.
struct IntegerUse {
  const char *before, *after, *plural;
  bool takes_bool;
};
constexpr IntegerUse kSeed{"a seed must be ", "", "seeds", false};
constexpr IntegerUse kFolded{"", " is folded into a key", "integers", true};

// C15: throws DTypeError or ShapeError unless the operand is one integer.
void CheckOneInteger(const Operand& x, const IntegerUse& use, Call call) {
  if (x.scalar()) {
    if (x.scalar()->kind() == Scalar::kFloat ||
        (x.scalar()->kind() == Scalar::kBool && !use.takes_bool))
      FailDType(call, 15, fmt::format("{}an integer{}", use.before, use.after));
    return;
  }
  const ir::Type* type = TypeOf(ToArray(x, call));
  if (!type->dtype().is_integer() && !(type->dtype().is_bool() && use.takes_bool))
    FailDType(call, 15, fmt::format("{}an integer{}, not {}", use.before, use.after, type->text()));
  if (type->rank() != 0)
    FailShape(call, 15, fmt::format("{}one integer{}, not {}", use.before, use.after, type->text()),
              {fmt::format("vmap maps over {}", use.plural)});
}

using Sampler = Array (*)(const Array& key, const DrawnAs& as, Call call);

Array DrawFloats(const Operand& key, const Shape& shape, const CreateOptions& options, Call call,
                 Sampler sampler, bool takes_complex = false) {
  const Array k = KeyOf(key, call);
  const DType t = takes_complex ? base::PartOf(options.dtype) : options.dtype;
  DrawnAs as = FloatsOf(shape.dims(), t, options.out_sharding, call);
  if (options.dtype.is_complex()) as.dtype = options.dtype;
  return Drawn({Operand(k, key.loc())}, TextOf(as), call,
               [&](const std::vector<Operand>& all) { return sampler(all[0].array(), as, call); });
}

}  // namespace

namespace random {

// The first word of the key is 0 for an array seed of at most 32 bits. For a number it is the high
// half of its 64 bits, all ones for a small negative number.
Array key(Operand seed, Loc loc) {
  const Call call{"random::key", loc};
  CheckOneInteger(seed, kSeed, call);
  if (seed.scalar()) {
    const auto bits = static_cast<uint64_t>(seed.scalar()->as_int());
    return Bitcast(StrongScalar(bits, u64, call), key_dtype, call);
  }
  const Array s = ToArray(seed, call);
  const auto wrap = [&](const std::vector<Operand>& all) {
    Array word = all[0].array();
    if (TypeOf(s)->dtype().size() < 8) word = Convert(word, u32, call);
    return std::vector{Bitcast(Convert(word, u64, call), key_dtype, call)};
  };
  return AllKept({Operand(s, seed.loc())}, "", call, wrap)[0];
}

Array split(Operand key, Shape shape, Loc loc) {
  const Call call{"random::split", loc};
  const Array k = KeyOf(key, call);
  CheckShape(shape.dims(), call);
  return Drawn({Operand(k, key.loc())}, ir::FieldText(shape.dims()), call,
               [&](const std::vector<Operand>& all) {
                 return SplitKey(all[0].array(), {shape.dims(), key_dtype}, call);
               });
}

std::vector<Array> split_apart(Operand key, int64_t n, Loc loc) {
  const Call call{"random::split", loc};
  const Array k = KeyOf(key, call);
  if (n < 0) FailShape(call, 2, fmt::format("the number of keys must be 0 or more, not {}", n));
  return AllDrawn(
      {Operand(k, key.loc())}, fmt::format("apart {}", n), call,
      [&](const std::vector<Operand>& all) { return SplitApart(all[0].array(), n, call); });
}

Array fold_in(Operand key, Operand data, Loc loc) {
  const Call call{"random::fold_in", loc};
  const Array k = KeyOf(key, call);
  CheckOneInteger(data, kFolded, call);
  if (data.scalar()) {
    const auto low = static_cast<uint32_t>(data.scalar()->as_int());
    return FoldIn(k, StrongScalar(uint64_t{low}, u64, call), call);
  }
  const Array d = ToArray(data, call);
  const auto fold = [&](const std::vector<Operand>& all) {
    const Array low = Convert(all[1].array(), u32, call);
    return std::vector{FoldIn(all[0].array(), Convert(low, u64, call), call)};
  };
  return AllKept({Operand(k, key.loc()), Operand(d, data.loc())}, "", call, fold)[0];
}

// The words are reversed in memory, because the second word is the low half of the 64-bit key.
Array key_data(Operand key, Loc loc) {
  const Call call{"random::key_data", loc};
  const Array k = KeysOf(key, call);
  return rev(Bitcast(k, u32, call), -1, loc);
}

Array wrap_key_data(Operand words, Loc loc) {
  const Call call{"random::wrap_key_data", loc};
  const Array w = ToArray(words, call);
  const ir::Type* type = TypeOf(w);
  if (type->dtype() != u32 || type->rank() == 0 || type->shape().back() != 2)
    FailDType(call, 15, fmt::format("the words of keys must be u32[..., 2], not {}", type->text()));
  return Bitcast(rev(w, -1, loc), key_dtype, call);
}

Array bits(Operand key, Shape shape, CreateOptions options, Loc loc) {
  const Call call{"random::bits", loc};
  const Array k = KeyOf(key, call);
  const DType t = !options.dtype.is_default()      ? options.dtype
                  : base::DefaultInt().size() == 8 ? u64
                                                   : u32;
  if (!t.is_unsigned())
    FailDType(call, 16, fmt::format("the dtype of random bits must be unsigned, not {}", t.name()));
  CheckShape(shape.dims(), call);
  const DrawnAs as{shape.dims(), t, options.out_sharding};
  return Drawn({Operand(k, key.loc())}, TextOf(as), call, [&](const std::vector<Operand>& all) {
    const int width = t.size() < 4 ? 32 : t.size() * 8;
    return Convert(RandomBits(all[0].array(), as, width, call), t, call);
  });
}

Array uniform(Operand key, Shape shape, UniformOptions options, Loc loc) {
  const Call call{"random::uniform", loc};
  const Array k = KeyOf(key, call);
  const DrawnAs as = FloatsOf(shape.dims(), options.dtype, options.out_sharding, call);
  const Operand lo = options.minval.at(loc), hi = options.maxval.at(loc);
  CheckBroadcasts({lo, hi}, as.shape, call);
  return Drawn(
      {Operand(k, key.loc()), lo, hi}, TextOf(as), call, [&](const std::vector<Operand>& all) {
        const Array& drawn = all[0].array();
        if (lo.scalar() && hi.scalar())
          return Uniform(drawn, as, lo.scalar()->as_double(), hi.scalar()->as_double(), call);
        const std::vector<Array> bounds = PromoteTo(as.dtype, {all[1], all[2]}, call);
        return Uniform(drawn, as, bounds[0], bounds[1], call);
      });
}

Array normal(Operand key, Shape shape, CreateOptions options, Loc loc) {
  return DrawFloats(key, shape, options, {"random::normal", loc}, Normal, /*takes_complex=*/true);
}

#define TESSERA_SAMPLER(name, function)                                        \
  Array name(Operand key, Shape shape, CreateOptions options, Loc loc) {       \
    return DrawFloats(key, shape, options, {"random::" #name, loc}, function); \
  }
TESSERA_SAMPLER(gumbel, Gumbel)
TESSERA_SAMPLER(exponential, Exponential)
TESSERA_SAMPLER(laplace, Laplace)
TESSERA_SAMPLER(logistic, Logistic)
TESSERA_SAMPLER(cauchy, Cauchy)
#undef TESSERA_SAMPLER

}  // namespace random
}  // namespace tessera
