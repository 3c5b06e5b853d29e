// Scalar identities and steps of reductions, in the type in which they accumulate.
#pragma once
#include <limits>

#include "kernels/elements/scalar_elements.h"
#include "tessera/reduction.h"

namespace tessera::kernels {

// Plain loops accumulate floats, and the parts of complex numbers, in f64.
template <class T>
using Accumulator =
    std::conditional_t<kIsComplex<T>, Complex,
                       std::conditional_t<std::is_floating_point_v<Compute<T>>, double, T>>;

template <class A>
A ReductionIdentity(Reduction reduction) {
  if constexpr (kIsComplex<A>) {
    const auto part = ReductionIdentity<typename A::value_type>(reduction);
    return reduction == Reduction::kProd ? A(part) : A(part, part);
  }
  using Limits = std::numeric_limits<A>;
  switch (reduction) {
    case Reduction::kProd:
      return A(1);
    case Reduction::kMax:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case Reduction::kMin:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case Reduction::kAnd:
      if constexpr (std::is_same_v<A, bool>)
        return true;
      else if constexpr (std::is_integral_v<A>)
        return static_cast<A>(~A{0});
      else
        return A(0);
    default:
      return A(0);
  }
}

template <class A>
A Combine(Reduction reduction, A a, A b) {
  if constexpr (std::is_same_v<A, bool>) {
    if (reduction == Reduction::kXor) return a != b;
    const bool any =
        reduction == Reduction::kSum || reduction == Reduction::kMax || reduction == Reduction::kOr;
    return any ? a || b : a && b;
  } else {
    switch (reduction) {
      case Reduction::kSum:
        return WrapAdd(a, b);
      case Reduction::kProd:
        return WrapMul(a, b);
      case Reduction::kMax:
        return Larger(a, b);
      case Reduction::kMin:
        return Smaller(a, b);
      default:
        break;
    }
    if constexpr (std::is_integral_v<A>)
      return static_cast<A>(reduction == Reduction::kAnd  ? a & b
                            : reduction == Reduction::kOr ? a | b
                                                          : a ^ b);
    else
      return a;
  }
}

}  // namespace tessera::kernels
