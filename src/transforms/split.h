// A program in two parts: what can be computed now, and what has to wait for some of its inputs.
// With tangents as the unknown inputs the second part is the linear map of the first's derivative.
#pragma once
#include "ir/program.h"

namespace tessera::transforms {

struct Split {
  // Inputs: the known ones. Outputs: the known ones, then the residuals. Has the captures.
  ir::Program known;
  // Inputs: the residuals, then the unknown ones. Outputs: the unknown ones.
  ir::Program unknown;
  size_t residuals = 0;
  std::vector<bool> unknown_outputs;  // per output of the program
};

// `wanted`: outputs that the second part gives though they could be known. Loops and branches are
// split too: their residuals are stacked, or passed on where they are not made anew by each
// iteration. A while_loop that has unknown parts is in both parts: the second computes it again.
Split MakeSplit(const ir::Program& program, const std::vector<bool>& unknown_inputs,
                const std::vector<bool>& wanted);

}  // namespace tessera::transforms
