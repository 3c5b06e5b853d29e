// Identities and steps of reductions, in double and in 64-bit integers.
#include "ops/reference_accumulator.h"

namespace tessera::ops::reference {
namespace {

double FloatIdentity(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProd:
      return 1;
    case Reduction::kMax:
      return -kInf;
    case Reduction::kMin:
      return kInf;
    default:
      return 0;
  }
}

LongComplex ComplexIdentity(Reduction reduction) {
  const double part = FloatIdentity(reduction);
  return {part, reduction == Reduction::kProd ? 0 : part};
}

// Of floats and of complex numbers.
template <class T>
T Step(Reduction reduction, const T& a, const T& b) {
  switch (reduction) {
    case Reduction::kProd:
      return a * b;
    case Reduction::kMax:
      return Larger(a, b);
    case Reduction::kMin:
      return Smaller(a, b);
    default:
      return a + b;
  }
}

int64_t IntIdentity(Reduction reduction, DType dtype) {
  switch (reduction) {
    case Reduction::kProd:
      return 1;
    case Reduction::kMax:
      return reference::LowestInt(dtype);
    case Reduction::kMin:
      return reference::HighestInt(dtype);
    case Reduction::kAnd:
      return -1;
    default:
      return 0;
  }
}

int64_t IntStep(Reduction reduction, DType dtype, int64_t a, int64_t b) {
  const auto wide_a = static_cast<uint64_t>(a), wide_b = static_cast<uint64_t>(b);
  switch (reduction) {
    case Reduction::kProd:
      return static_cast<int64_t>(wide_a * wide_b);
    case Reduction::kMax:
      return IntLess(dtype, a, b) ? b : a;
    case Reduction::kMin:
      return IntLess(dtype, b, a) ? b : a;
    case Reduction::kAnd:
      return a & b;
    case Reduction::kOr:
      return a | b;
    case Reduction::kXor:
      return a ^ b;
    default:
      return static_cast<int64_t>(wide_a + wide_b);
  }
}

}  // namespace

ReferenceAccumulator::ReferenceAccumulator(Reduction reduction, DType dtype)
    : reduction_(reduction),
      dtype_(dtype),
      float_(FloatIdentity(reduction)),
      int_(IntIdentity(reduction, dtype)),
      complex_(ComplexIdentity(reduction)) {}

void ReferenceAccumulator::Add(const HostTensor& x, int64_t i) {
  if (dtype_.is_complex())
    complex_ = Step(reduction_, complex_, LongComplex(x.Complex(i)));
  else if (dtype_.is_floating())
    float_ = Step(reduction_, float_, x.Float(i));
  else
    int_ = IntStep(reduction_, dtype_, int_, x.Int(i));
}

void ReferenceAccumulator::StoreTo(HostTensor& t, int64_t i) const {
  if (dtype_.is_complex())
    t.SetComplex(i, complex_);
  else if (dtype_.is_floating())
    t.SetFloat(i, float_);
  else
    t.SetInt(i, int_);
}

void SumOfProducts::Add(const HostTensor& x, int64_t i, const HostTensor& y, int64_t j) {
  if (result_.is_complex())
    complex_ += LongComplex(x.Complex(i)) * LongComplex(y.Complex(j));
  else if (result_.is_floating())
    float_ += x.Float(i) * y.Float(j);
  else
    int_ += static_cast<uint64_t>(x.Int(i)) * static_cast<uint64_t>(y.Int(j));
}

void SumOfProducts::StoreTo(HostTensor& t, int64_t i) const {
  if (result_.is_complex())
    t.SetComplex(i, complex_);
  else if (result_.is_floating())
    t.SetFloat(i, float_);
  else
    t.SetInt(i, static_cast<int64_t>(int_));
}

}  // namespace tessera::ops::reference
