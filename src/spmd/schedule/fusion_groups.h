// Which instructions run in one fused kernel.
#pragma once
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

enum class FusionGroupId : int32_t {};
inline constexpr FusionGroupId kNoFusionGroup{-1};

inline constexpr size_t kMostGroupMembers = 96;

struct FusionGroup {
  std::vector<InstructionId> instructions;  // in program order; empty: another group has them
  base::Shape space;                        // the iteration space
  int32_t reduced = 0;                      // trailing dims reduced over; 0: none yet
  LayoutId layout{0};
  // Whether an instruction outside of the group reads one of its results.
  bool closed = false;
  // The instruction in whose place the group runs: its last member when it was closed.
  // kNoInstruction: the group is empty.
  InstructionId runs_at = kNoInstruction;
};

struct FusionGroups {
  base::IdVector<FusionGroupId, FusionGroup> groups;
  base::IdVector<InstructionId, FusionGroupId> group_of;
};

// Returns the groups of a program. Sets the storage and the layout of views outside of groups to
// those of their operands.
FusionGroups FindFusionGroups(const ir::Program& device, ScheduledValues& values);

}  // namespace tessera::spmd
