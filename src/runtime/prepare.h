// Plans made ready to run.
#pragma once
#include <cstdint>
#include <memory>

#include "plan/plan.h"

namespace tessera::runtime {

// A plan made ready: slots assigned, exchanges prepared, costs added up. Immutable; shareable.
struct Executable;
std::shared_ptr<const Executable> Prepare(plan::Plan plan);

// Peak bytes that a run allocates for one device, the one with most instances to its name (0):
// fresh outputs, which exist for the whole run, and the most at any step of the values that cross
// nodes (a node: a segment's steps of one layout, or an exchange; they live from the node that
// makes them to the end of the last that reads them) and of those inside a node. Values that share
// memory count once, as the largest of them; inputs, constants, outputs in the memory of donated
// inputs (taken to be the only references), and scratch do not count.
int64_t PeakBytes(const Executable& executable);

}  // namespace tessera::runtime
