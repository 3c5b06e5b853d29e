// Functions composed of others: activations, norms, softmax.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <tuple>

#include "api/array/reductions.h"
#include "api/core/edits.h"
#include "base/dtype.h"
#include "tessera/custom_rules.h"
#include "tessera/linalg.h"

namespace tessera {

using namespace api;

// ---- activations ----

Array silu(Operand x, Loc loc) {
  const Call call{"silu", loc};
  return AsOne(call, {x}, [&](const Operand& operand) {
    Array a = ToArray(operand, call);
    const Array gate = Run(ops::Elementwise(ops::ScalarOp::kLogistic), nullptr, {a}, call);
    return mul(a, gate, {}, loc);
  });
}
// Computes log(1 + e^x) as max(x, 0) + log1p(e^-|x|), which neither overflows nor cancels. At x = 0
// both terms take the derivative from above.
Array softplus(Operand x, Loc loc) {
  Call call{"softplus", loc};
  return AsOne(call, {x}, [&](const Operand& operand) {
    Array a = ToArray(operand, call);
    if (TypeOf(a)->dtype().is_bool()) a = Convert(a, base::DefaultInt(), call);
    a = ToFloat(a, call);
    CheckReal(a, call);
    Array tail = log1p(exp(neg(abs(a, loc), loc), loc), loc);
    const Operand zero(0, loc);
    Array top = where(ge(a, zero, {}, loc), a, zero, {}, loc);
    return where(isnan(a, loc), a, add(top, tail, {}, loc), {}, loc);
  });
}

namespace {
Array Gelu(const Array& a, bool approximate, Loc loc) {
  if (!approximate) {
    Array tail = erfc(mul(a, Operand(-1 / std::numbers::sqrt2, loc), {}, loc), loc);
    return mul(a, mul(Operand(0.5, loc), tail, {}, loc), {}, loc);
  }
  // Beyond the limit the factor is 0 or 1 in every dtype, and the cube might overflow.
  const bool is_real = !TypeOf(a)->dtype().is_complex();
  const Array t = is_real ? clamp(Operand(-30, loc), a, Operand(30, loc), loc) : a;
  Array cube = mul(mul(t, t, {}, loc), t, {}, loc);
  Array bent = add(t, mul(Operand(0.044715, loc), cube, {}, loc), {}, loc);
  // logistic(2t) equals (1 + tanh(t)) / 2 but does not cancel for negative t. Floats of 16 bits use
  // the form with tanh, as JAX does, so that results round alike.
  if (TypeOf(a)->dtype().size() >= 4)
    return mul(a, logistic(mul(Operand(std::sqrt(8 / std::numbers::pi), loc), bent, {}, loc), loc),
               {}, loc);
  Array inner = mul(Operand(std::sqrt(2 / std::numbers::pi), loc), bent, {}, loc);
  Array twice = add(Operand(1.0, loc), tanh(inner, loc), {}, loc);
  return mul(a, mul(Operand(0.5, loc), twice, {}, loc), {}, loc);
}
}  // namespace

Array gelu(Operand x, GeluOptions options, Loc loc) {
  const Call call{"gelu", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    return Gelu(ToFloat(operand, call), options.approximate, loc);
  });
}

// ---- norms ----

namespace {

// Returns the largest or smallest of non-negative numbers. The largest of no numbers is 0.
Array ExtremeSize(const Array& x, Reduced r, Call call) {
  bool empty = Count(x, r.dims) == 0;
  if (empty && &r.op == &ops::kReduceMin)
    FailShape(call, 18, "the dims are empty: there is no smallest element");
  Array y = Reduce(x, std::move(r), call);
  return empty ? zeros_like(y, {}, call.loc) : y;
}

Array VectorNorm(const Array& x, double ord, Reduced sum, Call call) {
  Loc loc = call.loc;
  auto extreme = [&](const ir::OpDef& op) {
    return ExtremeSize(abs(x, loc), {op, sum.dims, sum.keepdims, sum.out_sharding}, call);
  };
  if (std::isinf(ord)) return extreme(ord > 0 ? ops::kReduceMax : ops::kReduceMin);
  if (ord == 0)
    return Reduce(Convert(ne(x, Operand(0, loc), {}, loc), base::PartOf(TypeOf(x)->dtype()), call),
                  sum, call);
  if (ord == 1) return Reduce(abs(x, loc), sum, call);
  if (ord == 2) return sqrt(Reduce(real(mul(x, conj(x, loc), {}, loc), loc), sum, call), loc);
  Array total = Reduce(pow(abs(x, loc), Operand(ord, loc), {}, loc), sum, call);
  return pow(total, Operand(1 / ord, loc), {}, loc);
}

// Returns the largest, the smallest or the sum of the singular values.
Array SpectralNorm(const Array& x, const NormOrder& order, const Reduced& sum, Call call) {
  const int last = static_cast<int>(Rank(x)) - 1;
  const Array matrices = moveaxis(x, sum.dims, {-2, -1}, call.loc);
  const Array values = linalg::svdvals(matrices, call.loc);
  Reduced over{ops::kReduceSum, {last - 1}, false, sum.out_sharding};
  if (!order.number()) return Reduce(values, std::move(over), call);
  return ExtremeSize(
      values,
      {*order.number() > 0 ? ops::kReduceMax : ops::kReduceMin, over.dims, false, sum.out_sharding},
      call);
}

[[noreturn]] void FailOrder(const NormOrder& order, const char* of, const char* orders, Call call) {
  FailShape(call, 17, fmt::format("norms of {} have no order {}", of, Code(order)), {orders});
}

// Orders 1 and inf are the largest sum of absolute values of a column and of a row, -1 and -inf the
// smallest.
Array MatrixNorm(const Array& x, const NormOrder& order, Reduced sum, Call call) {
  if (order.name() == "fro") return VectorNorm(x, 2, sum, call);
  const double ord = order.number().value_or(0);
  const bool infinite = std::isinf(ord);
  if (std::abs(ord) == 2 || order.name() == "nuc") {
    const Array values = SpectralNorm(x, order, sum, call);
    if (!sum.keepdims) return values;
    std::vector<int64_t> dims = sum.dims;
    absl::c_sort(dims);
    return expand_dims(values, dims, call.loc);
  }
  if (!infinite && std::abs(ord) != 1)
    FailOrder(order, "matrices", "the orders are 1, -1, 2, -2, inf, -inf, \"fro\" and \"nuc\"",
              call);
  Array sums = Reduce(abs(x, call.loc), {sum.op, {sum.dims[infinite ? 1 : 0]}, true}, call);
  const ir::OpDef& extreme = ord > 0 ? ops::kReduceMax : ops::kReduceMin;
  return ExtremeSize(sums, {extreme, sum.dims, sum.keepdims, sum.out_sharding}, call);
}

}  // namespace

Array norm(Operand x, Dims dims, NormOptions options, Loc loc) {
  Call call{"norm", loc};
  const auto of = [&](const Array& a) {
    Reduced sum{ops::kReduceSum, NormalDims(dims, TypeOf(a)->rank(), call), options.keepdims,
                options.out_sharding};
    size_t n = sum.dims.size();
    if (n != 1 && n != 2 && (options.ord || !dims.all()))
      FailShape(call, 12, fmt::format("a norm is over one dim or two, not {}", n));
    if (!options.ord) return VectorNorm(a, 2, sum, call);
    if (n == 2) return MatrixNorm(a, *options.ord, sum, call);
    if (!options.ord->number()) FailOrder(*options.ord, "vectors", "the order is a number", call);
    return VectorNorm(a, *options.ord->number(), sum, call);
  };
  return AsOne(call, {x, dims, options}, [&](const Operand& operand) {
    const Array a = ToFloat(operand, call);
    return Convert(of(ToWide(a, call)), base::PartOf(TypeOf(a)->dtype()), call);
  });
}

namespace {
Array Softmax(const Array& a, const std::vector<int64_t>& d, Call call) {
  const Loc loc = call.loc;
  auto f = [=](Array v) {
    Array e = exp(sub(v, Reduce(v, {ops::kReduceMax, d, true}, call), {}, loc), loc);
    const Array wide = ToWide(e, call), total = Reduce(wide, {ops::kReduceSum, d, true}, call);
    return Convert(div(wide, total, {}, loc), TypeOf(v)->dtype(), call);
  };
  // The derivative uses only the result y, so no other residual is kept.
  auto tangent = [=](std::tuple<Array> values, std::tuple<Array> tangents) {
    Array y = f(std::get<0>(values)), scaled = mul(y, std::get<0>(tangents), {}, loc);
    Array total = Reduce(scaled, {ops::kReduceSum, d, true}, call);
    return std::pair(y, sub(scaled, mul(y, total, {}, loc), {}, loc));
  };
  return custom_jvp(f, tangent, loc)(a, loc);
}
}  // namespace

Array softmax(Operand x, Dims dims, Loc loc) {
  Call call{"softmax", loc};
  return AsOne(call, {x, dims}, [&](const Operand& operand) {
    const Array a = ToFloat(operand, call);
    return Softmax(a, NormalDims(dims, TypeOf(a)->rank(), call), call);
  });
}

Array log_softmax(Operand x, Dims dims, Loc loc) {
  Call call{"log_softmax", loc};
  return AsOne(call, {x, dims}, [&](const Operand& operand) {
    Array a = ToFloat(operand, call);
    std::vector<int64_t> d = NormalDims(dims, TypeOf(a)->rank(), call);
    Array shifted = sub(a, MaxAsConstant(a, d, call), {}, loc);
    const Array shares = ToWide(exp(shifted, loc), call);
    const Array total = log(Reduce(shares, {ops::kReduceSum, d, true}, call), loc);
    return Convert(sub(ToWide(shifted, call), total, {}, loc), TypeOf(a)->dtype(), call);
  });
}

Array layer_norm(Operand x, Operand scale, Operand bias, Dims dims, LayerNormOptions options,
                 Loc loc) {
  Call call{"layer_norm", loc};
  const auto f = [&](const Operand& operand, const Operand& gain, const Operand& offset) {
    const auto wide = [&](const Operand& y) {
      return y.scalar() ? y : Operand(ToWide(ToArray(y, call), call), loc);
    };
    Array a = ToFloat(operand, call);
    CheckReal(a, call);
    const DType t = PromotedDType({a, gain, offset}, call);
    a = ToWide(a, call);
    Array centre = mean(a, dims, {.keepdims = true}, loc);
    Array away = sub(a, centre, {}, loc);
    Array spread = mean(mul(away, away, {}, loc), dims, {.keepdims = true}, loc);
    Array unit =
        mul(away, rsqrt(add(spread, Operand(options.epsilon, loc), {}, loc), loc), {}, loc);
    return Convert(add(mul(unit, wide(gain), {}, loc), wide(offset), {}, loc), t, call);
  };
  return AsOne(call, {{"operand", x}, {"scale", scale}, {"bias", bias}, dims, options}, f);
}

}  // namespace tessera
