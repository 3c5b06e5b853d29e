// Inlining: a program's instructions inside another program.
#pragma once
#include <absl/functional/function_ref.h>

#include "ir/builder.h"
#include "ir/program.h"

namespace tessera::ir {

// Appends the instructions of a program. `given` replaces its inputs, then its captures. Returns
// the values of its outputs. Lines and names are kept. `instead` appends an instruction of another
// kind and returns its result, or kNoValue if the instruction is to be copied.
using Instead = absl::FunctionRef<ValueId(const Instruction&)>;
std::vector<ValueId> Inline(
    Builder& builder, const Program& program, absl::Span<const ValueId> given,
    Instead instead = [](const Instruction&) { return kNoValue; });

// Returns the program as lowering sees it, regions included: calls (AsRegions::kCall) are replaced
// by their functions, expansions by their ops, and a select between a value and itself by the
// value. Returns `program` itself if nothing changes.
std::shared_ptr<const Program> InlineCalls(const std::shared_ptr<const Program>& program);
// Inlines only calls. Expansions without regions, and such selects, stay.
std::shared_ptr<const Program> InlineCallsAlone(const std::shared_ptr<const Program>& program);

}  // namespace tessera::ir
