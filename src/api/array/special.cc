// Special functions that are more than one op.
#include <cmath>
#include <limits>

#include "api/core/edits.h"
#include "api/core/reshard_to.h"
#include "tessera/custom_rules.h"

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

// logaddexp is max(a, b) + log1p(e^-|a - b|). If a - b is NaN, as for two infinities of one sign,
// the result is a + b.
namespace {
Array LogAddExp(const Array& a, const Array& b, Loc loc) {
  Array delta = sub(a, b, {}, loc);
  Array sum = add(a, b, {}, loc);
  Array tail = log1p(exp(neg(abs(delta, loc), loc), loc), loc);
  Array top = maximum(a, b, {}, loc);
  return where(isnan(delta, loc), sum, add(top, tail, {}, loc), {}, loc);
}
// Returns the share of e^x in e^x + e^other. The share is 1 if x is infinite. It does not go
// through logaddexp itself, whose maximum and absolute value have no second derivative where x =
// other.
Array ShareOf(const Array& x, const Array& other, Loc loc) {
  const Array is_infinite = eq(x, std::numeric_limits<double>::infinity(), {}, loc);
  const Array delta = where(is_infinite, Operand(0, loc), sub(x, other, {}, loc), {}, loc);
  return where(is_infinite, Operand(1, loc), logistic(delta, loc), {}, loc);
}
}  // namespace

Array logaddexp(Operand a, Operand b, OutOptions options, Loc loc) {
  const Call call{"logaddexp", loc};
  const auto f = [&](Array u, Array v) { return LogAddExp(u, v, loc); };
  using Pair = std::tuple<Array, Array>;
  const auto rule = [&](const Pair& primals, const Pair& tangents) {
    const auto& [u, v] = primals;
    const auto& [du, dv] = tangents;
    Array y = LogAddExp(u, v, loc);
    Array dy =
        add(mul(du, ShareOf(u, v, loc), {}, loc), mul(dv, ShareOf(v, u, loc), {}, loc), {}, loc);
    return std::pair(y, dy);
  };
  return AsOne(call, {a, b, options}, [&](const Operand& lhs, const Operand& rhs) {
    const std::vector<Array> xs = PromoteFloat({lhs, rhs}, call);
    CheckReal(xs[0], call);
    const Operands laid = LaidOut({{xs[0], loc}, {xs[1], loc}}, options.out_sharding, call);
    return custom_jvp(f, rule, loc)(laid[0].array(), laid[1].array(), loc);
  });
}

}  // namespace tessera
