// The place of each value of a plan in memory.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"
#include "runtime/alias.h"
#include "runtime/executable.h"
#include "runtime/flow.h"
#include "runtime/ids.h"

namespace tessera::runtime {

// The place of a value. Fields have the meaning of those of Binding, with values instead of views.
struct Allocation {
  Binding::How how = Binding::kFresh;
  bool frame = false;  // lives inside one node, at `offset` of the worker's frame
  plan::PlanValueId from = plan::kNoPlanValue;  // kTake, kSame, kAlias
  FlowNodeId node = kNoNode;
  StorageId storage = kNoStorage;
  FamilyId family = kNoFamily;
  int64_t offset = 0;
  std::optional<Alias> alias;
};

// A carried value that takes the value of its successor after each iteration.
struct CarryUpdate {
  LoopId loop;
  plan::PlanValueId value, next;
};

struct MemoryPlan {
  base::IdVector<plan::PlanValueId, Allocation> places;
  // Updates in which two storages change places, or the carried value gets another order of
  // instances. An update may do both.
  std::vector<CarryUpdate> swaps, reorders;
  int64_t block_bytes = 0, frame_bytes = 0, peak_bytes = 0;
  int64_t zero_bytes = 0;  // of the largest value with instances that have no storage
};

MemoryPlan PlanMemory(const plan::Plan& plan, const Flow& flow);

}  // namespace tessera::runtime
