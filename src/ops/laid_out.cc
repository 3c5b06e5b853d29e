// Literals.
#include "ops/laid_out.h"

#include <absl/algorithm/container.h>

#include <type_traits>

#include "base/dtype.h"
#include "kernels/reduce/reduce_elements.h"

namespace tessera::ops {

ir::ParamsPtr LiteralOf(const ir::HostTensor& one) {
  Literal literal{one.dtype, {}};
  absl::c_copy(one.data, literal.bits.data());
  return ir::MakeParams(ConstantParams{literal});
}
ir::ParamsPtr LiteralOf(int64_t n) {
  ir::HostTensor one(i64, {1});
  one.SetInt(0, n);
  return LiteralOf(one);
}

ir::ParamsPtr IdentityOf(Reduction r, DType t) {
  ir::HostTensor one(t, {1});
  base::VisitDType(base::PartOf(t), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>)
      one.SetInt(0, static_cast<int64_t>(kernels::ReductionIdentity<T>(r)));
    else
      one.SetFloat(0, kernels::ReductionIdentity<double>(r));
    // A sum with -0 keeps the sign of a zero, also of an imaginary part.
    if (t.is_complex() && r != Reduction::kProd) one.SetComplex(0, {one.Float(0), one.Float(0)});
  });
  return LiteralOf(one);
}

}  // namespace tessera::ops
