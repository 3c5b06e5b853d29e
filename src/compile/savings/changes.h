// Changes of a traced program that may lower its memory, as its user would make them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tessera::compile {

// Returns the program whose backward pass computes the values of a line again, also in regions. It
// reads the operands of the line, as after checkpoint. Null if the pass reads no value of the line.
std::shared_ptr<const ir::Program> WithLineAgain(const ir::Program& program,
                                                 const std::string& line);
// Returns the program whose loops at a line keep the carries that each iteration begins with, and
// whose backward loops compute the other values of the iteration again. Null if there is no loop
// with a backward loop at the line.
std::shared_ptr<const ir::Program> WithLoopAgain(const ir::Program& program,
                                                 const std::string& line);

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
