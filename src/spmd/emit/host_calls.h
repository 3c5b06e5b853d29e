// Calls of functions of the host in a plan, and the one that compares what devices choose by.
#pragma once
#include <vector>

#include "ir/host_call.h"
#include "ir/program.h"
#include "plan/plan.h"

namespace tessera::spmd {

// A value of the plan, and what it is a value of.
struct HostOperand {
  int32_t value;
  const ir::Type* place;
  const plan::Layout* layout;
};

// Returns the call. The function sees shards by position in the mesh, where the plan has them by
// instance. `device`: that which calls by itself, or -1.
plan::HostCall MakeHostCall(const ir::HostFunctionRef& function,
                            const std::vector<HostOperand>& operands, int32_t device, int32_t note);

// Returns the function that throws RuntimeError unless all devices have the bits of `predicate`, a
// value of `made_in`, by which the loop or branch chooses for all of them.
ir::HostFunctionRef ComparePredicate(const ir::Instruction& chooser, const ir::Program& made_in,
                                     ir::ValueId predicate);

}  // namespace tessera::spmd
