// Splits a program into the part that can run now, and the part that waits for unknown inputs. If
// the tangents of a jvp are the unknown inputs, the second part is the derivative's linear map.
#pragma once
#include "ir/program.h"

namespace tessera::transforms {

struct Split {
  // Inputs: the known inputs. Outputs: the known outputs, then the residuals. Has the captures.
  ir::Program known;
  // Inputs: the residuals, then the unknown inputs. Outputs: the unknown outputs.
  ir::Program unknown;
  size_t residuals = 0;
  std::vector<bool> unknown_outputs;  // per output of the program
};

// Outputs that are true in `wanted` are unknown even if they could be known. Loops and branches are
// split too. Residuals of a scan are stacked, unless every iteration has the same value. A
// while_loop with unknown carries is in both parts: the second part computes it again.
Split MakeSplit(const ir::Program& program, const std::vector<bool>& unknown_inputs,
                const std::vector<bool>& wanted);

}  // namespace tessera::transforms
