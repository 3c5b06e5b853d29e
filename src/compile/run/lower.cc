// Runs the stages from a traced program to its schedule, and checks the policies on the way.
#include "compile/run/lower.h"

#include "base/at.h"
#include "compile/auto/propagate.h"
#include "compile/checks/nan_watch.h"
#include "compile/checks/policy.h"
#include "compile/checks/promises.h"
#include "compile/host/concrete.h"
#include "compile/inspect/dump.h"
#include "compile/inspect/report.h"
#include "spmd/lower/lower.h"

namespace tessera::compile {

std::shared_ptr<const Lowered::Impl> LowerProgram(std::shared_ptr<const ir::Program> program,
                                                  const std::vector<bool>& input_shares) {
  auto impl = std::make_shared<Lowered::Impl>();
  impl->propagated = Placed(WithPromiseChecks(WithNanChecks(program)));
  impl->device = spmd::Lower(*impl->propagated);
  if (!PolicyKey().empty()) CheckPolicies(Report(impl->device), *program);
  std::vector<bool> shares;
  if (!input_shares.empty() || !SharesReplicas()) {
    const ir::Program& p = impl->device;
    shares.assign(p.values.size(), SharesReplicas());
    size_t next = 0;
    for (ir::ValueId v : p.inputs)
      base::At(shares, v) = next >= input_shares.size() || input_shares[next], ++next;
    for (const ir::Capture& c : p.captures)
      base::At(shares, c.value) = next >= input_shares.size() || input_shares[next], ++next;
  }
  impl->schedule = spmd::MakeSchedule(impl->device, shares);
  impl->program = std::move(program);
  impl->dump = DumpStages(*impl);
  return impl;
}

}  // namespace tessera::compile
