#include "compile/report.h"

#include <algorithm>
#include <cmath>

#include "base/defaults.h"
#include "spmd/moves.h"

namespace tessera::compile {
namespace {

CommKind KindOf(sharding::StepKind kind) {
  switch (kind) {
    case sharding::StepKind::kAllReduce:
      return CommKind::kAllReduce;
    case sharding::StepKind::kReduceScatter:
      return CommKind::kReduceScatter;
    case sharding::StepKind::kAllGather:
      return CommKind::kAllGather;
    case sharding::StepKind::kAllToAll:
      return CommKind::kAllToAll;
    case sharding::StepKind::kHaloExchange:
      return CommKind::kHaloExchange;
    default:
      return CommKind::kCollectivePermute;
  }
}

void AddEvents(const spmd::DeviceProgram& device, spmd::Times outer,
               std::vector<CommEvent>& events) {
  for (size_t i = 0; i < device.program.instructions.size(); ++i) {
    const ir::Instruction& instruction = device.program.instructions[i];
    const spmd::Note& note = device.notes[i];
    if (!note.regions.empty()) {
      spmd::Times inner = spmd::TimesOf(instruction);
      inner = {outer.times * inner.times, outer.known && inner.known};
      for (const auto& region : note.regions) AddEvents(*region, inner, events);
    }
    if (note.bytes == 0 || outer.times == 0) continue;
    CommEvent e{.kind = KindOf(spmd::KindOf(*instruction.op)),
                .axes = {},
                .bytes = note.bytes,
                .times = outer.times,
                .where = base::Where(instruction.loc),
                .implied = note.implied,
                .repeats = !outer.known};
    const sharding::MeshDef* mesh =
        device.placed[static_cast<size_t>(instruction.results[0])]->mesh();
    for (sharding::AxisRef a : note.axes) {
      const std::string& name = mesh->axes()[static_cast<size_t>(a.axis)].name;
      if (e.axes.empty() || e.axes.back() != name) e.axes.push_back(name);
    }
    events.push_back(std::move(e));
  }
}

int64_t DevicesOf(const spmd::DeviceProgram& device) {
  int64_t devices = device.program.mesh ? device.program.mesh->size() : 1;
  for (const ir::Type* placed : device.placed)
    if (placed->mesh()) devices = std::max(devices, placed->mesh()->size());
  return devices;
}

}  // namespace

const char* Name(CommKind kind) {
  constexpr const char* kNames[] = {"all_reduce", "reduce_scatter",     "all_gather",
                                    "all_to_all", "collective_permute", "halo_exchange"};
  return kNames[static_cast<int>(kind)];
}

CommReport Report(const spmd::DeviceProgram& device) {
  std::vector<CommEvent> events;
  AddEvents(device, {}, events);
  spmd::Flops flops = spmd::FlopsOf(device);
  // What no int64_t can hold is the most that it can.
  auto whole = [](double n) { return n < 9.2e18 ? static_cast<int64_t>(std::ceil(n)) : INT64_MAX; };
  return CommReport(std::move(events), whole(flops.device),
                    whole(flops.whole / static_cast<double>(DevicesOf(device))));
}

}  // namespace tessera::compile
