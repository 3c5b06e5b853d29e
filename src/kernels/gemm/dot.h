// Matrix products over contracting dims.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// in[0] [lhs], in[1] [rhs] -> out[0] [batch..., lhs free..., rhs free...]: products summed
// over the contracting dims. Floats accumulate in f32 or wider; integers wrap in the dtype of
// `out`. Operands are first converted to the wider of their own dtype and the dtype of out. bool is
// not allowed.
struct DotDesc {
  DType lhs_dtype, rhs_dtype, out_dtype;
  Shape lhs, rhs;
  std::vector<int64_t> lhs_contract, rhs_contract, lhs_batch, rhs_batch;
};
plan::Kernel DotGeneral(const DotDesc& desc);

}  // namespace tessera::kernels
