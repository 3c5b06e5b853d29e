// Transcendental kernels of f64.
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused/simd_float64.cc"
#include <hwy/foreach_target.h>
// Highway requires this order of includes: the targets first.
#include "kernels/fused/kernel_table.h"
#include "kernels/fused/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

void AddFloat64MathImpl(KernelTable& t) {
  using enum plan::ScalarOp;
  AddVectorMath<double>(t);
  AddMath<double, VecTanh>(t, kTanh);
  t.vector_math[static_cast<int>(Lane::kF64)][CodeOf(kErfInv)] = &PlainBlock<double, ErfInvF64>;
  AddUnary<double, ExpF64>(t, CodeOf(kExp));
  AddUnary<double, LogisticF64>(t, CodeOf(kLogistic));
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
HWY_EXPORT(AddFloat64MathImpl);
void AddFloat64Math(KernelTable& table) { HWY_DYNAMIC_DISPATCH(AddFloat64MathImpl)(table); }
}  // namespace tessera::kernels
#endif
