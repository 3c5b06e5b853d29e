// vmap of a program: one more dim of its inputs.
#pragma once
#include "ir/program.h"

namespace tessera::transforms {

struct Batch {
  // The program of all lanes: mapped inputs and outputs have the dim in front.
  ir::Program program;
  std::vector<bool> mapped;  // per output: whether it has the dim
};

// Returns the program with the batch dim in front of inputs that are true in `inputs`, and of
// outputs that depend on them or are true in `wanted`. Captures do not get the dim. Throws
// ShardingError if a mapped value is already sharded over the axes of the dim.
Batch MakeBatch(const ir::Program& program, const std::vector<bool>& inputs,
                const std::vector<bool>& wanted, const ir::MappedDim& dim);

}  // namespace tessera::transforms
