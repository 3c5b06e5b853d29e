// The part of an exchange that one process runs.
#pragma once
#include <vector>

#include "plan/localise/localise.h"
#include "plan/localise/whole_layouts.h"
#include "plan/plan.h"

namespace tessera::plan {

// Keeps the pieces between instances of this process, and adds messages. The nodes that must run
// before the exchange are appended to `before`, and their results to the plan. `layouts`: as they
// were for all processes.
void LocaliseExchange(Exchange& exchange, Plan& plan, WholeLayouts& layouts, const Hosts& hosts,
                      std::vector<Node>& before);

}  // namespace tessera::plan
