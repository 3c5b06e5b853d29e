// Gives the stage kPlan the kernels of this process.
#include "compile/run/plan.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <utility>

#include "compile/host/processes.h"
#include "compile/host/replicas.h"
#include "compile/inspect/memory.h"
#include "compile/inspect/profile.h"
#include "compile/run/nested.h"
#include "compile/run/together.h"
#include "kernels/copy/boxes.h"
#include "kernels/copy/copy.h"
#include "kernels/fused/fused.h"
#include "kernels/reduce/combine.h"

namespace tessera::compile {
namespace {

plan::Kernel MakeDeviceCopy(const spmd::KernelFactories::DeviceCopy& d) {
  return kernels::DeviceCopy({.copy = {.itemsize = d.itemsize,
                                       .box = d.box,
                                       .in_strides = d.in_strides,
                                       .out_strides = d.out_strides,
                                       .out_size = d.out_size,
                                       .fill = d.fill,
                                       .streams = d.streams},
                              .in_offsets = d.in_offsets,
                              .out_offsets = d.out_offsets,
                              .skip = d.skip});
}

plan::Kernel MakeOnTiles(const spmd::KernelFactories::OnTiles& t) {
  return kernels::OnTiles({.itemsize = t.itemsize,
                           .shape = t.shape,
                           .boxes = t.boxes,
                           .tile_dims = t.tile_dims,
                           .of_tile = t.of_tile,
                           .result_bytes = t.result_bytes,
                           .sources = t.sources,
                           .others = t.others});
}

// Adds the memory of a device over the items of the schedule to a plan.
void AddMemory(const Lowered::Impl& lowered, const std::vector<bool>& donated, plan::Plan& plan) {
  const MemoryReport memory = MemoryOf(lowered.device(), lowered.schedule(), donated);
  plan.held.resize(lowered.schedule().items.size());
  for (const MemoryKind kind : kMemoryKinds) {
    plan.uses.emplace_back(memory_name(kind));
    const std::vector<int64_t> bytes = memory.bytes(kind);
    // Step 0 of the report is the time before the first item.
    for (size_t item = 0; item < plan.held.size(); ++item)
      plan.held[item].of_use.push_back(bytes[item + 1]);
  }
}

}  // namespace

int32_t DevicesFor(const ir::Program& program) {
  int64_t devices = 1;
  auto need = [&](const sharding::MeshDef* mesh) {
    if (!mesh) return;
    devices = std::max(devices, mesh->size());
    for (int64_t id : mesh->device_ids()) devices = std::max(devices, id + 1);
  };
  need(program.mesh);
  for (const ir::Value& v : program.values) need(v.type->mesh());
  return static_cast<int32_t>(devices);
}

bool HasMessages(const std::vector<plan::Node>& nodes) {
  return absl::c_any_of(nodes, [](const plan::Node& node) {
    if (const auto* e = std::get_if<plan::Exchange>(&node))
      return !e->sends.empty() || !e->receives.empty() || !e->reductions.empty();
    if (const auto* loop = std::get_if<plan::Loop>(&node))
      return HasMessages(loop->condition) || HasMessages(loop->body);
    const auto* branches = std::get_if<plan::Switch>(&node);
    return branches && absl::c_any_of(branches->branches, HasMessages);
  });
}

std::shared_ptr<const runtime::Executable> MakeExecutable(Lowered::Impl& lowered,
                                                          std::vector<bool> donated) {
  std::shared_ptr<const runtime::Executable> executable;
  const auto prepare = [&, donated](plan::Plan plan) {
    // An eager call is one item, and most of the memory then belongs to arrays of other calls.
    if (IsMemoryKnown() && lowered.schedule().items.size() > 1) AddMemory(lowered, donated, plan);
    executable = runtime::Prepare(std::move(plan));
  };
  const spmd::OuterPasses outer{
      .kernels = {.fused = kernels::Fused,
                  .device_copy = MakeDeviceCopy,
                  .copy_whole = kernels::CopyWhole,
                  .copy_boxes = kernels::CopyBoxes,
                  .on_tiles = MakeOnTiles,
                  .combiner = kernels::Combiner,
                  .nested =
                      [&](std::vector<plan::Plan> plans) {
                        lowered.dump.AddNested(plans);
                        return NestedRun(std::move(plans),
                                         [](int32_t d) { return ProcessOf(d) == Process(); });
                      }},
      .devices = DevicesFor(*lowered.program),
      .donated = std::move(donated),
      .localise =
          [&](plan::Plan plan) {
            if (Processes() == 1) return plan;
            plan = plan::Localise(std::move(plan), HostsOf(*lowered.program, plan.devices));
            if (OthersWait() && HasMessages(plan.nodes))
              FailTurn("run", FirstLine(*lowered.program));
            return plan;
          },
      .prepare = prepare};
  lowered.passes.outer = &outer;
  spmd::RunPasses(lowered.passes, spmd::PassStage::kPlan);
  lowered.dump.AfterStage(spmd::PassStage::kPlan, lowered.passes);
  lowered.passes.outer = nullptr;
  return executable;
}

std::string TextAfter(const spmd::LoweringPass& pass, Lowered::Impl& lowered) {
  if (pass.stage != spmd::PassStage::kPlan) return TextAfter(pass.stage, lowered.passes, "");
  // The last pass, prepare, passes the plan to the runtime.
  lowered.passes.stop_after = pass.name == "prepare" ? spmd::FindPass("localise") : &pass;
  MakeExecutable(lowered, {});
  return TextAfter(pass.stage, lowered.passes, "");
}

}  // namespace tessera::compile
