// Functions of complex numbers in plain loops. All are computed in f64.
#include "kernels/fused/complex_functions.h"

#include <complex>
#include <type_traits>

#include "kernels/elements/complex_math.h"

namespace tessera::kernels {
namespace {

using plan::ScalarOp;

template <class T>
T PartOfResult(std::complex<T> z, int part) {
  return part == 0 ? z.real() : z.imag();
}
template <class T>
T PartOfResult(T x, int) {
  return x;
}
inline std::complex<float> Rounded(Complex z, float) {
  return {static_cast<float>(z.real()), static_cast<float>(z.imag())};
}
inline Complex Rounded(Complex z, double) { return z; }
inline float Rounded(double x, float) { return static_cast<float>(x); }
inline double Rounded(double x, double) { return x; }

template <class T, auto f, int kPart>
void Loop(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  const auto at = [&](const Address& a) {
    return reinterpret_cast<const T*>(EffectiveAddress(c, a, i));
  };
  T* re = reinterpret_cast<T*>(acc);
  const T *im = at(instr.a), *second_re = at(instr.b), *second_im = at(instr.c);
  auto* other = reinterpret_cast<T*>(c.base[kScratch] + instr.info);
  for (size_t k = 0; k < n; ++k) {
    const auto result = [&] {
      if constexpr (std::is_invocable_v<decltype(f), Complex>)
        return Rounded(f(Complex(re[k], im[k])), T{});
      else
        return Rounded(f(Complex(re[k], im[k]), Complex(second_re[k], second_im[k])), T{});
    }();
    re[k] = PartOfResult(result, kPart);
    if (instr.info != 0) other[k] = PartOfResult(result, 1 - kPart);
  }
}

template <auto f>
ComplexFunction Of(DType dtype) {
  if (dtype == c64) return {{&Loop<float, f, 0>, &Loop<float, f, 1>}};
  return {{&Loop<double, f, 0>, &Loop<double, f, 1>}};
}

}  // namespace

ComplexFunction ComplexFunctionOf(DType dtype, ScalarOp op) {
  using enum ScalarOp;
  switch (op) {
    case kSign:
      return Of<&complex_math::Sign>(dtype);
    case kDiv:
      return Of<&complex_math::Quotient>(dtype);
    case kPow:
      return dtype == c64 ? Of<&complex_math::PowOfFloats>(dtype) : Of<&complex_math::Pow>(dtype);
    case kAtan2:
      return Of<&complex_math::Atan2>(dtype);
    case kSqrt:
      return Of<[](Complex z) { return std::sqrt(z); }>(dtype);
    case kRsqrt:
      return Of<&complex_math::Rsqrt>(dtype);
    case kExp2:
      return Of<&complex_math::Exp2>(dtype);
    case kExpm1:
      return Of<&complex_math::Expm1>(dtype);
    case kLog1p:
      return Of<&complex_math::Log1p>(dtype);
    case kLogistic:
      return Of<&complex_math::Logistic>(dtype);
    case kSin:
      return Of<[](Complex z) { return std::sin(z); }>(dtype);
    case kCos:
      return Of<[](Complex z) { return std::cos(z); }>(dtype);
    case kTan:
      return Of<[](Complex z) { return std::tan(z); }>(dtype);
    case kAsin:
      return Of<[](Complex z) { return std::asin(z); }>(dtype);
    case kAcos:
      return Of<[](Complex z) { return std::acos(z); }>(dtype);
    case kAtan:
      return Of<[](Complex z) { return std::atan(z); }>(dtype);
    case kSinh:
      return Of<[](Complex z) { return std::sinh(z); }>(dtype);
    case kCosh:
      return Of<[](Complex z) { return std::cosh(z); }>(dtype);
    case kTanh:
      return Of<[](Complex z) { return std::tanh(z); }>(dtype);
    case kAsinh:
      return Of<[](Complex z) { return std::asinh(z); }>(dtype);
    case kAcosh:
      return Of<[](Complex z) { return std::acosh(z); }>(dtype);
    case kAtanh:
      return Of<[](Complex z) { return std::atanh(z); }>(dtype);
    default:
      return {};
  }
}

}  // namespace tessera::kernels
