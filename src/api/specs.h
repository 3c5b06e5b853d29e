// Specs of the arrays of a tree.
#pragma once
#include "api/operands.h"
#include "tessera/specs.h"

namespace tessera::api {

// Returns the spec of the array at `path`, of an option that gives one for all or one for each.
const PartitionSpec& SpecOf(const Specs& specs, const detail::Path& path, const char* option,
                            Call call);
// Throws ShardingError for specs that are left over: a mistake about what the function takes or
// returns.
void CheckParts(const Specs& specs, const detail::Outline& tree, const char* option, Call call);

}  // namespace tessera::api
