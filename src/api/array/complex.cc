// Complex numbers and their parts. As in NumPy, the functions also take real numbers.
#include "api/array/apply_elementwise.h"
#include "api/core/edits.h"
#include "api/core/operands.h"

namespace tessera {

using namespace api;

namespace {

using ops::ScalarOp;

bool IsComplex(const Array& x) { return TypeOf(x)->dtype().is_complex(); }

Array Part(ScalarOp op, const Array& x, Call call) {
  return Run(ops::Elementwise(op), nullptr, {x}, call);
}

}  // namespace

Array real(Operand x, Loc loc) {
  const Call call{"real", loc};
  const Array a = ToArray(x, call);
  return IsComplex(a) ? Part(ScalarOp::kReal, a, call) : Same(a);
}

Array imag(Operand x, Loc loc) {
  const Call call{"imag", loc};
  return AsOne(call, {x}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    return IsComplex(a) ? Part(ScalarOp::kImag, a, call) : zeros_like(a, {}, loc);
  });
}

Array conj(Operand x, Loc loc) {
  const Call call{"conj", loc};
  const Array a = ToArray(x, call);
  return IsComplex(a) ? Part(ScalarOp::kConj, a, call) : Same(a);
}

Array angle(Operand x, Loc loc) {
  const Call call{"angle", loc};
  return AsOne(call, {x}, [&](const Operand& operand) {
    const Array a = ToFloat(operand, call);
    return atan2(imag(a, loc), real(a, loc), {}, loc);
  });
}

Array isreal(Operand x, Loc loc) {
  const Call call{"isreal", loc};
  return AsOne(call, {x}, [&](const Operand& operand) {
    return eq(imag(operand, loc), Operand(0, loc), {}, loc);
  });
}

Array complex(Operand a, Operand b, OutOptions options, Loc loc) {
  const Call call{"complex", loc};
  return Apply(ScalarOp::kComplex, PromoteFloat({a, b}, call), options, call);
}

}  // namespace tessera
