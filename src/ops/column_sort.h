// Sorting along a sharded dim.
#pragma once
#include <vector>

#include "ir/builder.h"
#include "ops/params.h"

namespace tessera::ops {

// Whether the sort of shards exchanges the positions of elements, so that equal ones keep their
// order: if others go with them, or if they differ in bits as 0 and -0 do.
inline bool NeedsPositions(size_t operands, bool is_inexact) { return operands > 1 || is_inexact; }

// Returns the operands sorted along a sharded dim, laid out as they are. Devices sort their shards
// and exchange elements four times, whatever the elements are; none holds more than its shards.
std::vector<ir::ValueId> SortOnShards(ir::Builder& b, const SortParams& params,
                                      absl::Span<const ir::ValueId> operands);

}  // namespace tessera::ops
