// Every kernel factory. Each returns a plan::Kernel for fixed local shapes; all buffers are dense
// and row-major, all sizes are in elements unless a name says bytes. A factory never fails on valid
// shapes; sizes 0 are valid. Kernels are deterministic: their bits do not depend on `parts`.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "plan/fused.h"
#include "plan/plan.h"

namespace tessera::kernels {

using base::Shape;

// An elementwise group, with or without row reductions (see plan/fused.h).
plan::Kernel Fused(const plan::FusedDesc& desc);

// out = reduction of in over `dims`, the kept dims in order. Float sums and products of f16 and
// bf16 accumulate in f32 and are rounded once; integers wrap; kMax and kMin propagate NaN.
// The reduction of no elements is its identity (max: -inf or the lowest value).
plan::Kernel Reduce(DType dtype, const Shape& shape, const std::vector<int64_t>& dims,
                    Reduction reduction);

// What combines the pieces of an exchange. f16 and bf16 are combined in f32 and rounded once;
// integers wrap; kMax and kMin propagate NaN and order -0 below +0; bool has kSum and kMax = or,
// kProd and kMin = and. The result may be the first source's buffer. Null where the dtype does not
// have the reduction (kAnd and kOr of floats).
plan::CombineFn Combiner(DType dtype, Reduction reduction);

// Index (of dtype `index`) of the first largest (or smallest) element along `dim`, which is
// dropped; a NaN beats numbers, the first one wins. Out-of-range only if the dim is empty.
plan::Kernel ArgReduce(DType dtype, DType index, const Shape& shape, int64_t dim, bool largest);

// Running reduction along `dim`, inclusive; from the end if `reverse`. kSum, kProd, kMax, kMin.
plan::Kernel Cumulative(DType dtype, const Shape& shape, int64_t dim, Reduction reduction,
                        bool reverse);
// The same of log(sum(exp(x))), of floats.
plan::Kernel CumulativeLogSumExp(DType dtype, const Shape& shape, int64_t dim, bool reverse);

// in[0] [lhs], in[1] [rhs] -> out[0] [batch..., lhs free..., rhs free...]: products summed over
// the contracting dims. Accumulates floats in f32 or wider, integers wrapping in `out`'s dtype;
// operands are converted to the wider of their and out's dtype first. bool is not an operand.
struct DotDesc {
  DType lhs_dtype, rhs_dtype, out_dtype;
  Shape lhs, rhs;
  std::vector<int64_t> lhs_contract, rhs_contract, lhs_batch, rhs_batch;
};
plan::Kernel DotGeneral(const DotDesc& desc);

// out[i0, i1, ...] = in[in_offset + sum(i_d * in_strides[d])] at out_offset + sum(i_d *
// out_strides[d]) for all i in `box`. Strides may be 0 or negative. Covers transpose, slice,
// broadcast, reverse. `itemsize` is 1, 2, 4 or 8 bytes. If the box does not cover the output, the
// rest is filled with the element at in[1][0] when `fill`, else left as it is.
struct CopyDesc {
  int32_t itemsize = 4;
  Shape box, in_strides, out_strides;
  int64_t in_offset = 0, out_offset = 0;
  int64_t out_size = 0;  // elements of out
  bool fill = false;     // takes in[1], a scalar
};
plan::Kernel Copy(const CopyDesc& desc);

// As Copy, but the offsets are those of the instance's device: in_offsets[device] is added to
// in_offset, out_offsets[device] to out_offset. Either table may be empty. A device whose `skip`
// entry is set only fills. Covers all_slice and the making of unreduced values.
struct DeviceCopyDesc {
  CopyDesc copy;
  std::vector<int64_t> in_offsets, out_offsets;
  std::vector<bool> skip;
};
plan::Kernel DeviceCopy(const DeviceCopyDesc& desc);

// All of in[0]; nothing to do if out is the same buffer.
plan::Kernel CopyWhole(int64_t bytes);

// in[k] with shapes[k] joined along `dim`.
plan::Kernel Concatenate(int32_t itemsize, const std::vector<Shape>& shapes, int64_t dim);

// Moves the elements of a dim on by `shift`, 0 <= shift < its size; the last ones to its front.
plan::Kernel Roll(int32_t itemsize, const Shape& shape, int64_t dim, int64_t shift);

// A window on what is held of an array [shape], whose start is known at run time. Starts are
// clamped so that it lies inside of the whole array. (Negative ones have been wrapped by the op.)
struct WindowDesc {
  int32_t itemsize;
  DType index;                               // of the scalar starts, one per dim
  Shape shape, sizes;                        // what is held, and the window
  std::vector<int64_t> last;                 // per dim: the last start inside of the whole
  std::vector<std::vector<int64_t>> begins;  // per dim and device: of what is held; empty: at 0
};

// in[0] [shape], in[1..] starts -> [sizes]; what the device does not hold of it is zero.
plan::Kernel DynamicSlice(const WindowDesc& window);

// in[0] [shape], in[1] [sizes], in[2..] starts -> in[0] with that part of the window replaced by
// in[1] which the device holds.
plan::Kernel DynamicUpdateSlice(const WindowDesc& window);

// Where slices of a dense operand lie, in the parts of a device. A slice begins where a vector
// along the last dim of the indices says; the loops over these vectors are the queries. `slices`
// are the result of a gather or the updates of a scatter.
struct LookupDesc {
  struct Dim {                             // of the operand
    int64_t size = 1, stride = 0;          // of what is held here
    int64_t window = 1, slice_stride = 0;  // how long slices are along it, and their stride
    int64_t entry = -1;                    // of an index vector: where a slice begins; -1: at 0
    int64_t last = 0;             // where the last slice inside of the whole dim begins; -1: none
    int64_t query = -1;           // the query whose position this is: there is no slice along it
    std::vector<int64_t> begins;  // per device: of what is held; empty: the whole
  };
  struct Query {
    int64_t size = 1, index_stride = 0, slice_stride = 0;
    int64_t whole = 1;            // those of all devices
    std::vector<int64_t> begins;  // per device: the first one held; empty: all are
  };
  DType dtype, index;
  bool clip = false;    // slices begin at the nearest place inside; else those outside are dropped
  int64_t entries = 0;  // of an index vector
  std::vector<bool> leads;  // per device, of those whose results are combined: one of them; or all
  std::vector<Dim> dims;
  std::vector<Query> queries;
};

// in[0] [operand], in[1] [queries..., entries] -> slices. What other devices hold gives 0 (of
// floats -0), so that the sum over devices is the answer. Slices outside give `fill`, the bits of
// an element, on devices that lead and 0 elsewhere.
plan::Kernel Gather(const LookupDesc& desc, uint64_t fill);

// in[0] [operand], in[1] [queries..., entries], in[2] slices -> the operand with slices combined
// into it, in the order of the queries; without a reduction they are set. What other devices hold
// is left out. Devices that do not lead combine them into the reduction's identity instead.
plan::Kernel Scatter(const LookupDesc& desc, std::optional<Reduction> reduction);

// Sorts all operands (of one shape) along `dim` by the first `num_keys` of them, lexicographically,
// stable. NaN sorts last; -0 and +0 are equal. `descending` reverses the order of unequal keys;
// equal ones keep theirs.
plan::Kernel Sort(const std::vector<DType>& dtypes, const Shape& shape, int64_t dim,
                  int64_t num_keys, bool descending);

// The k largest along the last dim, and their indices (dtype `index`): NaN first, -0 below +0,
// equal elements in index order.
plan::Kernel TopK(DType dtype, DType index, const Shape& shape, int64_t k);

// in[0], in[1], in[2] [..., n]: the diagonals below, on and above the main one of matrices; in[3] b
// [..., n, k] -> x with matrix x = b, f32 or f64. Partial pivoting; NaN where a matrix is singular.
// in[0] of a first row and in[2] of a last one are not read.
plan::Kernel TridiagonalSolve(DType dtype, const Shape& b);

// Starts choosing kernels for the CPU (OpenBLAS's core type included). Called once, thread-safe.
void Initialize();

}  // namespace tessera::kernels
