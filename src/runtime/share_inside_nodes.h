// Values that follow each other in the same buffers inside a node.
#pragma once
#include "runtime/storages.h"

namespace tessera::runtime {

// Lets a storage begin in the buffers of an equal one that dies in the same node: in an earlier
// step, or as an operand that is overwritten. All values of both are at the same addresses.
void ShareInsideNodes(Memory& memory);

}  // namespace tessera::runtime
