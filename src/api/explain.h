// Dumps of shardings.
#pragma once
#include <string>

#include "api/propagate.h"

namespace tessera::api {

// Gives the graph's values the shardings of a dump, closed. Throws ShardingError where the dump is
// of another program; programs of one op are left alone.
void Pin(const ir::Program& program, const std::string& dump, ProgramGraph& built);

}  // namespace tessera::api
