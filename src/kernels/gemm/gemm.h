// Matrix products of one type over OpenBLAS and oneDNN, in the calling thread only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tessera::kernels {

enum class GemmType : uint8_t { kF32, kF64, kBF16, kBF16ToF32, kI32, kI64 };

// c[m, n] = a[m, k] * b[k, n]; c is dense in its rows. Strides in elements; of either operand's
// two, one is 1.
struct GemmDesc {
  GemmType type = GemmType::kF32;
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_col = 1, b_row = 0, b_col = 1, c_row = 0;
};

// Made once per shape; any number of threads may run it at the same time.
inline constexpr int64_t kGemmCut = 64;
class Gemm {
 public:
  explicit Gemm(const GemmDesc& desc);
  ~Gemm();
  // Whether rows of c have the same bits however the product is cut into calls along multiples of
  // kGemmCut. Where they have not, a caller who wants the same bits must always cut alike.
  bool rows_compose() const;
  // Products of `m` rows of a and `n` columns of b, which need not be those of the desc.
  void Run(int64_t m, int64_t n, const void* a, const void* b, void* c) const;

 private:
  class Dnnl;
  GemmDesc desc_;
  std::unique_ptr<Dnnl> dnnl_;  // null: another library is the better one
};

}  // namespace tessera::kernels
