// Equality of elements by dtype and tolerance, and the text of the first that differs.
#include "suite/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

#include "base/float8.h"

namespace tessera::suite {
namespace {

double Epsilon(DType dtype) {
  if (dtype.is_float8()) return std::ldexp(1.0, -base::Float8Format::Of(dtype.code()).mantissa);
  switch (dtype.code()) {
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    case DType::kF32:
    case DType::kC64:
      return 0x1p-23;
    default:
      return 0x1p-52;
  }
}

bool SameBits(const ir::HostTensor& a, const ir::HostTensor& b, int64_t i) {
  auto n = static_cast<size_t>(a.dtype.size());
  return std::memcmp(a.data.data() + static_cast<size_t>(i) * n,
                     b.data.data() + static_cast<size_t>(i) * n, n) == 0;
}

bool HasNan(std::complex<double> z) { return std::isnan(z.real()) || std::isnan(z.imag()); }
bool NearComplex(std::complex<double> a, std::complex<double> b, double eps, double magnitude) {
  if (HasNan(a) || HasNan(b)) return HasNan(a) && HasNan(b);
  if (std::isinf(std::abs(a)) || std::isinf(std::abs(b))) return a == b;
  return std::abs(a - b) <= eps * std::max(std::abs(b), magnitude);
}

bool Near(const ir::HostTensor& got, const ir::HostTensor& want, int64_t i, Tolerance tolerance) {
  if (SameBits(got, want, i)) return true;
  if (got.dtype.is_complex())
    return NearComplex(got.Complex(i), want.Complex(i), tolerance.eps * Epsilon(got.dtype),
                       tolerance.magnitude);
  if (!got.dtype.is_floating()) return false;
  double a = got.Float(i), b = want.Float(i);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (tolerance.eps == 0) return false;
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <=
         tolerance.eps * Epsilon(got.dtype) * std::max(std::abs(b), tolerance.magnitude);
}

std::string TypeText(const ir::HostTensor& t) {
  return fmt::format("{}[{}]", t.dtype.name(), fmt::join(t.shape, ","));
}

std::string ElementText(const ir::HostTensor& t, int64_t i) {
  if (t.dtype.is_complex())
    return fmt::format("({:.9g}, {:.9g})", t.Complex(i).real(), t.Complex(i).imag());
  return t.dtype.is_floating() ? fmt::format("{:.9g}", t.Float(i)) : fmt::format("{}", t.Int(i));
}

}  // namespace

std::string Difference(const ir::HostTensor& got, const ir::HostTensor& want, Tolerance tolerance) {
  if (got.dtype != want.dtype || got.shape != want.shape)
    return fmt::format("it is {}, not {}", TypeText(got), TypeText(want));
  for (int64_t i = 0; i < got.size(); ++i)
    if (!Near(got, want, i, tolerance))
      return fmt::format("{}: element [{}] is {}, not {}", TypeText(got),
                         fmt::join(ir::CoordsOf(got.shape, i), ","), ElementText(got, i),
                         ElementText(want, i));
  return "";
}

}  // namespace tessera::suite
