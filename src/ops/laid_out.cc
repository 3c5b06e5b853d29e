// Literals.
#include "ops/laid_out.h"

#include <absl/algorithm/container.h>

#include <type_traits>

#include "base/dtype.h"
#include "kernels/reduce/reduce_elements.h"

namespace tessera::ops {

ir::ParamsPtr LiteralOf(const ir::HostTensor& one) {
  Literal literal{one.dtype, 0};
  absl::c_copy(one.data, reinterpret_cast<std::byte*>(&literal.bits));
  return ir::MakeParams(ConstantParams{literal});
}
ir::ParamsPtr LiteralOf(int64_t n) {
  ir::HostTensor one(i64, {1});
  one.SetInt(0, n);
  return LiteralOf(one);
}

ir::ParamsPtr IdentityOf(Reduction r, DType t) {
  ir::HostTensor one(t, {1});
  base::VisitDType(t, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>)
      one.SetInt(0, static_cast<int64_t>(kernels::ReductionIdentity<T>(r)));
    else
      one.SetFloat(0, kernels::ReductionIdentity<double>(r));
  });
  return LiteralOf(one);
}

}  // namespace tessera::ops
