// Steps between two elements by the method of a quantile.
#include "api/array/between.h"

#include "api/core/located.h"

namespace tessera::api {

Array Between(const Array& low, const Array& high, const Array& fraction, QuantileMethod method,
              Call call) {
  const DType t = TypeOf(low)->dtype();
  const Located a(ToWide(low, call), call.loc), b(ToWide(high, call), call.loc);
  const Located f(fraction, call.loc);
  const auto share = [&](const Located& x) { return a.With(Convert(x, a.dtype(), call)); };
  switch (method) {
    case QuantileMethod::kLower:
      return low;
    case QuantileMethod::kHigher:
      return high;
    case QuantileMethod::kNearest:
      return If(share(f) <= 0.5, Located(low, call.loc), Located(high, call.loc));
    case QuantileMethod::kMidpoint:
      return Convert(If(a == b, a, a * 0.5 + b * 0.5), t, call);
    case QuantileMethod::kInvertedCdf:  // by InvertedCdf
    case QuantileMethod::kLinear:
      break;
  }
  // Both shares are above 0 between two elements, so that an infinite one prevails.
  return Convert(If(a == b, a, a * share(1.0 - f) + b * share(f)), t, call);
}

}  // namespace tessera::api
