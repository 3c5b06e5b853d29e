// Inlining: a program's instructions inside another program.
#pragma once
#include "ir/builder.h"
#include "ir/program.h"

namespace tessera::ir {

// Appends the instructions of a program. `given` replaces its inputs, then its captures. Returns
// the values of its outputs. Lines and names are kept.
std::vector<ValueId> Inline(Builder& builder, const Program& program,
                            absl::Span<const ValueId> given);

// Returns the program as lowering sees it, regions included: the function in the place of each call
// (AsRegions::kCall), the ops of each expansion, and a value in the place of a select between it
// and itself. Returns `program` itself if nothing changes.
std::shared_ptr<const Program> InlineCalls(const std::shared_ptr<const Program>& program);
// Inlines calls alone. Expansions without regions, and such selects, stay.
std::shared_ptr<const Program> InlineCallsAlone(const std::shared_ptr<const Program>& program);

}  // namespace tessera::ir
