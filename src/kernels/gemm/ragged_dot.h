// Products of groups of rows, whose numbers are data.
#pragma once
#include <vector>

#include "kernels/kernel.h"

namespace tessera::kernels {

// Sizes are of all groups of all rows. A negative one counts as 0, and sizes beyond the last row
// are cut.
struct RaggedDotDesc {
  DType lhs_dtype, rhs_dtype, sizes_dtype, out_dtype;
  int64_t batch = 1, m = 0, k = 0, n = 0, groups = 0;  // held here
  int64_t all_rows = 0, all_groups = 0;
  // per device: the first row, and the first group, that is held; empty: all are held
  std::vector<int64_t> row_begins, group_begins;
};
// in[0] lhs [batch, m, k], in[1] rhs [batch, groups, k, n], in[2] sizes [batch, all_groups] ->
// [batch, m, n]: each row of a group times the group's matrix, and 0 for rows of no group held
// here.
plan::Kernel RaggedDot(const RaggedDotDesc& desc);
// in[0] lhs [batch, m, k], in[1] rhs [batch, m, n], in[2] sizes [batch, all_groups] ->
// [batch, groups, k, n]: the products of the columns of lhs and rhs, summed over each group's rows.
plan::Kernel RaggedOuterDot(const RaggedDotDesc& desc);

}  // namespace tessera::kernels
