// The memory of a device program over its steps, as users see it.
#pragma once
#include <vector>

#include "ir/program.h"
#include "spmd/schedule/schedule.h"
#include "tessera/program.h"

namespace tessera::compile {

// `donated`: per input; empty: none.
MemoryReport MemoryOf(const ir::Program& device, const spmd::Schedule& schedule,
                      const std::vector<bool>& donated = {});

}  // namespace tessera::compile
