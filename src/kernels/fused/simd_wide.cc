// Arithmetic kernels of 64-bit lanes.
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused/simd_wide.cc"
#include <hwy/foreach_target.h>
// Highway requires this order of includes: the targets first.
#include "kernels/fused/kernel_table.h"
#include "kernels/fused/simd_ops.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

void AddWideOpsImpl(KernelTable& t) {
  AddFloatOps<double>(t);
  AddCommonOps<int64_t>(t);
  AddCommonOps<uint64_t>(t);
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
HWY_EXPORT(AddWideOpsImpl);
void AddWideOps(KernelTable& table) { HWY_DYNAMIC_DISPATCH(AddWideOpsImpl)(table); }
}  // namespace tessera::kernels
#endif
