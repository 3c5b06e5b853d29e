// A call's function traced, and its derivative as a linear program behind a known one.
#pragma once
#include <memory>
#include <vector>

#include "api/core/operands.h"
#include "ir/program.h"
#include "tessera/wrapped.h"

namespace tessera::api {

using ProgramRef = std::shared_ptr<const ir::Program>;

// A call's function traced, and what of it is active.
struct TracedCall {
  std::vector<ArrayRef> inputs;
  std::vector<bool> active;  // per input
  ir::Program program;
  detail::AnyTree tree;
  std::vector<Loc> output_locs;
};

// Returns, per array of the arguments, which of them it is part of.
std::vector<int> ArgumentOf(detail::TreeRef arguments);

// `chosen`: per input, whether to differentiate with respect to it, if it is floating.
TracedCall TraceCall(std::vector<ArrayRef> inputs, const detail::Body& body,
                     const std::vector<bool>& chosen, Call call);
TracedCall TraceAll(const detail::FunctionCall& f, Call call);

// C22: each of the arguments has an active array.
void CheckArguments(const TracedCall& t, const std::vector<int>& arguments,
                    const std::vector<int>& argument_of, Call call);
// Returns, per output, whether it has a tangent.
std::vector<bool> FloatingOutputs(const ir::Program& program);

// A function's program as a linear one behind a known one.
struct LinearizedProgram {
  ir::Program known;   // outputs: those of the function, then the residuals
  ir::Program linear;  // residuals, tangents of active inputs -> tangents of the outputs in `has`
  size_t outputs = 0, residuals = 0;
  std::vector<bool> has;  // per output of the function

  // Nobody wants the value of an output: what only that needs is not computed.
  void DropOutput(size_t i);
};

// `active`: inputs of the program; `wanted`: outputs whose tangents are of interest.
LinearizedProgram Linearized(const ir::Program& program, const std::vector<bool>& active,
                             const std::vector<bool>& wanted);
inline LinearizedProgram Linearized(const TracedCall& t, const std::vector<bool>& wanted) {
  return Linearized(t.program, t.active, wanted);
}

}  // namespace tessera::api
