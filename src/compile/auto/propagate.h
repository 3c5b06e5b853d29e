// The pass propagate: a place for every value of a program over Auto axes.
#pragma once
#include <memory>
#include <string>

#include "compile/auto/parts.h"
#include "compile/auto/program_graph.h"
#include "propagation/propagate.h"
#include "spmd/pipeline.h"

namespace tessera::compile {

// Whether some value is on a mesh with Auto axes.
bool HasAutoAxes(const ir::Program& program);

struct Propagated {
  std::shared_ptr<const ir::Program> source;  // with calls inlined
  // Every value has a place, and every user its own copy of a constant. Reshards are where the
  // border of the function or of a region asks for another place. Dims that do not divide are
  // padded, or over a part of their axes, whichever costs less.
  std::shared_ptr<const ir::Program> program;
  propagation::engine::EngineResult result;
  ProgramGraph built;                 // its graph is moved into the result
  std::vector<UnevenDim> over_parts;  // dims of the program over parts of their axes
};
Propagated PropagateProgram(const ir::Program& program,
                            const propagation::engine::EngineOptions& options = {});

// Gives the list of passes its passes propagate and choose_parts. They leave their findings in
// `out`.
void AddPropagation(const propagation::engine::EngineOptions& options, Propagated& out,
                    spmd::OuterPasses& passes);

}  // namespace tessera::compile
