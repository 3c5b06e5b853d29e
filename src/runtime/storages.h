// The storages that hold a plan's values, while their memory is planned.
#pragma once
#include <absl/algorithm/container.h>

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"
#include "runtime/flow.h"
#include "runtime/ids.h"
#include "runtime/memory_plan.h"

namespace tessera::runtime {

// The memory of one value, or of several that share it by aliasing or reuse in place.
struct StoragePlan {
  plan::PlanValueId root = plan::kNoPlanValue;  // the value that it is made for
  bool frame = false;
  bool owned = false;       // allocated by the run; false for inputs and constants
  bool escapes = false;     // holds an output
  bool taken_over = false;  // some value is written in place of another
  bool swapped = false;     // changes places with another storage
  bool ranged = false;      // some value is a range of it, with another size
  // bytes of the largest value's instance; bytes of all instances of the root
  int64_t bytes = 0, total = 0;
  FlowNodeId made_node = kNoNode, last_node = kNoNode;
  int32_t made_step = -1, last_step = -1;
  // The newest value of each family. A value overwritten in place by a newer one is dead, unless a
  // loop carries it.
  std::vector<plan::PlanValueId> newest;
  const CarryFlow* carry = nullptr;  // the carry whose value or successor it holds
  bool carries = false;              // it holds values of several carries
};

using Storages = base::IdVector<StorageId, StoragePlan>;

// The places of values and the storages that hold them. The steps below fill it in one after the
// other: values share storages, storages change places, outputs take donated inputs, and the rest
// gets offsets.
struct Memory {
  const plan::Plan& plan;
  const Flow& flow;
  MemoryPlan result = {};
  Storages storages = {};
  std::vector<plan::PlanValueId> reordered = {};  // successors with an instance order of their own

  const plan::PlanValue& ValueOf(plan::PlanValueId v) const { return plan.values[v]; }
  int32_t Instances(plan::PlanValueId v) const { return plan.layouts[ValueOf(v).layout].instances; }
  StoragePlan& StorageOf(plan::PlanValueId v) { return storages[result.places[v].storage]; }
  const StoragePlan& StorageOf(plan::PlanValueId v) const {
    return storages[result.places[v].storage];
  }
};

// Whether all families except the family of `v` are dead before node n. In node n another instance
// may still read the memory that this one overwrites.
inline bool AreOthersDead(const Flow& flow, const StoragePlan& storage, plan::PlanValueId v,
                          FlowNodeId n) {
  return absl::c_none_of(storage.newest, [&](plan::PlanValueId other) {
    return other != v && flow.lives[other].last_node >= n;
  });
}

// Whether the kernel may overwrite every operand that is `v`.
inline bool CanOverwrite(const plan::Step& step, plan::PlanValueId v) {
  for (size_t i = 0; i < step.in.size(); ++i)
    if (step.in[i] == v && (i >= 64 || !(step.kernel.in_place >> i & 1))) return false;
  return true;
}

}  // namespace tessera::runtime
