// The memory of a device program over its steps, as users see it.
#pragma once
#include "ir/program.h"
#include "spmd/schedule/schedule.h"
#include "tessera/program.h"

namespace tessera::compile {

MemoryReport MemoryOf(const ir::Program& device, const spmd::Schedule& schedule);

}  // namespace tessera::compile
