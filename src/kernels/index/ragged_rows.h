// Rows that devices send to each other in slices, whose sizes are data.
#pragma once
#include <cstdint>

#include "kernels/kernel.h"

namespace tessera::kernels {

// Positions of a group of devices send slices of `operand_rows` rows to positions, which write them
// to `output_rows` rows. Of a position there are four lists: the first row of each slice in its
// operand, the number of rows, the first row in the receiver's output, and the number of rows that
// this position receives in each slice. Equal shares of the slices, in order, are for the positions
// in order.
struct RaggedRowsDesc {
  int64_t batch = 1, positions = 1, slices = 1;
  int64_t receivers = 1;  // each of an equal share of the batch elements
  int64_t operand_rows = 0, output_rows = 0;
};
// in[0] i64 [batch, positions, 4, slices], in[1] i32 [receivers]: their positions ->
// i64 [batch, output_rows]: for each row of its output the row that is written there, counted
// through the operands of all positions, or -1. Of several the last one in the order of the senders
// is written. C40: throws RuntimeError if rows of any position are not in its operand or in the
// receiver's output, or if sender and receiver disagree.
plan::Kernel RaggedRows(const RaggedRowsDesc& desc);

}  // namespace tessera::kernels
