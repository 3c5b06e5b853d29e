// oneDNN's products of f32 and bf16.
#pragma once
#include <memory>
#include <vector>

#include "kernels/gemm/gemm.h"

namespace tessera::kernels {

struct DnnlPrimitive;

// Primitives are created for one number of rows and columns. Those for other cuts are created when
// they are first used.
class DnnlGemm {
 public:
  explicit DnnlGemm(const GemmDesc& desc);
  ~DnnlGemm();
  DnnlGemm(const DnnlGemm&) = delete;
  void Run(int64_t m, int64_t n, const void* a, const void* b, void* c) const;

 private:
  std::shared_ptr<const DnnlPrimitive> Find(int64_t m, int64_t n) const;

  const GemmDesc desc_;
  mutable std::vector<std::shared_ptr<const DnnlPrimitive>> primitives_;
};

// Whether the bits of a product's row are the same for every cut of its rows (Gemm::rows_compose).
bool DnnlRowsCompose();
// Whether a library multiplies bf16. If not, the caller converts to f32.
bool HasBFloat16Gemm();

}  // namespace tessera::kernels
