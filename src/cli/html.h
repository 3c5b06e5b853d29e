// A program and its shardings as one HTML page that needs no other file.
#pragma once
#include <tessera/program.h>

#include <string>

namespace tessera::cli {

// Returns the page. Its head has the mesh and, if `stop_after` is the last strategy, the bytes and
// FLOPs of a device. Three views follow, which need scripts: every value with its type, the
// axes of its dims in colour, its op and line, grouped by scope, and why it is sharded so; the
// collectives with their causes; the memory over time. Without scripts the page shows sums.
// `advises`: with the changes of advise_memory, which lowers the program many times.
std::string HtmlPage(const Program& program, const std::string& title,
                     propagation::Stage stop_after, bool advises = false);

}  // namespace tessera::cli
