// Some iterations of a masked loop, without the columns that the mask hides in all of them.
//
// After the mask, all hidden columns of a row hold the same number r, and so do the values computed
// from them by element. One column then stands for all n hidden ones:
//   sum(row)    = sum(visible) + n * r
//   max(row)    = max(max(visible), r)
//   row @ V     = visible @ V[visible] + n * r * mean(V[hidden])
// The mean stands for hidden columns that differ wherever the sum is linear in them:
//   sum(row * (g @ V.T)) = sum(visible) + n * r * (g @ mean(V[hidden]).T)
// A carry with columns is a sum over the iterations. The loop adds to its visible columns, and adds
// the one hidden column up beside them. The results are those of all columns up to rounding. They
// are so for a mask of any number, for rows with no visible column, and where V holds NaN.
#pragma once
#include <optional>
#include <vector>

#include "spmd/blocks/loop_columns.h"
#include "spmd/blocks/writer.h"

namespace tessera::spmd {

// Iterations [begin, end) of a loop, and the columns that are visible in some of them.
struct LoopPart {
  int64_t begin = 0, end = 0;
  Columns visible = {};
  int64_t iterations() const { return end - begin; }
};

// Adds a loop that runs one part of `loop` to `out`, and returns its results; stacked ones have a
// slice per iteration of the part. `bounds`: on the values of the body in these iterations.
// `carries`: the carried values before them. Returns nothing if hidden columns of a row may differ.
std::optional<std::vector<ir::ValueId>> AddPart(Writer& out, const ir::Instruction& loop,
                                                const LoopColumns& columns, const LoopPart& part,
                                                const ValueBounds& bounds,
                                                const std::vector<ir::ValueId>& carries);

}  // namespace tessera::spmd
