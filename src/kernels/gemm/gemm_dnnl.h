// oneDNN's products of f32 and bf16.
#pragma once
#include <memory>
#include <vector>

#include "kernels/gemm/gemm.h"

namespace tessera::kernels {

struct DnnlPrimitive;

// Primitives are made for one number of rows and columns; those of other cuts are added when they
// are first asked for.
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

// Whether a row of a product has the same bits in any cut of its rows (Gemm::rows_compose).
bool DnnlRowsCompose();
// Whether a library multiplies bf16; if not, the caller converts to f32.
bool HasBFloat16Gemm();

}  // namespace tessera::kernels
