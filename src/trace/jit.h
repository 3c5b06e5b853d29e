// What a traced call gives.
#pragma once
#include "ir/program.h"
#include "tessera/transforms.h"

namespace tessera::trace {

struct TracedProgram {
  std::shared_ptr<const ir::Program> program;
  std::shared_ptr<const void> skeleton;  // of the result tree
};

// Returns the trace of this call, from the cache if it is there.
TracedProgram TraceCall(JitCache& cache, const FlatArguments& arguments, const TraceBody& body,
                        Loc loc);

}  // namespace tessera::trace
