// Vectors of rows of elements, compiled once per target.
#if defined(TESSERA_SIMD_ROWS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_ROWS_H_
#undef TESSERA_SIMD_ROWS_H_
#else
#define TESSERA_SIMD_ROWS_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "kernels/elements/simd_formats.h"
#include "tessera/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

// Vectors of the lanes of D, loaded from and stored to elements T.
template <class T, class D>
struct RowLanes {
  using A = hn::TFromD<D>;
  using Format = std::conditional_t<std::is_same_v<T, Float16>, HalfFormat, BrainFormat>;
  static HWY_INLINE hn::Vec<D> Load(const T* in) {
    if constexpr (std::is_same_v<T, A>)
      return hn::LoadU(D(), in);
    else
      return LoadFloats(Format(), D(), reinterpret_cast<const uint16_t*>(in));
  }
  static HWY_INLINE void Store(hn::Vec<D> v, T* out) {
    if constexpr (std::is_same_v<T, A>)
      hn::StoreU(v, D(), out);
    else
      StoreFloats(Format(), D(), v, reinterpret_cast<uint16_t*>(out));
  }
};

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TESSERA_SIMD_ROWS_H_
