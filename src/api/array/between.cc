// Steps between two elements by the method of a quantile.
#include "api/array/between.h"

#include "api/core/located.h"

namespace tessera::api {

namespace {

// In f64 both shares are above 0 between two elements, so that an infinite one prevails. Equal
// elements are exact: their line has both slopes too.
Located OnLine(const Located& a, const Located& b, const Located& f) {
  const Located rise = b - a, level = a + If(IsNan(rise), 0.0, rise) * f;
  return If(a == b, level, a * (1.0 - f) + b * f);
}

}  // namespace

Array Between(const Array& low, const Array& high, const Array& fraction, QuantileMethod method,
              Call call) {
  const Located a(low, call.loc), b(high, call.loc), f(fraction, call.loc);
  switch (method) {
    case QuantileMethod::kLower:
      return low;
    case QuantileMethod::kHigher:
      return high;
    case QuantileMethod::kNearest:
      return If(f <= 0.5, a, b);
    case QuantileMethod::kMidpoint:
    case QuantileMethod::kInvertedCdf:  // by InvertedCdf
    case QuantileMethod::kLinear:
      break;
  }
  const auto wide = [&](const Array& x) { return a.With(Convert(x, f64, call)); };
  const Located share =
      method == QuantileMethod::kMidpoint ? f.With(full_like(f, 0.5, {}, call.loc)) : f;
  return Convert(OnLine(wide(low), wide(high), share), TypeOf(low)->dtype(), call);
}

}  // namespace tessera::api
