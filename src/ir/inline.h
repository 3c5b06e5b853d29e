// A program's instructions in another program.
#pragma once
#include "ir/builder.h"
#include "ir/program.h"

namespace tessera::ir {

// Appends the instructions of a program, on these values in the place of its inputs, then its
// captures. Returns what stands for its outputs. Lines and names come along.
std::vector<ValueId> Inline(Builder& builder, const Program& program,
                            absl::Span<const ValueId> given);

// Returns the program with the function of each call (Region::kCall) in its place, in regions too;
// `program` itself if there are none. An op with regions but without data flow is expanded.
std::shared_ptr<const Program> InlineCalls(const std::shared_ptr<const Program>& program);

}  // namespace tessera::ir
