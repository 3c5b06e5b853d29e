// Transcendental kernels of f32.
#include "kernels/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd_float32.cc"
#include <hwy/foreach_target.h>
// Highway's order of includes: the targets first.
#include "kernels/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

void AddFloat32MathImpl(KernelTable& t) {
  using enum plan::ScalarOp;
  AddVectorMath<float>(t);
  AddUnary<float, ExpF32>(t, CodeOf(kExp));
  AddUnary<float, Exp2F32>(t, CodeOf(kExp2));
  AddUnary<float, LogisticF32>(t, CodeOf(kLogistic));
  AddUnary<float, TanhF32>(t, CodeOf(kTanh));
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
HWY_EXPORT(AddFloat32MathImpl);
void AddFloat32Math(KernelTable& table) { HWY_DYNAMIC_DISPATCH(AddFloat32MathImpl)(table); }
}  // namespace tessera::kernels
#endif
