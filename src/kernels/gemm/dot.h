// Products summed over contracting dims.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// in[0] [lhs], in[1] [rhs] -> out[0] [batch..., lhs free..., rhs free...]: products summed over
// the contracting dims. Accumulates floats in f32 or wider, integers wrapping in `out`'s dtype;
// operands are converted to the wider of their and out's dtype first. bool is not an operand.
struct DotDesc {
  DType lhs_dtype, rhs_dtype, out_dtype;
  Shape lhs, rhs;
  std::vector<int64_t> lhs_contract, rhs_contract, lhs_batch, rhs_batch;
};
plan::Kernel DotGeneral(const DotDesc& desc);

}  // namespace tessera::kernels
