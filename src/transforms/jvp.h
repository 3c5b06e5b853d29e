// Forward mode: a program that computes its results and their tangents.
#pragma once
#include "ir/program.h"
#include "transforms/memo.h"

namespace tessera::transforms {

// A zero that nobody made: the tangent of what does not depend on an active input.
inline constexpr ir::ValueId kZero = -1;

struct Jvp {
  // Inputs: the primal ones, then tangents of those that are active. Outputs: the primal ones, then
  // the tangents of those that are active. A tangent has the type of its primal value.
  ir::Program program;
  std::vector<bool> active;  // per primal output: whether its tangent is among the outputs
};

// Returns the program with tangents of the inputs that are true in `active`, which are floating.
// Outputs that are true in `wanted` get a tangent even if that is zero. Captures have none. Throws
// TraceError, with the op's reason, where an op on the way has no derivative. Some of it may
// repeat, or be dead.
Jvp MakeJvp(const ir::Program& program, const std::vector<bool>& active,
            const std::vector<bool>& wanted);
// The same of a region.
using JvpMemo = RegionMemo<Jvp>;
const Jvp& RegionJvp(const ir::Program& region, const std::vector<bool>& active,
                     const std::vector<bool>& wanted, JvpMemo& memo);

}  // namespace tessera::transforms
