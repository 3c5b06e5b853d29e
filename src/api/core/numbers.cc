// Arrays that remember their number, one class per kind of array.
#include "api/core/numbers.h"

#include "compile/host/concrete.h"
#include "trace/apply.h"

namespace tessera::api {
namespace {

struct HasNumber {
  Scalar number;
};
class ConcreteNumber : public compile::Concrete, public HasNumber {
 public:
  ConcreteNumber(const Concrete& x, const Scalar& number)
      : Concrete(x.type(), x.placed(), x), HasNumber{number} {}
};
class TracedNumber : public trace::TracedArray, public HasNumber {
 public:
  TracedNumber(const TracedArray& x, const Scalar& number)
      : TracedArray(x.type(), x.loc(), x.trace, x.value), HasNumber{number} {}
};

}  // namespace

Array NumberArray(const Scalar& number, Call call) {
  const Array x = ToArray(Operand(number, call.loc), call);
  const trace::ArrayImpl& impl = *x.impl();
  if (impl.kind() == trace::ArrayImpl::kConcrete)
    return Array(
        std::make_shared<ConcreteNumber>(static_cast<const compile::Concrete&>(impl), number));
  if (impl.kind() == trace::ArrayImpl::kTraced)
    return Array(
        std::make_shared<TracedNumber>(static_cast<const trace::TracedArray&>(impl), number));
  return x;
}

std::optional<Scalar> NumberOf(const Array& x) {
  const auto* has = dynamic_cast<const HasNumber*>(x.impl().get());
  return has ? std::optional(has->number) : std::nullopt;
}

}  // namespace tessera::api
