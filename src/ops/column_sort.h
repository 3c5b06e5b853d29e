// Sorting along a sharded dim.
#pragma once
#include <vector>

#include "ir/builder.h"
#include "ops/params.h"

namespace tessera::ops {

// Returns the operands sorted along a sharded dim, laid out as they are. Devices sort their shards
// and exchange elements four times, whatever the elements are; none holds more than its shards.
std::vector<ir::ValueId> SortOnShards(ir::Builder& b, const SortParams& params,
                                      absl::Span<const ir::ValueId> operands);

}  // namespace tessera::ops
