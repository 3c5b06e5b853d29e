// Matrix products through OpenBLAS and oneDNN, in the calling thread only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tessera::kernels {

enum class GemmType : uint8_t { kF32, kF64, kBF16, kBF16ToF32, kI32, kI64, kC64, kC128 };

// c[m, n] = a[m, k] * b[k, n]. The rows of c are dense. Strides are in elements; for each operand
// one of the two is 1.
struct GemmDesc {
  GemmType type = GemmType::kF32;
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_col = 1, b_row = 0, b_col = 1, c_row = 0;
};

// A product that is prepared once per shape. Any number of threads may run it at the same time. If
// base::KeepsSumOrder when it is made, the bits of an element depend on its row and column alone.
inline constexpr int64_t kGemmCut = 64;
class Gemm {
 public:
  explicit Gemm(const GemmDesc& desc);
  ~Gemm();
  // Whether rows of c have the same bits however the product is cut into calls at multiples of
  // kGemmCut. If not, a caller that needs the same bits must always cut in the same way.
  bool rows_compose() const;
  // Multiplies `m` rows of a by `n` columns of b, which may be fewer than in the desc.
  void Run(int64_t m, int64_t n, const void* a, const void* b, void* c) const;

 private:
  class Dnnl;
  GemmDesc desc_;
  bool in_order_ = false;       // sums have one order, whatever m and n
  std::unique_ptr<Dnnl> dnnl_;  // null: another library is faster
};

}  // namespace tessera::kernels
