// Arrays with the operators of C++, so that functions over ops are formulas. Every op that a
// formula applies is on the line of the user's call.
#pragma once
#include <utility>

#include "api/core/edits.h"
#include "tessera/ops.h"

namespace tessera::api {

class Located {
 public:
  Located(Array x, Loc loc) : x_(std::move(x)), loc_(loc) {}
  operator Array() const { return x_; }
  operator Operand() const { return Operand(x_, loc_); }
  const Array& plain() const { return x_; }
  Loc loc() const { return loc_; }
  DType dtype() const { return TypeOf(x_)->dtype(); }
  const base::Shape& shape() const { return ShapeOf(x_); }
  // Returns another array at the same line.
  Located With(Array other) const { return {std::move(other), loc_}; }

 private:
  Array x_;
  Loc loc_;
};

// Numbers beside arrays are weak.
#define TESSERA_LOCATED_OPERATOR(symbol, function)                     \
  inline Located operator symbol(const Located& a, const Located& b) { \
    return a.With(function(a, b, {}, a.loc()));                        \
  }                                                                    \
  template <Number T>                                                  \
  Located operator symbol(const Located& a, T b) {                     \
    return a.With(function(a, Operand(b, a.loc()), {}, a.loc()));      \
  }                                                                    \
  template <Number T>                                                  \
  Located operator symbol(T a, const Located& b) {                     \
    return b.With(function(Operand(a, b.loc()), b, {}, b.loc()));      \
  }
TESSERA_LOCATED_OPERATOR(+, add)
TESSERA_LOCATED_OPERATOR(-, sub)
TESSERA_LOCATED_OPERATOR(*, mul)
TESSERA_LOCATED_OPERATOR(/, divide)
TESSERA_LOCATED_OPERATOR(==, eq)
TESSERA_LOCATED_OPERATOR(!=, ne)
TESSERA_LOCATED_OPERATOR(<, lt)
TESSERA_LOCATED_OPERATOR(<=, le)
TESSERA_LOCATED_OPERATOR(>, gt)
TESSERA_LOCATED_OPERATOR(>=, ge)
TESSERA_LOCATED_OPERATOR(&, logical_and)
TESSERA_LOCATED_OPERATOR(|, logical_or)
#undef TESSERA_LOCATED_OPERATOR
inline Located operator-(const Located& x) { return x.With(tessera::neg(x, x.loc())); }
inline Located operator!(const Located& x) { return x.With(tessera::logical_not(x, x.loc())); }

#define TESSERA_LOCATED_FUNCTION(Name, function) \
  inline Located Name(const Located& x) { return x.With(function(x, x.loc())); }
TESSERA_LOCATED_FUNCTION(Abs, abs)
TESSERA_LOCATED_FUNCTION(Exp, exp)
TESSERA_LOCATED_FUNCTION(Expm1, expm1)
TESSERA_LOCATED_FUNCTION(Log, log)
TESSERA_LOCATED_FUNCTION(Log1p, log1p)
TESSERA_LOCATED_FUNCTION(Sqrt, sqrt)
TESSERA_LOCATED_FUNCTION(Rsqrt, rsqrt)
TESSERA_LOCATED_FUNCTION(Square, square)
TESSERA_LOCATED_FUNCTION(Sign, sign)
TESSERA_LOCATED_FUNCTION(Floor, floor)
TESSERA_LOCATED_FUNCTION(Sin, sin)
TESSERA_LOCATED_FUNCTION(Cos, cos)
TESSERA_LOCATED_FUNCTION(Lgamma, lgamma)
TESSERA_LOCATED_FUNCTION(Digamma, digamma)
TESSERA_LOCATED_FUNCTION(IsNan, isnan)
TESSERA_LOCATED_FUNCTION(Constant, stop_gradient)
#undef TESSERA_LOCATED_FUNCTION

// Returns a where c holds, else b. One of the two may be a number.
inline Located If(const Located& c, const Located& a, const Located& b) {
  return c.With(tessera::where(c, a, b, {}, c.loc()));
}
template <Number T>
Located If(const Located& c, const Located& a, T b) {
  return c.With(tessera::where(c, a, Operand(b, c.loc()), {}, c.loc()));
}
template <Number T>
Located If(const Located& c, T a, const Located& b) {
  return c.With(tessera::where(c, Operand(a, c.loc()), b, {}, c.loc()));
}
template <Number T, Number U>
Located If(const Located& c, T a, U b) {
  return c.With(tessera::where(c, Operand(a, c.loc()), Operand(b, c.loc()), {}, c.loc()));
}

// Runs f(x) for a function of one operand as one call: errors have its name.
template <class F>
Array Formula(Call call, const Operand& x, const F& f) {
  return AsOne(call, {x},
               [&](const Operand& a) -> Array { return f(Located(ToArray(a, call), call.loc)); });
}
// As Formula, of floats or complex numbers.
template <class F>
Array FloatFormula(Call call, const Operand& x, const F& f) {
  return AsOne(call, {x},
               [&](const Operand& a) -> Array { return f(Located(ToFloat(a, call), call.loc)); });
}
// As FloatFormula, of two operands that promote.
template <class F>
Array FloatFormula(Call call, const Argument& x, const Argument& y, const F& f) {
  return AsOne(call, {x, y}, [&](const Operand& a, const Operand& b) -> Array {
    const std::vector<Array> xs = PromoteFloat({a, b}, call);
    return f(Located(xs[0], call.loc), Located(xs[1], call.loc));
  });
}

}  // namespace tessera::api
