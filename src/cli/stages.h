// The strategies of propagation under their names in the command.
#pragma once
#include <tessera/explain.h>

#include <array>

namespace tessera::cli {

inline constexpr std::array kStageNames = {"basic", "aggressive", "op-priority", "user-priority"};
static_assert(propagation::Stage::kBasic == propagation::Stage{0} &&
              propagation::Stage::kAggressive == propagation::Stage{1} &&
              propagation::Stage::kOpPriority == propagation::Stage{2} &&
              propagation::Stage::kUserPriority == propagation::Stage{kStageNames.size() - 1});

inline const char* StageName(propagation::Stage stage) {
  return kStageNames[static_cast<std::size_t>(stage)];
}

}  // namespace tessera::cli
