// Shardings that a dump pins, with a line per value (compile/auto/sharding_dump.h).
#pragma once
#include <string>
#include <string_view>

#include "compile/auto/program_graph.h"

namespace tessera::compile {

// Separates a value from its sharding.
inline constexpr std::string_view kDumpSeparator = " : ";
// Whether the text could be a dump.
bool IsDump(std::string_view text);

// Returns the dump of the PinShardings scope, empty outside of all.
const std::string& PinnedShardings();
void SetPinnedShardings(std::string dump);

// Gives the graph's values the shardings of a dump, closed. Throws ShardingError if the dump is of
// another program. Leaves programs of one op alone.
void Pin(const std::string& dump, ProgramGraph& built);

}  // namespace tessera::compile
