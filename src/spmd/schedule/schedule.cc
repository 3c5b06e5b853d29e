// Lays out values, and forms the items of a program in its order.
#include "spmd/schedule/schedule.h"

#include <absl/container/flat_hash_map.h>

#include "sharding/local.h"
#include "spmd/schedule/fusion_groups.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

bool IsMoveOp(const Instruction& i) {
  return std::holds_alternative<ir::AsMove>(*i.op->lowering) ||
         std::holds_alternative<ir::AsPermute>(*i.op->lowering);
}

// ---- layouts ----

enum class BufferSharing : uint8_t { kShared, kPerDevice };

LayoutKey LayoutKeyOf(const sharding::TensorSharding& s, BufferSharing buffers) {
  if (!s.mesh) return {};
  LayoutKey key{s.mesh->WithoutModes(), sharding::VaryingAxes(s)};
  if (buffers == BufferSharing::kPerDevice) {
    key.axes.clear();
    for (int a = 0; a < key.mesh->rank(); ++a)
      if (key.mesh->axis_size(a) > 1) key.axes.push_back(sharding::WholeAxis(*key.mesh, a));
  }
  if (key.axes.empty()) key.mesh = nullptr;
  return key;
}

LayoutId LayoutIdOf(LayoutKey key, base::IdVector<LayoutId, LayoutKey>& layouts) {
  for (LayoutId l : layouts.ids())
    if (layouts[l] == key) return l;
  return layouts.Add(std::move(key));
}

// Sets the layout of every value. A value without a mesh has one buffer, whatever mesh its
// program has.
void AssignLayouts(const ir::Program& device, const ir::ValueSet& shares, Schedule& schedule) {
  absl::flat_hash_map<std::pair<const ir::Type*, BufferSharing>, LayoutId> known;
  schedule.values = ScheduledValues(device.values.size());
  for (ValueId v : schedule.values.ids()) {
    const ir::Type* place = device.place(v);
    const bool shared = !place->mesh() || shares.empty() || shares[v];
    const BufferSharing buffers = shared ? BufferSharing::kShared : BufferSharing::kPerDevice;
    const auto [it, is_new] = known.try_emplace({place, buffers});
    if (is_new) it->second = LayoutIdOf(LayoutKeyOf(place->sharding(), buffers), schedule.layouts);
    schedule.values[v] = {.layout = it->second, .storage = v};
  }
}

// ---- regions that devices run independently ----

// Whether devices may choose differently: the predicate or index varies over them.
bool ChoosesPerDevice(const ir::Program& device, const Instruction& i) {
  const ir::Type* choice = nullptr;
  switch (std::get<ir::AsRegions>(*i.op->lowering).kind) {
    case ir::AsRegions::kSwitch:
      choice = device.place(i.operands[0]);
      break;
    case ir::AsRegions::kWhile:
      choice = i.regions[0]->place(i.regions[0]->outputs[0]);
      break;
    default:
      return false;
  }
  return !choice->sharding().varying.empty();
}

// Returns a program of one instruction.
ir::Program ProgramOf(const ir::Program& device, const Instruction& instruction) {
  ir::Program alone;
  alone.mesh = device.mesh;
  alone.per_device = true;
  const auto add = [&](ValueId v) {
    const ir::Value& value = device.values[v];
    return alone.AddValue(value.type, value.loc, value.place);
  };
  Instruction copy = instruction;
  for (ValueId& v : copy.operands) alone.inputs.push_back(v = add(v));
  for (ValueId& v : copy.results) alone.outputs.push_back(v = add(v));
  alone.instructions.push_back(std::move(copy));
  return alone;
}

// Gives every value one buffer, in regions too.
void ShareAllBuffers(Schedule& schedule) {
  schedule.layouts.assign(schedule.layouts.size(), LayoutKey{});
  for (Item& item : schedule.items) {
    auto* regions = std::get_if<RegionItem>(&item);
    if (!regions) continue;
    for (std::shared_ptr<const Schedule>& region : regions->schedules) {
      Schedule copy = *region;
      ShareAllBuffers(copy);
      region = std::make_shared<const Schedule>(std::move(copy));
    }
  }
}

std::shared_ptr<const DeviceRun> DeviceRunOf(const ir::Program& device,
                                             const Instruction& instruction,
                                             RegionScheduling schedule_region) {
  DeviceRun run{.program = ProgramOf(device, instruction), .schedule = nullptr};
  Schedule schedule = schedule_region(run.program, {}, RunBy::kOneDevice);
  ShareAllBuffers(schedule);
  run.schedule = std::make_shared<const Schedule>(std::move(schedule));
  return std::make_shared<const DeviceRun>(std::move(run));
}

// ---- items ----

// Makes the items of one program.
struct ItemMaker {
  const ir::Program& device;
  const ir::ValueSet& shares;
  RegionScheduling schedule_region;
  RunBy run_by;

  Item ItemOf(InstructionId i) const {
    const Instruction& instruction = InstructionAt(device, i);
    if (!instruction.regions.empty()) return RegionItemOf(i);
    if (std::holds_alternative<ir::AsHostCall>(*instruction.op->lowering))
      return HostCallItem{.instruction = i};
    if (IsMoveOp(instruction)) return MoveItem{.instructions = {i}};
    return KernelItem{.instruction = i};
  }

  Item ItemOf(FusionGroup group) const {
    const InstructionId first = group.instructions[0];
    const bool elementwise =
        std::holds_alternative<ir::AsElementwise>(*InstructionAt(device, first).op->lowering);
    // A reduction that no other op joins has a kernel of its own.
    if (group.instructions.size() == 1 && !elementwise) return KernelItem{.instruction = first};
    return FusedItem{.instructions = std::move(group.instructions),
                     .space = std::move(group.space),
                     .reduced = group.reduced};
  }

  // The values that a region defines share buffers as the results of its instruction do.
  RegionItem RegionItemOf(InstructionId i) const {
    const Instruction& instruction = InstructionAt(device, i);
    RegionItem item{.instruction = i, .schedules = {}};
    RunBy inside = run_by;
    if (run_by == RunBy::kAllDevices && ChoosesPerDevice(device, instruction)) {
      item.per_device = DeviceRunOf(device, instruction, schedule_region);
      inside = RunBy::kOneDevice;
    }
    const bool shared =
        shares.empty() || instruction.results.empty() || shares[instruction.results[0]];
    for (const ir::RegionPtr& region : instruction.regions) {
      ir::ValueSet own(shared ? 0 : region->values.size(), false);
      item.schedules.push_back(
          std::make_shared<const Schedule>(schedule_region(*region, std::move(own), inside)));
    }
    return item;
  }
};

}  // namespace

std::vector<ValueId>& Item::in() {
  return std::visit([](auto& item) -> std::vector<ValueId>& { return item.in; }, *this);
}
std::vector<ValueId>& Item::out() {
  return std::visit([](auto& item) -> std::vector<ValueId>& { return item.out; }, *this);
}
const std::vector<ValueId>& Item::in() const { return const_cast<Item*>(this)->in(); }
const std::vector<ValueId>& Item::out() const { return const_cast<Item*>(this)->out(); }

absl::Span<const InstructionId> Item::instructions() const {
  return std::visit(
      [](const auto& item) -> absl::Span<const InstructionId> {
        if constexpr (requires { item.instructions; })
          return item.instructions;
        else
          return {&item.instruction, 1};
      },
      *this);
}

Schedule Fuse(const ir::Program& device, const ir::ValueSet& shares,
              RegionScheduling schedule_region, RunBy run_by) {
  Schedule schedule;
  AssignLayouts(device, shares, schedule);
  FusionGroups fused = FindFusionGroups(device, schedule.values);
  const ItemMaker maker{device, shares, schedule_region, run_by};
  base::IdVector<InstructionId, FusionGroupId> runs_here(device.instructions.size(),
                                                         kNoFusionGroup);
  for (FusionGroupId g : fused.groups.ids())
    if (fused.groups[g].runs_at != kNoInstruction) runs_here[fused.groups[g].runs_at] = g;
  for (InstructionId i : InstructionIds(device)) {
    if (runs_here[i] != kNoFusionGroup)
      schedule.items.push_back(maker.ItemOf(std::move(fused.groups[runs_here[i]])));
    else if (fused.group_of[i] == kNoFusionGroup && !IsView(InstructionAt(device, i)))
      schedule.items.push_back(maker.ItemOf(i));
  }
  return schedule;
}

}  // namespace tessera::spmd
