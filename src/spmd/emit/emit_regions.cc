// Emits regions with emitters of their own, which share the plan.
#include "spmd/emit/emit_regions.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "ir/control_params.h"
#include "ir/uses.h"
#include "sharding/local.h"
#include "spmd/emit/exchange.h"
#include "spmd/emit/host_calls.h"
#include "spmd/emit/plan_builder.h"
#include "spmd/lower/loop_regions.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using plan::PlanValueId;

ir::AsRegions::Kind RegionKindOf(const Instruction& i) {
  return std::get<ir::AsRegions>(*i.op->lowering).kind;
}

// ---- regions that each device runs independently ----

// Returns the axes along which devices run the instruction on different data.
LayoutKey VaryingAxesOf(const ir::Program& program, const Instruction& instruction) {
  LayoutKey key;
  for (ValueId v : instruction.operands) {
    const sharding::TensorSharding& s = program.place(v)->sharding();
    if (s.varying.empty()) continue;
    key.mesh = s.mesh->WithoutModes();
    sharding::AddTo(key.axes, s.varying);
  }
  return key;
}

void EmitDeviceRun(ProgramEmitter& emitter, const RegionItem& item,
                   const Instruction& instruction) {
  PlanParts& plan = emitter.plan();
  const DeviceRun& run = *item.per_device;
  const LayoutKey varying = VaryingAxesOf(emitter.program(), instruction);
  const bool has_effects = ir::EffectOf(instruction) != ir::Effect::kNone;
  const int32_t devices = has_effects || DependsOnDevice(run.program) ? plan.devices() : 1;
  const plan::Layout layout = MakeLayout(varying, plan.devices());
  std::vector<plan::Plan> plans;
  for (int32_t d = 0; d < devices; ++d) {
    const int32_t first =
        base::At(layout.device_of_instance, base::At(layout.instance_of_device, d));
    plans.push_back(BuildPlan(run.program, *run.schedule, plan.kernels(), plan.devices(), {},
                              {.device = d, .calls_host = has_effects && first == d}));
    for (plan::Layout& inside : plans.back().layouts) inside.device_of_instance = {d};
  }
  plan::Kernel kernel = plan.kernels().nested(std::move(plans));
  kernel.in_order = has_effects;
  if (has_effects) emitter.EndSegment();
  plan::Step step{.kernel = std::move(kernel),
                  .layout = instruction.results.empty() ? plan.LayoutFor(varying)
                                                        : emitter.LayoutOf(instruction.results[0]),
                  .in = {},
                  .out = {},
                  .note = emitter.note()};
  for (ValueId v : instruction.operands) step.in.push_back(emitter.ValueOf(v));
  emitter.AddStep(std::move(step), instruction.results);
  if (has_effects) emitter.EndSegment();
}

// ---- regions that all devices run together ----

size_t CarriesOf(const Instruction& instruction) {
  switch (RegionKindOf(instruction)) {
    case ir::AsRegions::kWhile:
      return instruction.results.size();
    case ir::AsRegions::kScan:
      return base::Size(ir::As<ir::ScanParams>(instruction.params.get()).carries);
    default:
      return 0;
  }
}

// Returns the values whose step or exchange can write to any buffer that the caller chooses. They
// exclude the program's inputs, carries of loops inside, and constants that are data.
base::IdVector<ValueId, bool> PlaceableValues(const ir::Program& program,
                                              const Schedule& schedule) {
  base::IdVector<ValueId, bool> placeable(program.values.size());
  for (const Item& item : schedule.items) {
    const Instruction& last = InstructionAt(program, item.instructions().back());
    const bool is_constant = std::holds_alternative<ir::AsConstant>(*last.op->lowering);
    const size_t first = std::holds_alternative<RegionItem>(item) ? CarriesOf(last) : 0;
    for (size_t i = first; i < item.out().size(); ++i) {
      const ValueId v = item.out()[i];
      placeable[v] = !is_constant || absl::c_linear_search(program.outputs, v);
    }
  }
  return placeable;
}

// Emits a region into `nodes`. Stores output k as the plan's value `targets[k]`; if that is
// kNoPlanValue, sets it to the value that stores the output.
void EmitRegion(ProgramEmitter& outer, const ir::Program& region, const Schedule& schedule,
                const std::vector<PlanValueId>& inputs, std::vector<PlanValueId>& targets,
                std::vector<plan::Node>& nodes) {
  PlanParts& plan = outer.plan();
  ProgramEmitter inner(plan, region, schedule, nodes, &outer);
  for (size_t i = 0; i < inputs.size(); ++i) inner.Bind(region.inputs[i], inputs[i]);
  base::IdVector<ValueId, bool> placeable = PlaceableValues(region, schedule);
  for (size_t k = 0; k < targets.size(); ++k) {
    if (targets[k] == plan::kNoPlanValue) continue;
    const ValueId root = inner.Storage(region.outputs[k]);
    const plan::PlanValue& target = plan.value(targets[k]);
    if (!placeable[root] || inner.LayoutOf(root) != target.layout ||
        inner.Bytes(root) != target.bytes)
      continue;
    placeable[root] = false;
    inner.Bind(root, targets[k]);
  }
  inner.EmitItems();
  inner.SetNote(outer.note());
  for (size_t k = 0; k < targets.size(); ++k) {
    const PlanValueId value = inner.ValueOf(region.outputs[k]);
    if (targets[k] == plan::kNoPlanValue)
      targets[k] = value;
    else if (value != targets[k])
      inner.AddCopy(value, targets[k]);
  }
  inner.EndSegment();
}

// If every device has its own copy of the predicate or index by which all devices choose, adds a
// host call that compares the copies.
void AddComparison(ProgramEmitter& emitter, PlanValueId value, const Instruction& chooser,
                   const ir::Program& made_in, ValueId predicate, std::vector<plan::Node>& nodes) {
  PlanParts& plan = emitter.plan();
  const plan::Layout& layout = plan.layout(plan.value(value).layout);
  if (layout.instances > 1)
    nodes.emplace_back(MakeHostCall(MakePredicateComparison(chooser, made_in, predicate),
                                    {{value, made_in.place(predicate), &layout}},
                                    plan.runner().device, emitter.note()));
}

// A loop, and the values that its body reads and stores.
struct LoopDraft {
  plan::Loop loop;
  std::vector<PlanValueId> inputs, targets;
};

// Binds the result of each carry to the value that the loop carries. A carry that the body returns
// unchanged needs no value of its own.
void AddCarries(ProgramEmitter& emitter, const RegionItem& item, const Instruction& instruction,
                size_t constants, LoopDraft& draft) {
  PlanParts& plan = emitter.plan();
  const ir::Program& body = *instruction.regions.back();
  const ScheduledValues& inside = item.schedules.back()->values;
  for (size_t i = 0; i < CarriesOf(instruction); ++i) {
    const ValueId input = body.inputs[constants + i], result = instruction.results[i];
    const PlanValueId start = emitter.ValueOf(instruction.operands[constants + i]);
    PlanValueId value = start, next = plan::kNoPlanValue;
    const bool is_unchanged = inside[body.outputs[i]].storage == inside[input].storage &&
                              plan.value(start).kind != plan::ValueKind::kConstant &&
                              plan.value(start).layout == emitter.LayoutOf(result);
    if (!is_unchanged) {
      value = plan.AddValue(emitter.LayoutOf(result), emitter.Bytes(result));
      next = plan.AddValue(emitter.LayoutOf(result), emitter.Bytes(result));
      emitter.AddCopy(start, value);
      draft.loop.carries.push_back({value, next});
    }
    emitter.Bind(result, value);
    draft.inputs.push_back(value);
    draft.targets.push_back(next);
  }
}

// Adds the operands that a scan reads by slices, and the results that it stores by slices.
void AddSlices(ProgramEmitter& emitter, const Instruction& instruction, const ir::ScanParams& scan,
               LoopDraft& draft) {
  PlanParts& plan = emitter.plan();
  draft.loop.trips = scan.length;
  draft.loop.reverse = scan.reverse;
  const auto add_slice = [&](PlanValueId whole) {
    const int64_t bytes = plan.value(whole).bytes / std::max<int64_t>(scan.length, 1);
    return plan.AddValue(plan.value(whole).layout, bytes);
  };
  for (size_t i = draft.inputs.size(); i < instruction.operands.size(); ++i) {
    const PlanValueId whole = emitter.ValueOf(instruction.operands[i]);
    draft.loop.reads.push_back({whole, add_slice(whole)});
    draft.inputs.push_back(draft.loop.reads.back().slice);
  }
  for (size_t i = base::Size(scan.carries); i < instruction.results.size(); ++i) {
    const PlanValueId whole = emitter.Define(instruction.results[i]);
    draft.loop.writes.push_back({whole, add_slice(whole)});
    draft.targets.push_back(draft.loop.writes.back().slice);
  }
}

void EmitCondition(ProgramEmitter& emitter, const RegionItem& item, const Instruction& instruction,
                   LoopDraft& draft) {
  const ir::Program& condition = *instruction.regions[0];
  std::vector<PlanValueId> predicate{plan::kNoPlanValue};
  EmitRegion(emitter, condition, *item.schedules[0], draft.inputs, predicate, draft.loop.condition);
  draft.loop.predicate = predicate[0];
  AddComparison(emitter, predicate[0], instruction, condition, condition.outputs[0],
                draft.loop.condition);
}

// `scan`: null for a while loop.
void EmitLoop(ProgramEmitter& emitter, const RegionItem& item, const Instruction& instruction,
              int64_t constants, const ir::ScanParams* scan) {
  LoopDraft draft;
  for (size_t i = 0; i < base::Size(constants); ++i)
    draft.inputs.push_back(emitter.ValueOf(instruction.operands[i]));
  AddCarries(emitter, item, instruction, base::Size(constants), draft);
  if (scan) AddSlices(emitter, instruction, *scan, draft);
  emitter.EndSegment();
  if (!scan) EmitCondition(emitter, item, instruction, draft);
  EmitRegion(emitter, *instruction.regions.back(), *item.schedules.back(), draft.inputs,
             draft.targets, draft.loop.body);
  emitter.AddNode(std::move(draft.loop));
}

void EmitSwitch(ProgramEmitter& emitter, const RegionItem& item, const Instruction& instruction,
                std::vector<plan::Node>& before) {
  plan::Switch node;
  const ValueId index = instruction.operands[0];
  node.index = emitter.ValueOf(index);
  AddComparison(emitter, node.index, instruction, emitter.program(), index, before);
  node.dtype = emitter.program().type(index)->dtype();
  std::vector<PlanValueId> inputs;
  for (size_t i = 1; i < instruction.operands.size(); ++i)
    inputs.push_back(emitter.ValueOf(instruction.operands[i]));
  for (ValueId v : instruction.results) node.results.push_back(emitter.Define(v));
  node.branches.resize(instruction.regions.size());
  for (size_t k = 0; k < instruction.regions.size(); ++k) {
    std::vector<PlanValueId> targets = node.results;
    EmitRegion(emitter, *instruction.regions[k], *item.schedules[k], inputs, targets,
               node.branches[k]);
  }
  before.emplace_back(std::move(node));
}

}  // namespace

void EmitRegions(ProgramEmitter& emitter, const RegionItem& item) {
  const Instruction& instruction = InstructionAt(emitter.program(), item.instruction);
  if (item.per_device) return EmitDeviceRun(emitter, item, instruction);
  const ir::Params* params = instruction.params.get();
  switch (RegionKindOf(instruction)) {
    case ir::AsRegions::kWhile:
      return EmitLoop(emitter, item, instruction, ir::As<ir::WhileParams>(params).constants,
                      nullptr);
    case ir::AsRegions::kScan: {
      const auto& scan = ir::As<ir::ScanParams>(params);
      return EmitLoop(emitter, item, instruction, scan.constants, &scan);
    }
    default: {
      std::vector<plan::Node> nodes;
      EmitSwitch(emitter, item, instruction, nodes);
      for (plan::Node& node : nodes) emitter.AddNode(std::move(node));
    }
  }
}

}  // namespace tessera::spmd
