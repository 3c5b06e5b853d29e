// assume_invariant, checked at run time.
#pragma once
#include <memory>

#include "ir/program.h"

namespace tessera::compile {

// Returns the program with a check behind every assume_invariant: devices that are said to have one
// array have the same bits. Only where devices do not share buffers, and in checked builds; else
// the program itself. What devices run by themselves is not checked.
std::shared_ptr<const ir::Program> WithPromiseChecks(
    const std::shared_ptr<const ir::Program>& program);

}  // namespace tessera::compile
