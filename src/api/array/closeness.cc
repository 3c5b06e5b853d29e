// Comparisons of arrays up to a tolerance, and as a whole.
#include "api/array/apply_elementwise.h"
#include "api/core/edits.h"
#include "api/core/operands.h"
#include "base/dtype.h"

namespace tessera {

using namespace api;
using ops::ScalarOp;

namespace {
Array Close(const Operand& a, const Operand& b, const CloseOptions& options, Call call) {
  const Loc loc = call.loc;
  std::vector<Array> xs = PromoteFloat({a, b}, call);
  DType t = base::PartOf(TypeOf(xs[0])->dtype());
  Array rtol = StrongScalar(options.rtol, t, call);
  Array atol = StrongScalar(options.atol, t, call);
  Array apart = abs(Apply(ScalarOp::kSub, xs, {}, call), loc);
  Array bound = add(atol, mul(rtol, abs(xs[1], loc), {}, loc), {}, loc);
  Array near = bitwise_and(le(apart, bound, {}, loc), isfinite(xs[1], loc), {}, loc);
  Array close = bitwise_or(eq(xs[0], xs[1], {}, loc), near, {}, loc);
  if (!options.equal_nan) return close;
  return bitwise_or(close, bitwise_and(isnan(xs[0], loc), isnan(xs[1], loc), {}, loc), {}, loc);
}
}  // namespace

Array isclose(Operand a, Operand b, CloseOptions options, Loc loc) {
  const Call call{"isclose", loc};
  return AsOne(call, {a, b, options}, [&](const Operand& lhs, const Operand& rhs) {
    return Close(lhs, rhs, options, call);
  });
}
Array allclose(Operand a, Operand b, CloseOptions options, Loc loc) {
  const Call call{"allclose", loc};
  return AsOne(call, {a, b, options}, [&](const Operand& lhs, const Operand& rhs) {
    return all(Close(lhs, rhs, options, call), All, {}, loc);
  });
}
Array array_equal(Operand a, Operand b, EqualOptions options, Loc loc) {
  Call call{"array_equal", loc};
  return AsOne(call, {a, b, options}, [&](const Operand& lhs, const Operand& rhs) {
    Array x = ToArray(lhs, call), y = ToArray(rhs, call);
    if (TypeOf(x)->shape() != TypeOf(y)->shape()) return StrongScalar(false, bool_, call);
    Array equal = eq(x, y, {}, loc);
    if (options.equal_nan)
      equal = bitwise_or(equal, bitwise_and(isnan(x, loc), isnan(y, loc), {}, loc), {}, loc);
    return all(equal, All, {}, loc);
  });
}

}  // namespace tessera
