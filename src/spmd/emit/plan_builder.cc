// Builds a plan: its inputs, the nodes of the program's items, and its outputs.
#include "spmd/emit/plan_builder.h"

#include "spmd/emit/program_emitter.h"

namespace tessera::spmd {

using ir::ValueId;

plan::Plan BuildPlan(const ir::Program& device, const Schedule& schedule,
                     const KernelFactories& kernels, int32_t devices,
                     const std::vector<bool>& donated, PlanRunner runner) {
  PlanParts parts(kernels, devices, runner);
  plan::Plan& plan = parts.plan();
  ProgramEmitter emitter(parts, device, schedule, plan.nodes);
  for (ValueId v : device.inputs)
    plan.inputs.push_back({emitter.Define(v, plan::ValueKind::kInput)});
  for (const ir::Capture& c : device.captures)
    plan.inputs.push_back({emitter.Define(c.value, plan::ValueKind::kInput)});
  for (size_t k = 0; k < donated.size(); ++k) plan.inputs[k].donated = donated[k];
  emitter.EmitItems();
  emitter.EndSegment();
  for (ValueId v : device.outputs) {
    const plan::PlanValueId value = emitter.ValueOf(v);
    plan::ValueKind& kind = parts.value(value).kind;
    if (kind == plan::ValueKind::kTemp) kind = plan::ValueKind::kOutput;
    plan.outputs.push_back(value);
  }
  return std::move(plan);
}

}  // namespace tessera::spmd
