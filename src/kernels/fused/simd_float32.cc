// Transcendental kernels of f32.
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fused/simd_float32.cc"
#include <hwy/foreach_target.h>
// Highway requires this order of includes: the targets first.
#include "kernels/fused/kernel_table.h"
#include "kernels/fused/simd_erf.h"
#include "kernels/fused/simd_lgamma.h"
#include "kernels/fused/simd_math.h"

HWY_BEFORE_NAMESPACE();

// SLEEF's header declares only the functions of the build's baseline, so we declare the others.
// SLEEF's functions are accurate to 1 ulp, and agree with libm for all special and large arguments.
#if HWY_TARGET == HWY_AVX3
#define TESSERA_SLEEF(name) Sleef_##name##f16_u10avx512f
#define TESSERA_SLEEF_VECTOR __m512
#elif HWY_TARGET == HWY_AVX2
#define TESSERA_SLEEF(name) Sleef_##name##f8_u10avx2
#define TESSERA_SLEEF_VECTOR __m256
#else
#define TESSERA_SLEEF(name) Sleef_##name##f4_u10sse4
#define TESSERA_SLEEF_VECTOR __m128
#endif
extern "C" {
TESSERA_SLEEF_VECTOR TESSERA_SLEEF(tan)(TESSERA_SLEEF_VECTOR);
TESSERA_SLEEF_VECTOR TESSERA_SLEEF(cbrt)(TESSERA_SLEEF_VECTOR);
TESSERA_SLEEF_VECTOR TESSERA_SLEEF(pow)(TESSERA_SLEEF_VECTOR, TESSERA_SLEEF_VECTOR);
}

namespace tessera::kernels::HWY_NAMESPACE {

template <TESSERA_SLEEF_VECTOR (*kFunction)(TESSERA_SLEEF_VECTOR)>
void SleefBlock(const Instr&, const Context&, size_t, size_t n, std::byte* acc) {
  float* p = reinterpret_cast<float*>(acc);
  for (size_t i = 0; i < n; i += hn::Lanes(Raw())) {
    const RawVec x = hn::LoadU(Raw(), p + i);
    hn::StoreU(RawVec{kFunction(x.raw)}, Raw(), p + i);
  }
}
void PowBlock(const Instr& instr, const Context& c, size_t index, size_t n, std::byte* acc) {
  float* p = reinterpret_cast<float*>(acc);
  auto y = reinterpret_cast<const float*>(EffectiveAddress(c, instr.a, index));
  for (size_t i = 0; i < n; i += hn::Lanes(Raw())) {
    const RawVec x = hn::LoadU(Raw(), p + i), by = hn::LoadU(Raw(), y + i);
    hn::StoreU(RawVec{TESSERA_SLEEF(pow)(x.raw, by.raw)}, Raw(), p + i);
  }
}

void AddFloat32MathImpl(KernelTable& t) {
  using enum plan::ScalarOp;
  AddVectorMath<float>(t);
  BlockFn* math = t.vector_math[static_cast<int>(Lane::kF32)];
  math[CodeOf(kTan)] = &SleefBlock<&TESSERA_SLEEF(tan)>;
  math[CodeOf(kCbrt)] = &SleefBlock<&TESSERA_SLEEF(cbrt)>;
  math[CodeOf(kPow)] = &PowBlock;
  AddMath<float, LgammaF32>(t, kLgamma);
  AddUnary<float, ExpF32>(t, CodeOf(kExp));
  AddUnary<float, Exp2F32>(t, CodeOf(kExp2));
  AddUnary<float, LogisticF32>(t, CodeOf(kLogistic));
  AddUnary<float, TanhF32>(t, CodeOf(kTanh));
  AddUnary<float, ErfF32>(t, CodeOf(kErf));
  AddUnary<float, ErfcF32>(t, CodeOf(kErfc));
  AddUnary<float, ErfInvF32>(t, CodeOf(kErfInv));
}

#undef TESSERA_SLEEF
#undef TESSERA_SLEEF_VECTOR

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {
HWY_EXPORT(AddFloat32MathImpl);
void AddFloat32Math(KernelTable& table) { HWY_DYNAMIC_DISPATCH(AddFloat32MathImpl)(table); }
}  // namespace tessera::kernels
#endif
