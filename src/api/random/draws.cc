// Caches one compiled program per kind of sample, and checks keys.
#include "api/random/draws.h"

#include <fmt/format.h>

#include <tuple>

#include "api/core/edits.h"
#include "trace/jit.h"
#include "trace/key_reuse.h"

namespace tessera::api {
namespace {

// Appends the exact value and the kind of a number.
void AddText(std::string& text, const Scalar& v) {
  const std::complex<double> z = v.as_complex();
  if (v.kind() == Scalar::kComplex)
    text += fmt::format(" {:a}+{:a}i", z.real(), z.imag());
  else
    text += v.kind() == Scalar::kFloat ? fmt::format(" {:a}", z.real())
                                       : fmt::format(" {}:{}", int{v.kind()}, v.as_int());
}

}  // namespace

std::vector<Array> AllDrawn(std::vector<Operand> operands, std::string statics, Call call,
                            Draw draw) {
  const Array key = operands[0].array();
  std::vector<Array> drawn = AllKept(std::move(operands), std::move(statics), call, draw);
  trace::UseUpKey(key.impl(), call.name, call.loc);
  return drawn;
}

std::vector<Array> AllKept(std::vector<Operand> operands, std::string statics, Call call,
                           Draw draw) {
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
  return AsOne(call, {}, [&](const Operands&) {
    return trace::CallJit(*cache, {arguments, body, call.loc}, {}).arrays;
  });
}

std::string TextOf(const DrawnAs& as) {
  return fmt::format("{}{} {}", as.dtype.name(), ir::FieldText(as.shape),
                     as.out_sharding ? as.out_sharding->text() : "");
}

Array Bitcast(const Array& x, DType t, Call call) {
  const ShapeAndDType wanted{{}, t};
  return Run(ops::kBitcastConvertType, nullptr, {x}, call, {.wanted = &wanted});
}

Array KeysOf(const Operand& keys, Call call) {
  if (keys.scalar())
    FailDType(call, 14, "it takes a key, not a number", {"random::key(seed) makes one"});
  Array k = ToArray(keys, call);
  const ir::Type* type = TypeOf(k);
  if (!type->dtype().is_key())
    FailDType(call, 14, fmt::format("it takes a key, not {}", type->text()),
              {"random::key(seed) makes one; random::wrap_key_data makes keys of their words"});
  return k;
}

Array KeyOf(const Operand& key, Call call) {
  Array k = KeysOf(key, call);
  const ir::Type* type = TypeOf(k);
  if (type->rank() != 0)
    FailShape(call, 15, fmt::format("it takes one key, not an array of them, {}", type->text()),
              {"vmap maps over keys"});
  return k;
}

}  // namespace tessera::api
