// The part of a plan that one of several processes runs.
#pragma once
#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace tessera::plan {

// The processes that run a plan together.
struct Hosts {
  int32_t process = 0;                     // this one
  std::vector<int32_t> process_of_device;  // kNobody: the device takes no part in the plan
  static constexpr int32_t kNobody = -1;
};

// Returns the plan of this process. It has the instances of this process's devices alone, in their
// order. Every exchange keeps the pieces between these instances. It receives boxes from
// other processes, and sends boxes to them. Pieces are combined in the same order as on one
// process, so all bits are the same. Devices keep their numbers. A process without a device gets a
// plan without nodes.
Plan Localise(Plan plan, const Hosts& hosts);

}  // namespace tessera::plan
