// Converts a reduction over any dims to one of a few forms, and makes the kernel of that form.
#include "kernels/reduce/reduce.h"

#include <absl/algorithm/container.h>

#include "base/dtype.h"
#include "base/sum_order.h"
#include "kernels/fused/fused.h"
#include "kernels/reduce/reduce_columns.h"
#include "kernels/reduce/reduce_mixed.h"

namespace tessera::kernels {
namespace {

using plan::FusedNode;

// Joins neighbouring dims. Where sums have one order, its form may not depend on the sizes of kept
// dims: [24, 1] is summed over its rows as [24, 8] is.
ReduceShape Simplify(const Shape& shape, const std::vector<int64_t>& dims) {
  ReduceShape out;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool reduced = absl::c_linear_search(dims, static_cast<int64_t>(d));
    if (shape[d] == 1 && (reduced || !base::KeepsSumOrder())) continue;
    if (!out.sizes.empty() && out.reduced.back() == reduced) {
      out.sizes.back() *= shape[d];
    } else {
      out.sizes.push_back(shape[d]);
      out.reduced.push_back(reduced);
    }
  }
  return out;
}

// Reduces [rows, n] over the last dim. If `reduces` is false, n is 1 and the kernel copies.
plan::Kernel ReduceRows(DType dtype, Reduction reduction, int64_t rows, int64_t n, bool reduces) {
  plan::FusedDesc desc;
  FusedNode input{};
  input.kind = FusedNode::kInput;
  input.dtype = dtype;
  input.input = 0;
  desc.nodes.push_back(input);
  if (reduces) {
    FusedNode node{};
    node.kind = FusedNode::kReduce;
    node.dtype = dtype;
    node.reduction = reduction;
    node.args[0] = 0;
    desc.nodes.push_back(node);
    desc.dims = {rows, n};
    desc.reduced = 1;
    desc.inputs = {{dtype, {n, 1}, -1}};
    desc.outputs = {{dtype, {1, 0}, 1}};
  } else {
    desc.dims = {rows};
    desc.inputs = {{dtype, {1}, -1}};
    desc.outputs = {{dtype, {1}, 0}};
  }
  return Fused(desc);
}

}  // namespace

plan::Kernel Reduce(DType dtype, const Shape& shape, const std::vector<int64_t>& dims,
                    Reduction reduction) {
  ReduceShape s = Simplify(shape, dims);
  const size_t rank = s.sizes.size();
  if (dtype.is_complex() && reduction == Reduction::kSum && rank > 0 && !s.reduced.back()) {
    s.sizes.back() *= 2;  // both parts are columns of their own
    dtype = base::PartOf(dtype);
  }
  if (rank == 0) return ReduceRows(dtype, reduction, 1, 1, false);
  if (!plan::ReducesInGroup(dtype, reduction) && s.reduced.back())
    return ReduceMixed(dtype, reduction, s);
  if (rank == 1) {
    return s.reduced[0] ? ReduceRows(dtype, reduction, 1, s.sizes[0], true)
                        : ReduceRows(dtype, reduction, s.sizes[0], 1, false);
  }
  if (rank == 2 && s.reduced[1]) return ReduceRows(dtype, reduction, s.sizes[0], s.sizes[1], true);
  if (rank == 2) return ReduceColumns(dtype, reduction, 1, s.sizes[0], s.sizes[1]);
  if (rank == 3 && s.reduced[1])
    return ReduceColumns(dtype, reduction, s.sizes[0], s.sizes[1], s.sizes[2]);
  return ReduceMixed(dtype, reduction, s);
}

}  // namespace tessera::kernels
