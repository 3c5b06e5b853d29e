// Dumps of shardings: a line per value, written, and held where they are pinned.
#pragma once
#include <string>
#include <string_view>

#include "compile/program_graph.h"

namespace tessera::compile {

// Returns the lines `%3 dot_general f32[8,64] : <@mesh, [{"x"}, {}]>` of the program, propagated.
std::string Dump(const ir::Program& program);
// Whether a text could be a dump.
bool IsDump(std::string_view text);

// The dump that holds in this scope (PinShardings); empty: none.
const std::string& PinnedShardings();
void SetPinnedShardings(std::string dump);

// Gives the graph's values the shardings of a dump, closed. Throws ShardingError where the dump is
// of another program; programs of one op are left alone.
void Pin(const std::string& dump, ProgramGraph& built);

}  // namespace tessera::compile
