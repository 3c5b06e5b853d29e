// The part of a plan that one of several processes runs.
#pragma once
#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace tessera::plan {

// Stands for the number of an instance that another process has.
inline constexpr int32_t kElsewhere = -1;

// The processes that run a plan together.
struct Hosts {
  int32_t process = 0;                     // this one
  std::vector<int32_t> process_of_device;  // kNobody: the device takes no part in the plan
  static constexpr int32_t kNobody = -1;
  // Whether sums are taken in the same order as on one process, so that all bits are the same. If
  // not, each process first combines its own instances.
  bool keeps_order = false;
};

// Returns the plan of this process. It has the instances of this process's devices alone, in their
// order. Every exchange keeps the pieces between these instances. It receives boxes from other
// processes and sends boxes to them, or combines elements with them. Devices keep their numbers. A
// process without a device gets a plan without nodes.
Plan Localise(Plan plan, const Hosts& hosts);

}  // namespace tessera::plan
