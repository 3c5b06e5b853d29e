// Sums over groups of processes.
#pragma once
#include <vector>

#include "plan/localise/whole_layouts.h"
#include "plan/plan.h"

namespace tessera::plan {

// Turns an exchange that combines instances of several processes into reductions over groups of
// them: each process combines its own sources, and the group combines the results. Returns false
// and changes nothing if no groups fit. All processes agree.
bool ReduceOverProcesses(Exchange& exchange, Plan& plan, WholeLayouts& layouts, int32_t process,
                         std::vector<Node>& before);

}  // namespace tessera::plan
