// Ragged arrays: groups of different numbers of rows, one after the other along a dim. The sizes
// are data, so the shapes of arrays do not depend on them.
#pragma once
#include <optional>

#include "tessera/ops.h"
#include "tessera/shard_map.h"

namespace TESSERA_PUBLIC tessera {

// The dims of ragged_dot_general. Groups are runs of the dim `lhs_ragged` of lhs.
struct RaggedDotDims {
  DotDims dot = {};
  int64_t lhs_ragged = 0;
  std::optional<int64_t> rhs_group = {};  // of rhs, if lhs_ragged is a free dim of lhs
};

// Returns the product of each group of rows of lhs with its own matrix: lhs [m, k], rhs [g, k, n],
// group_sizes [g], ints -> [m, n]. The first group_sizes[0] rows are multiplied by rhs[0], and so
// on. Rows after the last group are 0, and sizes beyond the last row are cut; a negative size
// counts as 0. Dtypes are as in dot_general.
//
// The groups may be sharded: if g is, each device multiplies the rows of its groups, and the
// results are summed, as over a sharded k; both need an out_sharding. If m is, each device
// multiplies its rows. group_sizes must be whole. Derivatives are with respect to lhs and rhs.
Array ragged_dot(Operand lhs, Operand rhs, Operand group_sizes, DotOptions options = {},
                 Loc loc = Loc::Current());
// Same, with any batch, contracting and free dims. group_sizes are [g], or [x..., g] for each
// index of the dims x... of lhs: its batch dims, then the dims of the kind of the ragged dim that
// precede it. By the kind of the ragged dim, the result is
// * free: products with the matrix of each group, [batch..., lhs free..., rhs free...]; groups run
//   along the dim rhs_group of rhs;
// * contracting: one product per group, [g, batch..., lhs free..., rhs free...];
// * batch: the products of dot_general. As in JAX, the sizes change nothing.
Array ragged_dot_general(Operand lhs, Operand rhs, Operand group_sizes, RaggedDotDims dims,
                         DotOptions options = {}, Loc loc = Loc::Current());

// A collective inside shard_map: returns `output` [n, ...] with rows that the devices of the group
// send, for `operand` [m, ...] of the same dtype. The other operands are ints [slices], where
// `slices` is a multiple of the group's size, and position i of the group owns the i-th share of
// them. Slice s sends the rows operand[input_offsets[s]], ... as many as send_sizes[s], to the
// device that owns s, where they are written at output_offsets[s], of the sender. recv_sizes[s] is
// the number of rows that this device receives from the owner of s. Rows that nothing is written to
// keep the values of output. The result varies over the axes.
//
// Every device gathers the rows of the group and takes its own. Negative sizes, sizes beyond the
// operand or the output, and recv_sizes that differ from the sender's send_sizes are a
// RuntimeError when the program runs. Linear in operand and output.
Array ragged_all_to_all(Operand operand, Operand output, Operand input_offsets, Operand send_sizes,
                        Operand output_offsets, Operand recv_sizes, AxisSet axes,
                        Loc loc = Loc::Current());

}  // namespace tessera
