// Gives the list of passes its functions of this layer.
#include "compile/run/lower.h"

#include <utility>

#include "base/sum_order.h"
#include "compile/auto/keep_only.h"
#include "compile/auto/propagate.h"
#include "compile/checks/nan_watch.h"
#include "compile/checks/policy.h"
#include "compile/checks/promises.h"
#include "compile/checks/value_watch.h"
#include "compile/host/concrete.h"
#include "compile/inspect/report.h"
#include "compile/inspect/types_file.h"

namespace tessera::compile {
namespace {

// Returns the values of the device program whose buffer devices with equal bits share.
// Empty: all do.
ir::ValueSet SharesOf(const ir::Program& device, const std::vector<bool>& input_shares) {
  if (input_shares.empty() && SharesReplicas()) return {};
  ir::ValueSet shares(device.values.size(), SharesReplicas());
  size_t next = 0;
  const auto add = [&](ir::ValueId v) {
    shares[v] = next >= input_shares.size() || input_shares[next];
    ++next;
  };
  for (ir::ValueId v : device.inputs) add(v);
  for (const ir::Capture& c : device.captures) add(c.value);
  return shares;
}

}  // namespace

std::shared_ptr<Lowered::Impl> LowerProgram(std::shared_ptr<const ir::Program> program,
                                            const std::vector<bool>& input_shares,
                                            const PassChoice& choice) {
  auto impl = std::make_shared<Lowered::Impl>(Lowered::Impl{
      .program = program, .propagated = {}, .passes = {}, .dump = PassDump(*program)});
  impl->keeps_sum_order = base::KeepsSumOrder();
  Propagated propagated;
  spmd::OuterPasses outer{.watch_values = WithValueWatch,
                          .check_nans = WithNanChecks,
                          .check_promises = WithPromiseChecks};
  if (HasAutoAxes(*program)) AddPropagation({}, propagated, outer);
  if (!choice.only.empty())
    outer.keep_only = [&](auto placed) { return KeepOnly(*placed, choice.only); };
  outer.check_policies = [&](const ir::Program& device) {
    if (!PolicyKey().empty()) CheckPolicies(Report(device), *program);
  };
  outer.share_buffers = [&](const ir::Program& device) { return SharesOf(device, input_shares); };

  spmd::PassState& passes = impl->passes;
  passes = {
      .program = program, .outer = &outer, .stop_after = choice.stop_after, .skip = choice.skip};
  if (impl->dump.is_on())
    passes.after_pass = [dump = &impl->dump](const auto& pass, const auto& state) {
      dump->AfterPass(pass, state);
    };
  for (auto stage :
       {spmd::PassStage::kPropagated, spmd::PassStage::kDevice, spmd::PassStage::kSchedule}) {
    const bool goes_on = spmd::RunPasses(passes, stage);
    if (stage == spmd::PassStage::kPropagated) {
      impl->propagated = passes.program;
      if (choice.records_types) AddTypes(*passes.program);
    }
    impl->dump.AfterStage(stage, passes);
    if (!goes_on) break;
  }
  passes.outer = nullptr;
  return impl;
}

ir::Program DeviceProgramOf(std::shared_ptr<const ir::Program> program) {
  Propagated propagated;
  spmd::OuterPasses outer;
  if (HasAutoAxes(*program)) AddPropagation({}, propagated, outer);
  spmd::PassState passes{.program = std::move(program), .outer = &outer};
  spmd::RunPasses(passes, spmd::PassStage::kPropagated);
  spmd::RunPasses(passes, spmd::PassStage::kDevice);
  return std::move(passes.device);
}

}  // namespace tessera::compile
