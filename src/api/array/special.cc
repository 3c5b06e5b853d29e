// Special functions that are more than one op.
#include <cmath>
#include <limits>

#include "api/core/edits.h"

namespace tessera {

using namespace api;

namespace {
// Polygamma is (-1)^(n+1) n! zeta(n + 1, x). If n is known while tracing, its factorial is exact
// unless the dtype cannot represent it.
Array Polygamma(int64_t n, const Array& x, Call call) {
  const Loc loc = call.loc;
  if (n == 0) return digamma(x, loc);
  const DType t = TypeOf(x)->dtype();
  double factor = n % 2 == 0 ? -1 : 1;
  if (n < 0) factor = std::numeric_limits<double>::quiet_NaN();
  for (int64_t k = 2; k <= n && std::isfinite(factor); ++k) factor *= static_cast<double>(k);
  if (t == f32) factor = static_cast<float>(factor);
  const Array order = StrongScalar(static_cast<double>(n) + 1, t, call);
  return mul(StrongScalar(factor, t, call), zeta(order, x, {}, loc), {}, loc);
}
Array Polygamma(const Array& n, const Array& x, Call call) {
  const Loc loc = call.loc;
  const Operand zero(0, loc), one(1, loc), two(2, loc);
  const Operand nan(std::numeric_limits<double>::quiet_NaN(), loc);
  const Array order = add(n, one, {}, loc), parity = rem(n, two, {}, loc);
  const Array odd = where(eq(parity, one, {}, loc), one, nan, {}, loc);
  const Array sign = where(eq(parity, zero, {}, loc), neg(one, loc), odd, {}, loc);
  const Array factor = mul(sign, exp(lgamma(order, loc), loc), {}, loc);
  // Each branch computes at 1 where the other one is chosen. At a pole its tangent would be NaN
  // even though it is not chosen.
  const Array is_digamma = eq(n, zero, {}, loc);
  const Array of_digamma = digamma(where(is_digamma, x, one, {}, loc), loc);
  const Array of_zeta = zeta(order, where(is_digamma, one, x, {}, loc), {}, loc);
  return where(is_digamma, of_digamma, mul(factor, of_zeta, {}, loc), {}, loc);
}
}  // namespace

// Computes in f32 at least, because factorials soon exceed a narrower dtype.
Array polygamma(Operand n, Operand x, Loc loc) {
  const Call call{"polygamma", loc};
  return AsOne(call, {{"n", n}, {"x", x}}, [&](const Operand& order, const Operand& at) {
    std::vector<Array> xs = PromoteFloat({order, at}, call);
    const DType t = TypeOf(xs[0])->dtype();
    if (t.size() < 4)
      for (Array& a : xs) a = Convert(a, f32, call);
    const bool known = order.scalar() && order.scalar()->kind() == Scalar::kInt;
    Array y =
        known ? Polygamma(order.scalar()->as_int(), xs[1], call) : Polygamma(xs[0], xs[1], call);
    return t.size() < 4 ? Convert(y, t, call) : y;
  });
}

}  // namespace tessera
