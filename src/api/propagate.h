// Programs over Auto axes: from a traced program to the graph that propagation works on, and back.
#pragma once
#include <memory>

#include "ir/program.h"
#include "propagation/graph.h"

namespace tessera::api {

// Whether some value is on a mesh with Auto axes.
bool HasAutoAxes(const ir::Program& program);

// The graph of a program. Its values have the program's ids. Explicit axes that a type names are
// the beginning of each dim, and those it does not name stay out of it.
propagation::Graph GraphOf(const ir::Program& program);

// The dump that holds in this scope; empty: none.
const std::string& PinnedShardings();

struct Propagated {
  std::shared_ptr<const ir::Program> program;  // every value placed, constants copied per user
  propagation::Result result;
};
Propagated PropagateProgram(const ir::Program& program, const propagation::Options& options = {});

}  // namespace tessera::api
