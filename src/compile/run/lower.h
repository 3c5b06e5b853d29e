// From a program to one that runs: the passes of spmd/pipeline.h, with those of this layer.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "compile/lowered.h"

namespace tessera::compile {

// Which passes run, and on which values. Users choose them to find the pass or the value that makes
// a program wrong.
struct PassChoice {
  const spmd::LoweringPass* stop_after = nullptr;  // the last pass that runs; null: all run
  const spmd::LoweringPass* skip = nullptr;        // a pass that does not run
  std::vector<std::string> only = {};              // see KeepOnly; empty: all values
  bool records_types = true;                       // in the file of types, if there is one
};

// Runs the stages up to kSchedule. `shares`: see spmd::Fuse, per input and capture. Throws
// ShardingError with every violation of the CommPolicy scopes.
std::shared_ptr<Lowered::Impl> LowerProgram(std::shared_ptr<const ir::Program> program,
                                            const std::vector<bool>& shares,
                                            const PassChoice& choice = {});

// Returns the device program of a traced program, without checks and policies.
ir::Program DeviceProgramOf(std::shared_ptr<const ir::Program> program);

}  // namespace tessera::compile
