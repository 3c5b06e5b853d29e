// Transforms along several dims. Some may be sharded.
#pragma once
#include <vector>

#include "api/core/operands.h"

namespace tessera::api {

// One transform along a dim.
struct FourierPass {
  const ir::OpDef* op;
  int64_t dim = 0, n = 1;
  int64_t reads = 1;  // elements along the dim; those of the array are cut, or zeros follow them
  // Runs before, or after, all other passes: rfft and irfft, whose other side is real.
  bool is_first = false, is_last = false;
};

// Returns x after all passes, in an order of its own. Dims that are whole are transformed first.
// The axes of other dims move to another dim before its pass, if `to` is given: by the moves that
// cost least, in bytes and work, until the result is laid out as `to` says. A dim that gets axes
// that do not divide it has zeros after its elements until it is whole again. A dim is cut or
// extended for its own pass first if its shards divide the size, else when it is whole.
Array RunPasses(const Array& x, std::vector<FourierPass> passes,
                const std::optional<PartitionSpec>& to, Call call);

}  // namespace tessera::api
