// The traced function of a call, and its derivative: a known program, then a linear one.
#pragma once
#include <memory>
#include <vector>

#include "api/core/operands.h"
#include "ir/program.h"
#include "tessera/wrapped.h"

namespace tessera::api {

using ProgramRef = std::shared_ptr<const ir::Program>;

// The traced function of a call. An input is active if it is differentiated with respect to.
struct TracedCall {
  std::vector<ArrayRef> inputs;
  std::vector<bool> active;  // per input
  ir::Program program;
  detail::AnyTree tree;
  std::vector<Loc> output_locs;
};

// Returns, per array of the arguments, the number of its argument.
std::vector<int> ArgumentOf(detail::TreeRef arguments);

// Traces `body` on arrays like the inputs. Floating inputs that are true in `chosen` are active.
TracedCall TraceCall(std::vector<ArrayRef> inputs, const detail::Body& body,
                     const std::vector<bool>& chosen, Call call);
TracedCall TraceAll(const detail::FunctionCall& f, Call call);

// C22: refuses an argument in `arguments` without an active array.
void CheckArguments(const TracedCall& t, const std::vector<int>& arguments,
                    const std::vector<int>& argument_of, Call call);
// C22: refuses an array in `arguments` that is not complex, for a holomorphic function, or that is,
// if complex ones are not taken.
void CheckComplexArguments(const TracedCall& t, const std::vector<int>& arguments,
                           const std::vector<int>& argument_of, bool holomorphic,
                           bool takes_complex, Call call);
// C21: refuses a result of a holomorphic function that is not complex, and a complex result of
// another function.
void CheckComplexResult(const ir::Type* type, bool holomorphic, Call call);
// C41: inside of a shard_map, refuses the derivative of a result that differs between devices with
// respect to an array that does not: derivatives of separate results would be added up over the
// devices. `separate`: per input, whether they are separate.
void CheckSameDevices(const TracedCall& t, const std::vector<bool>& separate,
                      const std::vector<int>& argument_of, const ir::Type* result, Call call);
// Returns, per output, whether it has a tangent.
std::vector<bool> FloatingOutputs(const ir::Program& program);

// A function's derivative as two programs.
struct LinearizedProgram {
  ir::Program known;   // inputs -> outputs of the function, residuals
  ir::Program linear;  // residuals, tangents of active inputs -> tangents of the outputs in `has`
  size_t outputs = 0, residuals = 0;
  std::vector<bool> has;  // per output of the function

  // Drops the value of an output, and all computation that only this value needs.
  void DropOutput(size_t i);
};

// Linearises a program. `active`: per input. `wanted`: the outputs whose tangents are asked for.
LinearizedProgram Linearized(const ir::Program& program, const std::vector<bool>& active,
                             const std::vector<bool>& wanted);
inline LinearizedProgram Linearized(const TracedCall& t, const std::vector<bool>& wanted) {
  return Linearized(t.program, t.active, wanted);
}

}  // namespace tessera::api
