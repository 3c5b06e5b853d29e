// Chooses the type of a product, and converts its results.
#include "kernels/gemm/gemm_types.h"

#include "base/dtype.h"
#include "base/sum_order.h"
#include "kernels/gemm/gemm_dnnl.h"

namespace tessera::kernels {

int64_t ItemSize(GemmType type) {
  switch (type) {
    case GemmType::kF64:
    case GemmType::kI64:
    case GemmType::kC64:
      return 8;
    case GemmType::kC128:
      return 16;
    case GemmType::kBF16:
    case GemmType::kBF16ToF32:
      return 2;
    default:
      return 4;
  }
}

GemmType GemmTypeOf(DType lhs, DType rhs, DType out) {
  for (DType d : {lhs, rhs, out})
    if (d == c128) return GemmType::kC128;
  for (DType d : {lhs, rhs, out})
    if (d == c64) return GemmType::kC64;
  for (DType d : {lhs, rhs, out})
    if (d == f64) return GemmType::kF64;
  if (lhs == bf16 && rhs == bf16 && (out == bf16 || out == f32) && HasBFloat16Gemm() &&
      !base::KeepsSumOrder())
    return out == bf16 ? GemmType::kBF16 : GemmType::kBF16ToF32;
  for (DType d : {lhs, rhs, out})
    if (d.is_floating()) return GemmType::kF32;
  // Products wrap, so operands with more bits than the result may be cut to its size.
  return out.size() == 8 ? GemmType::kI64 : GemmType::kI32;
}

bool IsReadAs(DType dtype, GemmType type) {
  switch (type) {
    case GemmType::kF32:
      return dtype == f32;
    case GemmType::kF64:
      return dtype == f64;
    case GemmType::kI32:
      return dtype == i32 || dtype == u32;
    case GemmType::kI64:
      return dtype == i64 || dtype == u64;
    case GemmType::kC64:
      return dtype == c64;
    case GemmType::kC128:
      return dtype == c128;
    default:
      return dtype == bf16;
  }
}

bool IsWrittenAs(DType out, GemmType type) {
  if (type == GemmType::kBF16) return out == bf16;
  if (type == GemmType::kBF16ToF32) return out == f32;
  return IsReadAs(out, type);
}

void ConvertProducts(GemmType type, DType dtype, const std::byte* in, std::byte* out, int64_t n) {
  base::VisitElement(dtype, [&](auto to) {
    using To = decltype(to);
    VisitRead(ResultType(type), [&](auto from) {
      using From = decltype(from);
      if constexpr (!std::is_same_v<From, BFloat16>) {
        const From* v = reinterpret_cast<const From*>(in);
        To* w = reinterpret_cast<To*>(out);
        for (int64_t k = 0; k < n; ++k) {
          if constexpr (kIsComplex<From> || kIsComplex<To>)
            w[k] = CastComplex<To>(v[k]);
          else
            w[k] = To(Cast<Compute<To>>(v[k]));
        }
      }
    });
  });
}

}  // namespace tessera::kernels
