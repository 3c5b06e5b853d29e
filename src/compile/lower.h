// From a program to one that runs: propagated, lowered, scheduled.
#pragma once
#include <memory>
#include <vector>

#include "ir/program.h"
#include "spmd/schedule.h"
#include "tessera/program.h"

namespace tessera {

struct Lowered::Impl {
  std::shared_ptr<const ir::Program> program;     // as traced
  std::shared_ptr<const ir::Program> propagated;  // calls inlined, every value placed; `program`
                                                  // itself where there is nothing to do
  ir::Program device;
  spmd::Schedule schedule;
  int dump = 0;  // the number of its files, see dump.h
};

namespace compile {

// Why a device program is not lowered, propagated or explained again.
inline constexpr const char* kOfDevice = "the program is already a device program";

// Returns the lowered program. `shares` as for MakeSchedule's parameters. Checks the CommPolicy
// scopes: throws ShardingError with every violation.
std::shared_ptr<const Lowered::Impl> LowerProgram(std::shared_ptr<const ir::Program> program,
                                                  const std::vector<bool>& shares);

}  // namespace compile
}  // namespace tessera
