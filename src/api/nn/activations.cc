// Activations: formulas of one array.
#include <fmt/format.h>

#include <numbers>

#include "api/core/slopes.h"
#include "base/at.h"
#include "tessera/nn.h"

namespace tessera {

using namespace api;

namespace {

Located Logistic(const Located& x) { return x.With(logistic(x, x.loc())); }
Located Softplus(const Located& x) { return x.With(softplus(x, x.loc())); }

// Only between 0 and 6 has it a derivative, and none at NaN.
Located Relu6(const Located& x) {
  const Located limited = If(x >= 6, 6.0, If(x <= 0, 0.0, x));
  return If((x > 0) & (x < 6), x, Constant(limited));
}
Located HardSigmoid(const Located& x) { return Relu6(x + 3.0) / 6.0; }
// The exponent is 0 where the other case is chosen: its tangent must not overflow there.
Located Elu(const Located& x, const Located& alpha) {
  return If(x > 0, x, alpha * Expm1(If(x > 0, 0.0, x)));
}

// Returns f(x, y) for arrays that promote, as one call.
template <class F>
Array OfTwo(Call call, const Argument& x, const Argument& y, const F& f) {
  return AsOne(call, {x, y}, [&](const Operand& a, const Operand& b) -> Array {
    return f(Located(ToFloat(a, call), call.loc), Located(ToArray(b, call), call.loc));
  });
}

}  // namespace

Array identity(Operand x, Loc loc) { return Same(ToArray(x, {"identity", loc})); }
Array relu6(Operand x, Loc loc) { return FloatFormula({"relu6", loc}, x, Relu6); }
Array leaky_relu(Operand x, Operand negative_slope, Loc loc) {
  return OfTwo({"leaky_relu", loc}, {"operand", x}, {"negative_slope", negative_slope},
               [](const Located& a, const Located& slope) { return If(a >= 0, a, slope * a); });
}
Array elu(Operand x, Operand alpha, Loc loc) {
  return OfTwo({"elu", loc}, {"operand", x}, {"alpha", alpha}, Elu);
}
Array celu(Operand x, Operand alpha, Loc loc) {
  return OfTwo({"celu", loc}, {"operand", x}, {"alpha", alpha},
               [loc](const Located& a, const Located& scale) {
                 const Located low = a.With(minimum(a, Operand(0.0, loc), {}, loc));
                 const Located high = a.With(maximum(a, Operand(0.0, loc), {}, loc));
                 return high + scale * Expm1(low / scale);
               });
}
Array selu(Operand x, Loc loc) {
  const Call call{"selu", loc};
  return FloatFormula(call, x, [&](const Located& a) {
    constexpr double kAlpha = 1.6732632423543772848170429916717;
    constexpr double kScale = 1.0507009873554804934193349852946;
    return kScale * Elu(a, Located(WeakScalar(kAlpha, a.dtype(), call), loc));
  });
}
Array hard_tanh(Operand x, Loc loc) {
  return Formula({"hard_tanh", loc}, x,
                 [](const Located& a) { return If(a > 1, 1, If(a < -1, -1, a)); });
}
Array hard_sigmoid(Operand x, Loc loc) {
  return FloatFormula({"hard_sigmoid", loc}, x, HardSigmoid);
}
Array hard_silu(Operand x, Loc loc) {
  return FloatFormula({"hard_silu", loc}, x, [](const Located& a) { return a * HardSigmoid(a); });
}
Array log_sigmoid(Operand x, Loc loc) {
  return FloatFormula({"log_sigmoid", loc}, x, [](const Located& a) { return -Softplus(-a); });
}
Array soft_sign(Operand x, Loc loc) {
  return FloatFormula({"soft_sign", loc}, x, [loc](const Located& a) {
    return WithSlope(
        a,
        [loc](const Located& v) {
          return If(v.With(isinf(v, loc)), v.With(sign(v, loc)), v / (Abs(v) + 1));
        },
        [](const Located& v, const Located&) { return Square(1 / (Abs(v) + 1)); });
  });
}
Array mish(Operand x, Loc loc) {
  return FloatFormula({"mish", loc}, x,
                      [loc](const Located& a) { return a * a.With(tanh(Softplus(a), loc)); });
}
namespace {
// Returns the root of x^2 + b with its slopes, which are finite for b = 0 too.
Located RootOfSquarePlus(const Located& x, const Located& b) {
  return WithSlopes(
      {x, b},
      [](const std::vector<Located>& v) {
        return v[0].With(hypot(v[0], Sqrt(v[1]), {}, v[0].loc()));
      },
      [](const std::vector<Located>& v, const Located& y) {
        return std::vector<Located>{If(y == 0, 0.0, v[0] / If(y == 0, 1.0, y)), 0.5 / y};
      });
}
}  // namespace

Array squareplus(Operand x, Operand b, Loc loc) {
  return FloatFormula({"squareplus", loc}, {"operand", x}, {"b", b},
                      [loc](const Located& a, const Located& offset) {
                        const Located is_infinite = a.With(isinf(a, loc)), is_up = a >= 0;
                        const Located x = If(is_infinite, 0.0, a);
                        // The sum cancels for x < 0.
                        const Located root = RootOfSquarePlus(x, offset);
                        const Located gap = If(is_up, 1.0, 0.5 * root - 0.5 * x);
                        const Located made = If(is_up, 0.5 * x + 0.5 * root, 0.25 * offset / gap);
                        return If(is_infinite, If(is_up, a, 0.0), made);
                      });
}
Array sparse_plus(Operand x, Loc loc) {
  return FloatFormula({"sparse_plus", loc}, x, [](const Located& a) {
    return If(a <= -1.0, 0.0, If(a >= 1.0, a, Square(a + 1.0) / 4));
  });
}
Array sparse_sigmoid(Operand x, Loc loc) {
  return FloatFormula({"sparse_sigmoid", loc}, x, [loc](const Located& a) {
    return 0.5 * a.With(clip(a + 1.0, Operand(0.0, loc), Operand(2.0, loc), loc));
  });
}

// The slope divides by e^x - 1, where those of the formulas divide by differences that cancel.
Array log1mexp(Operand x, Loc loc) {
  return FloatFormula({"log1mexp", loc}, x, [](const Located& a) {
    return WithSlope(
        a,
        [](const Located& v) {
          return If(v < std::numbers::ln2, Log(-Expm1(-v)), Log1p(-Exp(-v)));
        },
        [](const Located& v, const Located&) { return Exp(-v) / -Expm1(-v); });
  });
}

Array glu(Operand x, int dim, Loc loc) {
  const Call call{"glu", loc};
  return AsOne(call, {x, dim}, [&](const Operand& operand) -> Array {
    const Array a = ToFloat(operand, call);
    const int64_t size = base::At(ShapeOf(a), NormalDim(dim, Rank(a), call));
    if (size % 2 != 0)
      FailShape(call, 17, fmt::format("dim {} has the odd size {}: it has no halves", dim, size));
    const std::vector<Array> halves = split(a, 2, dim, loc);
    return Located(halves[0], loc) * Logistic(Located(halves[1], loc));
  });
}

}  // namespace tessera
