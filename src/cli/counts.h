// Numbers of a program: its mesh, its arguments, and how often each op is used.
#pragma once
#include <tessera/program.h>

#include <string>

namespace tessera::cli {

// Returns a table of the ops, the most frequent first, with the bytes of their results and FLOPs.
std::string CountsText(const Program& program);
// Returns the collectives, and the FLOPs and the memory of a device.
std::string SummaryText(const Lowered& lowered);
// Returns the mesh, the arguments and the results, then the table.
std::string StatsText(const Program& program);

}  // namespace tessera::cli
