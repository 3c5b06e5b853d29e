// Instructions that repeat an earlier one are replaced by it; what nothing uses goes.
#include "spmd/simplify.h"

#include "ir/repeats.h"
#include "ir/uses.h"

namespace tessera::spmd {

void Simplify(ir::Program& device) {
  ir::RemoveRepeats(device);
  ir::RemoveDead(device);
}

}  // namespace tessera::spmd
