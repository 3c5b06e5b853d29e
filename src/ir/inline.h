// A program's instructions in another program.
#pragma once
#include "ir/builder.h"
#include "ir/program.h"

namespace tessera::ir {

// Appends the instructions of a program, on these values in the place of its inputs, then its
// captures. Returns what stands for its outputs. Lines and names come along.
std::vector<ValueId> Inline(Builder& builder, const Program& program,
                            absl::Span<const ValueId> given);

// Returns the program without what only transforms see, in regions too: the function of each call
// (Region::kCall) is in its place, ops that are expanded are, and a choice between a value and
// itself is that value. `program` itself if there is no call, and nothing to expand.
std::shared_ptr<const Program> InlineCalls(const std::shared_ptr<const Program>& program);
// The same, but for what is expanded and such choices, which stay.
std::shared_ptr<const Program> InlineCallsAlone(const std::shared_ptr<const Program>& program);

}  // namespace tessera::ir
