// The pass check_promises: checks of assume_invariant at run time.
#pragma once
#include <memory>

#include "ir/program.h"

namespace tessera::compile {

// Returns the program with a check after every assume_invariant: devices to which the op promises
// one array must have equal bits. If devices share buffers, returns the program itself, except in
// checked builds. Regions that devices run independently are not checked.
std::shared_ptr<const ir::Program> WithPromiseChecks(
    const std::shared_ptr<const ir::Program>& program);

}  // namespace tessera::compile
