// The tables and floors that are printed at the end.
#pragma once
#include "benchmarks/measure.h"

namespace tessera::bench {

// Prints to stderr, as stdout holds the JSON lines. Each of our figures has its ratio to the limit,
// to the `threads` reference, to our own time on one device, and to each peer in the figures. The
// floors follow, each met or not. `quick` figures have no floors.
void PrintTables(const std::vector<Figure>& figures, bool quick);

}  // namespace tessera::bench
