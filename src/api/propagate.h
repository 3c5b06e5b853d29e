// Programs over Auto axes: propagated, and written anew with every value placed.
#pragma once
#include <memory>
#include <string>

#include "api/program_graph.h"

namespace tessera::api {

// Whether some value is on a mesh with Auto axes.
bool HasAutoAxes(const ir::Program& program);

// The dump that holds in this scope (PinShardings); empty: none.
const std::string& PinnedShardings();

struct Propagated {
  // Every value placed, constants copied per user, reshards where propagation left a difference
  // between a value and what the function's or a region's border asks.
  std::shared_ptr<const ir::Program> program;
  propagation::engine::Result result;
  ProgramGraph built;  // its graph has moved into the result
};
Propagated PropagateProgram(const ir::Program& program,
                            const propagation::engine::Options& options = {});

}  // namespace tessera::api
