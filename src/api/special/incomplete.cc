// Incomplete gamma and beta functions, and exponential integrals: one op each.
#include "api/array/apply_elementwise.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;
using ops::ScalarOp;

Array igamma(Operand a, Operand x, OutOptions options, Loc loc) {
  const Call call{"igamma", loc};
  return Apply(ScalarOp::kIgamma, PromoteFloat({a, x}, call), options, call);
}
Array igammac(Operand a, Operand x, OutOptions options, Loc loc) {
  const Call call{"igammac", loc};
  return Apply(ScalarOp::kIgammac, PromoteFloat({a, x}, call), options, call);
}
Array igamma_grad_a(Operand a, Operand x, OutOptions options, Loc loc) {
  const Call call{"igamma_grad_a", loc};
  return Apply(ScalarOp::kIgammaGradA, PromoteFloat({a, x}, call), options, call);
}
Array random_gamma_grad(Operand a, Operand x, OutOptions options, Loc loc) {
  const Call call{"random_gamma_grad", loc};
  return Apply(ScalarOp::kRandomGammaGrad, PromoteFloat({a, x}, call), options, call);
}
Array betainc(Operand a, Operand b, Operand x, OutOptions options, Loc loc) {
  const Call call{"betainc", loc};
  return Apply(ScalarOp::kBetainc, PromoteFloat({a, b, x}, call), options, call);
}
Array expn(Operand n, Operand x, OutOptions options, Loc loc) {
  const Call call{"expn", loc};
  return Apply(ScalarOp::kExpn, PromoteFloat({n, x}, call), options, call);
}

}  // namespace tessera
