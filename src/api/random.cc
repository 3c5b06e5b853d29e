// Random numbers: keys, bits, and floats made of them.
#include "api/random.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "api/samplers.h"
#include "base/dtype.h"
#include "ops/params.h"
#include "trace/jit.h"
#include "trace/key_reuse.h"

namespace tessera {
namespace api {

using ops::ScalarOp;

// ---- one program per draw -----------------------------------------------------------------------

namespace {

// Appends a number, exactly.
void AddText(std::string& text, const Scalar& v) {
  text += v.kind() == Scalar::kFloat ? fmt::format(" {:a}", v.as_double())
                                     : fmt::format(" {}:{}", int{v.kind()}, v.as_int());
}

}  // namespace

std::vector<Array> AllDrawn(std::vector<Operand> operands, std::string statics, Call call,
                            const Draw& draw) {
  trace::UseUpKey(operands[0].array().impl(), call.name, call.loc);
  return AllKept(std::move(operands), std::move(statics), call, draw);
}

std::vector<Array> AllKept(std::vector<Operand> operands, std::string statics, Call call,
                           const Draw& draw) {
  static const std::shared_ptr<trace::JitCache> cache =
      trace::NewJitCache("random", trace::Keeps::kProgramsSilently);
  std::vector<Array> arrays;
  statics = fmt::format("{} {}", call.name, statics);
  for (const Operand& x : operands) {
    if (x.scalar())
      AddText(statics, *x.scalar());
    else
      statics += " array", arrays.push_back(ToArray(x, call));
  }
  const auto body = [&](const std::vector<Array>& given) {
    size_t k = 0;
    std::vector<Operand> all;
    for (const Operand& x : operands) all.push_back(x.scalar() ? x : Operand(given[k++], x.loc()));
    std::vector<Array> results = draw(all);
    return detail::FunctionResult{results, detail::AnyTree::Of(results)};
  };
  auto arguments = std::tuple(std::move(statics), std::move(arrays));
  return trace::CallJit(*cache, {arguments, body, call.loc}, {}).arrays;
}

std::string TextOf(const DrawnAs& as) {
  return fmt::format("{}{} {}", as.dtype.name(), ir::FieldText(as.shape),
                     as.out_sharding ? as.out_sharding->text() : "");
}

// ---- keys ---------------------------------------------------------------------------------------

Array KeyOf(const Operand& key, Call call, bool any) {
  if (key.scalar())
    FailDType(call, 14, "it takes a key, not a number", {"random::key(seed) makes one"});
  Array k = ToArray(key, call);
  const ir::Type* type = TypeOf(k);
  if (!type->dtype().is_key())
    FailDType(call, 14, fmt::format("it takes a key, not {}", type->text()),
              {"random::key(seed) makes one; random::wrap_key_data makes keys of their words"});
  if (!any && type->rank() != 0)
    FailShape(call, 15, fmt::format("it takes one key, not an array of them, {}", type->text()),
              {"vmap maps over keys"});
  return k;
}

namespace {

Array Bitcast(const Array& x, DType t, Call call) {
  const ShapeAndDType wanted{{}, t};
  return Run(ops::kBitcastConvertType, nullptr, {x}, call, {.wanted = &wanted});
}

// The index of each element in the whole array.
Array FlatIndex(const base::Shape& shape, const std::optional<PartitionSpec>& out, Call call) {
  const ShapeAndDType wanted{shape, u64};
  ops::IotaParams all;
  for (size_t d = 0; d < shape.size(); ++d) all.dim.push_back(static_cast<int64_t>(d));
  return Run(ops::kIota, ir::MakeParams(std::move(all)), {}, call,
             {.wanted = &wanted, .out_sharding = out, .rank = static_cast<int>(shape.size())});
}

Array Random(ScalarOp op, const Array& key, const Array& counter, Call call) {
  return Run(ops::Elementwise(op), nullptr, {key, counter}, call);
}

Array Number(double v, DType t, Call call) { return ScalarOf(v, t, false, call); }
Array Count(uint64_t v, DType t, Call call) { return ScalarOf(v, t, false, call); }

}  // namespace

Array SplitKey(const Array& key, const DrawnAs& as, Call call) {
  return Random(ScalarOp::kRandomFoldIn, key, FlatIndex(as.shape, as.out_sharding, call), call);
}

std::vector<Array> SplitApart(const Array& key, int64_t n, Call call) {
  std::vector<Array> keys;
  for (int64_t i = 0; i < n; ++i)
    keys.push_back(
        Random(ScalarOp::kRandomFoldIn, key, Count(static_cast<uint64_t>(i), u64, call), call));
  return keys;
}

// ---- bits and floats ----------------------------------------------------------------------------

Array RandomBits(const Array& key, const DrawnAs& as, int width, Call call) {
  const Array index = FlatIndex(as.shape, as.out_sharding, call);
  if (width == 64) return Random(ScalarOp::kRandomBits64, key, index, call);
  const Array word = Random(ScalarOp::kRandomBits32, key, index, call);
  if (width == 32) return word;
  return bitwise_and(word, Count((1u << width) - 1, u32, call), {}, call.loc);
}

int MantissaBits(DType t) { return t == f64 ? 52 : t == f32 ? 23 : t == f16 ? 10 : 7; }

namespace {

// The number that a dtype has for it.
double Rounded(long double v, DType t) {
  ir::HostTensor element(t, {1});
  element.SetFloat(0, v);
  return element.Float(0);
}

// The highest bits of a draw as digits behind the point, which is exact.
Array UnitUniform(const Array& key, const DrawnAs& as, Call call) {
  const DType t = as.dtype;
  const int m = MantissaBits(t), width = t == bf16 ? 8 : t.size() * 8;
  const DType word = width == 64 ? u64 : u32;
  const Array digits =
      shift_right_logical(RandomBits(key, as, width, call),
                          Count(static_cast<uint64_t>(width - m), word, call), {}, call.loc);
  return mul(Convert(digits, t, call), Number(std::ldexp(1.0, -m), t, call), {}, call.loc);
}

}  // namespace

Array Uniform(const Array& key, const DrawnAs& as, double lo, double hi, Call call) {
  const Array u = UnitUniform(key, as, call);
  lo = Rounded(lo, as.dtype), hi = Rounded(hi, as.dtype);
  if (lo == 0 && hi == 1) return u;
  const double span = Rounded(static_cast<long double>(hi) - lo, as.dtype);
  const Array low = Number(lo, as.dtype, call);
  const Array scaled = mul(u, Number(span, as.dtype, call), {}, call.loc);
  return maximum(low, add(scaled, low, {}, call.loc), {}, call.loc);
}

Array Uniform(const Array& key, const DrawnAs& as, const Array& lo, const Array& hi, Call call) {
  const Array scaled = mul(UnitUniform(key, as, call), sub(hi, lo, {}, call.loc), {}, call.loc);
  return maximum(lo, add(scaled, lo, {}, call.loc), {}, call.loc);
}

namespace {

// The float after -1, towards 0.
double AboveMinusOne(DType t) { return -1 + std::ldexp(1.0, -MantissaBits(t) - 1); }
double Least(DType t) {  // the smallest normal one
  return std::ldexp(1.0, t == f64 ? -1022 : t == f16 ? -14 : -126);
}

}  // namespace

Array Normal(const Array& key, const DrawnAs& as, Call call) {
  const Array u = Uniform(key, as, AboveMinusOne(as.dtype), 1, call);
  return mul(Number(std::numbers::sqrt2, as.dtype, call), erf_inv(u, call.loc), {}, call.loc);
}

Array Gumbel(const Array& key, const DrawnAs& as, Call call) {
  const Loc loc = call.loc;
  const Array u = Uniform(key, as, Least(as.dtype), 1, call);
  return neg(log(neg(log(u, loc), loc), loc), loc);
}

namespace {

using Sampler = Array (*)(const Array& key, const DrawnAs& as, Call call);

Array DrawFloats(const Operand& key, const Shape& shape, const CreateOptions& options, Call call,
                 Sampler sampler) {
  const Array k = KeyOf(key, call);
  const DrawnAs as = FloatsOf(shape.dims(), options.dtype, options.out_sharding, call);
  return Drawn({Operand(k, key.loc())}, TextOf(as), call,
               [&](const std::vector<Operand>& all) { return sampler(all[0].array(), as, call); });
}

Array Exponential(const Array& key, const DrawnAs& as, Call call) {
  const Array u = Uniform(key, as, 0, 1, call);
  return neg(log1p(neg(u, call.loc), call.loc), call.loc);
}
Array Laplace(const Array& key, const DrawnAs& as, Call call) {
  const Loc loc = call.loc;
  const Array u = Uniform(key, as, AboveMinusOne(as.dtype), 1, call);
  return mul(sign(u, loc), log1p(neg(abs(u, loc), loc), loc), {}, loc);
}
Array Logistic(const Array& key, const DrawnAs& as, Call call) {
  const Loc loc = call.loc;
  const Array u = Uniform(key, as, Least(as.dtype), 1, call);
  return sub(log(u, loc), log1p(neg(u, loc), loc), {}, loc);
}
Array Cauchy(const Array& key, const DrawnAs& as, Call call) {
  const Loc loc = call.loc;
  const Array u = Uniform(key, as, std::ldexp(1.0, -MantissaBits(as.dtype)), 1, call);
  const Array turn = sub(u, Number(0.5, as.dtype, call), {}, loc);
  return tan(mul(Number(std::numbers::pi, as.dtype, call), turn, {}, loc), loc);
}

}  // namespace
}  // namespace api

using frontend::Call;

namespace random {

// Seeds of at most 32 bits that are arrays have a first word of 0, numbers their sign's.
Array key(Operand seed, Loc loc) {
  const Call call{"random::key", loc};
  if (seed.scalar()) {
    if (seed.scalar()->kind() == Scalar::kFloat || seed.scalar()->kind() == Scalar::kBool)
      frontend::FailDType(call, 15, "a seed is an integer");
    const auto bits = static_cast<uint64_t>(seed.scalar()->as_int());
    return api::Bitcast(frontend::ScalarOf(bits, u64, false, call), key_dtype, call);
  }
  const Array s = frontend::ToArray(seed, call);
  const ir::Type* type = frontend::TypeOf(s);
  if (!type->dtype().is_integer())
    frontend::FailDType(call, 15, fmt::format("a seed is an integer, not {}", type->text()));
  if (type->rank() != 0)
    frontend::FailShape(call, 15, fmt::format("a seed is one integer, not {}", type->text()),
                        {"vmap maps over seeds"});
  const auto wrap = [&](const std::vector<Operand>& all) {
    Array word = all[0].array();
    if (type->dtype().size() < 8) word = frontend::Convert(word, u32, call);
    return std::vector{api::Bitcast(frontend::Convert(word, u64, call), key_dtype, call)};
  };
  return api::AllKept({Operand(s, seed.loc())}, "", call, wrap)[0];
}

Array split(Operand key, Shape shape, Loc loc) {
  const Call call{"random::split", loc};
  const Array k = api::KeyOf(key, call);
  frontend::CheckShape(shape.dims(), call);
  return api::Drawn({Operand(k, key.loc())}, ir::FieldText(shape.dims()), call,
                    [&](const std::vector<Operand>& all) {
                      return api::SplitKey(all[0].array(), {shape.dims(), key_dtype}, call);
                    });
}

std::vector<Array> split_apart(Operand key, int64_t n, Loc loc) {
  const Call call{"random::split", loc};
  const Array k = api::KeyOf(key, call);
  if (n < 0)
    frontend::FailShape(call, 2, fmt::format("the number of keys must be 0 or more, not {}", n));
  return api::AllDrawn(
      {Operand(k, key.loc())}, fmt::format("apart {}", n), call,
      [&](const std::vector<Operand>& all) { return api::SplitApart(all[0].array(), n, call); });
}

Array fold_in(Operand key, Operand data, Loc loc) {
  const Call call{"random::fold_in", loc};
  const Array k = api::KeyOf(key, call);
  if (data.scalar()) {
    if (data.scalar()->kind() == Scalar::kFloat)
      frontend::FailDType(call, 15, "an integer is folded into a key");
    const auto low = static_cast<uint32_t>(data.scalar()->as_int());
    return api::Random(api::ScalarOp::kRandomFoldIn, k, api::Count(low, u64, call), call);
  }
  const Array d = frontend::ToArray(data, call);
  const ir::Type* type = frontend::TypeOf(d);
  if (type->dtype().is_floating() || type->dtype().is_key())
    frontend::FailDType(call, 15,
                        fmt::format("an integer is folded into a key, not {}", type->text()));
  if (type->rank() != 0)
    frontend::FailShape(call, 15,
                        fmt::format("one integer is folded into a key, not {}", type->text()),
                        {"vmap maps over integers"});
  const auto fold = [&](const std::vector<Operand>& all) {
    const Array low = frontend::Convert(all[1].array(), u32, call);
    return std::vector{api::Random(api::ScalarOp::kRandomFoldIn, all[0].array(),
                                   frontend::Convert(low, u64, call), call)};
  };
  return api::AllKept({Operand(k, key.loc()), Operand(d, data.loc())}, "", call, fold)[0];
}

// Words lie the other way round in memory: the second one is lower in the number.
Array key_data(Operand key, Loc loc) {
  const Call call{"random::key_data", loc};
  const Array k = api::KeyOf(key, call, /*any=*/true);
  return rev(api::Bitcast(k, u32, call), -1, loc);
}

Array wrap_key_data(Operand words, Loc loc) {
  const Call call{"random::wrap_key_data", loc};
  const Array w = frontend::ToArray(words, call);
  const ir::Type* type = frontend::TypeOf(w);
  if (type->dtype() != u32 || type->rank() == 0 || type->shape().back() != 2)
    frontend::FailDType(call, 15,
                        fmt::format("the words of keys are u32[..., 2], not {}", type->text()));
  return api::Bitcast(rev(w, -1, loc), key_dtype, call);
}

Array bits(Operand key, Shape shape, CreateOptions options, Loc loc) {
  const Call call{"random::bits", loc};
  const Array k = api::KeyOf(key, call);
  const DType t = !options.dtype.is_default()      ? options.dtype
                  : base::DefaultInt().size() == 8 ? u64
                                                   : u32;
  if (!t.is_unsigned())
    frontend::FailDType(call, 16, fmt::format("bits are of an unsigned dtype, not {}", t.name()));
  frontend::CheckShape(shape.dims(), call);
  const api::DrawnAs as{shape.dims(), t, options.out_sharding};
  return api::Drawn(
      {Operand(k, key.loc())}, api::TextOf(as), call, [&](const std::vector<Operand>& all) {
        const int width = t.size() < 4 ? 32 : t.size() * 8;
        return frontend::Convert(api::RandomBits(all[0].array(), as, width, call), t, call);
      });
}

Array uniform(Operand key, Shape shape, UniformOptions options, Loc loc) {
  const Call call{"random::uniform", loc};
  const Array k = api::KeyOf(key, call);
  const api::DrawnAs as = api::FloatsOf(shape.dims(), options.dtype, options.out_sharding, call);
  const Operand lo = options.minval.at(loc), hi = options.maxval.at(loc);
  api::CheckBroadcasts({lo, hi}, as.shape, call);
  return api::Drawn(
      {Operand(k, key.loc()), lo, hi}, api::TextOf(as), call, [&](const std::vector<Operand>& all) {
        const Array& drawn = all[0].array();
        if (lo.scalar() && hi.scalar())
          return api::Uniform(drawn, as, lo.scalar()->as_double(), hi.scalar()->as_double(), call);
        const std::vector<Array> bounds = frontend::PromoteTo(as.dtype, {all[1], all[2]}, call);
        return api::Uniform(drawn, as, bounds[0], bounds[1], call);
      });
}

#define TESSERA_SAMPLER(name, function)                                             \
  Array name(Operand key, Shape shape, CreateOptions options, Loc loc) {            \
    return api::DrawFloats(key, shape, options, {"random::" #name, loc}, function); \
  }
TESSERA_SAMPLER(normal, api::Normal)
TESSERA_SAMPLER(gumbel, api::Gumbel)
TESSERA_SAMPLER(exponential, api::Exponential)
TESSERA_SAMPLER(laplace, api::Laplace)
TESSERA_SAMPLER(logistic, api::Logistic)
TESSERA_SAMPLER(cauchy, api::Cauchy)
#undef TESSERA_SAMPLER

}  // namespace random
}  // namespace tessera
