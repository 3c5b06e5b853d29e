// Dumps of shardings, held where they are pinned: a line per value (compile/auto/sharding_dump.h).
#pragma once
#include <string>
#include <string_view>

#include "compile/auto/program_graph.h"

namespace tessera::compile {

// Between a value and its sharding.
inline constexpr std::string_view kDumpSeparator = " : ";
// Whether a text could be a dump.
bool IsDump(std::string_view text);

// The dump that holds in this scope (PinShardings); empty: none.
const std::string& PinnedShardings();
void SetPinnedShardings(std::string dump);

// Gives the graph's values the shardings of a dump, closed. Throws ShardingError where the dump is
// of another program; programs of one op are left alone.
void Pin(const std::string& dump, ProgramGraph& built);

}  // namespace tessera::compile
