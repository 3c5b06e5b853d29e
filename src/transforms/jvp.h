// Forward mode: a program that computes its results and their tangents.
#pragma once
#include "ir/program.h"

namespace tessera::transforms {

struct Jvp {
  // Inputs: the primal inputs, then the tangents of active inputs. Outputs: the primal outputs,
  // then the tangents of active outputs. A tangent has the type of its primal value.
  ir::Program program;
  std::vector<bool> active;  // per primal output: whether its tangent is among the outputs
};

// Returns the program with tangents of the inputs that are true in `active`, which are floating.
// Outputs that are true in `wanted` get a tangent even if that is zero. Captures have none. Throws
// TraceError, with the op's reason, if an op with an active operand has no derivative. The program
// may hold repeated and dead instructions.
Jvp MakeJvp(const ir::Program& program, const std::vector<bool>& active,
            const std::vector<bool>& wanted);

}  // namespace tessera::transforms
