// The pass check_promises: checks of assume_invariant at run time.
#pragma once
#include <memory>

#include "ir/program.h"

namespace tessera::compile {

// Returns the program with a check after every assume_invariant: devices that are said to have one
// array have the same bits. Returns the program itself where devices share buffers, except in
// checked builds. Regions that devices run by themselves are not checked.
std::shared_ptr<const ir::Program> WithPromiseChecks(
    const std::shared_ptr<const ir::Program>& program);

}  // namespace tessera::compile
