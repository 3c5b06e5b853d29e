// Values of a program under construction, with the operators of C++, so that derivative rules
// are formulas.
#pragma once
#include "ir/builder.h"
#include "plan/scalar_op.h"

namespace tessera::ops {

// Operands broadcast like those of elementwise ops. Numbers are scalars of the other
// operand's dtype.
class X {
 public:
  X(ir::Builder& builder, ir::ValueId id) : builder_(&builder), id_(id) {}
  ir::ValueId id() const { return id_; }
  ir::Builder& builder() const { return *builder_; }
  const ir::Type* type() const { return builder_->type(id_); }
  // Returns a scalar that can be combined with this value, whether or not that is partial.
  X Number(double value) const;

 private:
  ir::Builder* builder_;
  ir::ValueId id_;
};

X Apply(plan::ScalarOp op, std::initializer_list<X> operands);

X operator-(X a);
X operator+(X a, X b);
X operator-(X a, X b);
X operator*(X a, X b);
X operator/(X a, X b);
inline X operator+(X a, double b) { return a + a.Number(b); }
inline X operator-(X a, double b) { return a - a.Number(b); }
inline X operator*(X a, double b) { return a * a.Number(b); }
inline X operator/(X a, double b) { return a / a.Number(b); }
inline X operator+(double a, X b) { return b.Number(a) + b; }
inline X operator-(double a, X b) { return b.Number(a) - b; }
inline X operator*(double a, X b) { return b.Number(a) * b; }
inline X operator/(double a, X b) { return b.Number(a) / b; }

// Elementwise functions that several formulas use, by the names of their ops. For others a formula
// writes Apply(ScalarOp::kBesselI1e, {x}).
#define TESSERA_FORMULA(Name, op) \
  inline X Name(X x) { return Apply(plan::ScalarOp::op, {x}); }
TESSERA_FORMULA(Abs, kAbs)
TESSERA_FORMULA(Sign, kSign)
TESSERA_FORMULA(Floor, kFloor)
TESSERA_FORMULA(Exp, kExp)
TESSERA_FORMULA(Log, kLog)
TESSERA_FORMULA(Rsqrt, kRsqrt)
TESSERA_FORMULA(Sin, kSin)
TESSERA_FORMULA(Cos, kCos)
TESSERA_FORMULA(Sinh, kSinh)
TESSERA_FORMULA(Cosh, kCosh)
TESSERA_FORMULA(Digamma, kDigamma)
TESSERA_FORMULA(Real, kReal)
TESSERA_FORMULA(Imag, kImag)
TESSERA_FORMULA(Conj, kConj)
#undef TESSERA_FORMULA
inline X Pow(X x, X y) { return Apply(plan::ScalarOp::kPow, {x, y}); }
inline X ComplexOf(X real, X imag) { return Apply(plan::ScalarOp::kComplex, {real, imag}); }
inline X Zeta(X s, X q) { return Apply(plan::ScalarOp::kZeta, {s, q}); }
inline X Equal(X x, X y) { return Apply(plan::ScalarOp::kEq, {x, y}); }
inline X Less(X x, X y) { return Apply(plan::ScalarOp::kLt, {x, y}); }
inline X Max(X x, X y) { return Apply(plan::ScalarOp::kMax, {x, y}); }
inline X And(X x, X y) { return Apply(plan::ScalarOp::kAnd, {x, y}); }
inline X Or(X x, X y) { return Apply(plan::ScalarOp::kOr, {x, y}); }

// Returns x, whose derivative is zero.
X Constant(X x);
inline bool IsComplex(X x) { return x.type()->dtype().is_complex(); }
// Returns zeros of the type of x.
X ZerosLike(X x);
// Returns the index along a dim, i32 [1, ..., n, ..., 1] with the rank of x.
X IndexAlong(X x, int64_t dim);

// Returns x shifted by `by` positions along the dim (back if negative), with `fill` in the
// positions that become free.
X Shifted(X x, int64_t dim, int64_t by, double fill);

// Returns `yes` where the condition, a bool, is true, and `no` elsewhere.
X Where(X condition, X yes, X no);

}  // namespace tessera::ops
