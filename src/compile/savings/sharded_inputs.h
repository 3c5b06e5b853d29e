// Inputs that are sharded over more axes.
#pragma once
#include <memory>
#include <vector>

#include "ir/program.h"

namespace tessera::compile {

// An input that is sharded over one more axis.
struct ShardedInput {
  size_t input = 0;
  int dim = 0, axis = 0;
  std::vector<size_t> results = {};  // of the same type, which are sharded alike
};
// Returns the program with the inputs sharded over more axes. Along Auto axes that is their layout.
// Along Explicit axes it is their type, and a reshard before the first op that reads one has the
// old type.
std::shared_ptr<const ir::Program> WithSharded(const ir::Program& program,
                                               const std::vector<ShardedInput>& inputs);

}  // namespace tessera::compile
