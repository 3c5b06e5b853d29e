// Host calls of a plan, and the host call that compares the predicates of devices.
#pragma once
#include <vector>

#include "ir/host_call.h"
#include "ir/program.h"
#include "plan/plan.h"

namespace tessera::spmd {

// A value of the plan, with its place.
struct HostOperand {
  plan::PlanValueId value;
  const ir::Type* place;
  const plan::Layout* layout;
};

// Returns the call. The plan stores shards by instance, but the function gets them by position in
// the mesh. `device`: the device that makes the call alone, or -1 if the call is for all devices.
plan::HostCall MakeHostCall(const ir::HostFunctionRef& function,
                            const std::vector<HostOperand>& operands, int32_t device,
                            plan::NoteId note);

// Returns the kernel that calls a function with the shards of its operand `number`, which are
// `bytes` each. The function takes shards.
plan::Kernel MakeShardCall(const ir::HostFunctionRef& function, size_t number,
                           const HostOperand& operand, int32_t device, int64_t bytes);

// Returns the function that throws RuntimeError unless all devices have equal bits of `predicate`,
// a value of `made_in` by which the loop or branch `chooser` chooses for all of them.
ir::HostFunctionRef MakePredicateComparison(const ir::Instruction& chooser,
                                            const ir::Program& made_in, ir::ValueId predicate);

}  // namespace tessera::spmd
