// From a program to one that runs: propagated, lowered, scheduled.
#pragma once
#include <memory>
#include <vector>

#include "compile/lowered.h"

namespace tessera::compile {

// Returns the lowered program. `shares` as for MakeSchedule's parameters. Checks the CommPolicy
// scopes: throws ShardingError with every violation.
std::shared_ptr<const Lowered::Impl> LowerProgram(std::shared_ptr<const ir::Program> program,
                                                  const std::vector<bool>& shares);

}  // namespace tessera::compile
