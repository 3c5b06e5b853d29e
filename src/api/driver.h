// From a traced program to one that runs: the compile driver.
#pragma once
#include <memory>
#include <string>

#include "ir/program.h"
#include "spmd/device_program.h"
#include "spmd/schedule.h"
#include "tessera/program.h"

namespace tessera {

struct Lowered::Impl {
  std::shared_ptr<const ir::Program> program;     // as traced
  std::shared_ptr<const ir::Program> propagated;  // with every value placed; `program` itself
                                                  // where no axis is Auto
  spmd::DeviceProgram device;
  spmd::Schedule schedule;
  int dump = 0;  // the number of its files, see dump.h
};

namespace api {

// Why a device program is not lowered, propagated or explained again.
inline constexpr const char* kOfDevice = "the program is one device's already";

// Returns the lowered program. `shares` as for MakeSchedule's parameters. Checks the CommPolicy
// scopes: throws ShardingError with every violation.
std::shared_ptr<const Lowered::Impl> LowerProgram(std::shared_ptr<const ir::Program> program,
                                                  const std::vector<bool>& shares);

CommReport Report(const spmd::DeviceProgram& device);
// Returns the collective's name in reports: "all_gather".
const char* Name(CommKind kind);

// Throws, or warns, if the report breaks a policy in scope.
void CheckPolicies(const CommReport& report);
// A text that tells the policies in scope apart; empty outside of all.
const std::string& PolicyKey();

}  // namespace api
}  // namespace tessera
