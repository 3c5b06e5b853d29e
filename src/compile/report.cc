// Lists the collectives of a device program, those in loops and branches with how often they run.
#include "compile/report.h"

#include <algorithm>
#include <cmath>

#include "base/at.h"
#include "base/error.h"
#include "spmd/cost.h"
#include "spmd/moves.h"

namespace tessera::compile {
namespace {

// The steps that reports call by their names, by kind.
constexpr sharding::StepKind kSteps[] = {
    sharding::StepKind::kAllReduce,         sharding::StepKind::kReduceScatter,
    sharding::StepKind::kAllGather,         sharding::StepKind::kAllToAll,
    sharding::StepKind::kCollectivePermute, sharding::StepKind::kHaloExchange};
static_assert(std::size(kSteps) == static_cast<size_t>(CommKind::kHaloExchange) + 1);

CommKind KindOf(sharding::StepKind kind) {
  const auto* at = std::find(std::begin(kSteps), std::end(kSteps), kind);
  return at == std::end(kSteps) ? CommKind::kCollectivePermute
                                : static_cast<CommKind>(at - std::begin(kSteps));
}

// `in_backward`: the whole program runs in a backward pass.
void AddEvents(const ir::Program& device, spmd::Times outer, bool in_backward,
               std::vector<CommEvent>& events) {
  for (const ir::Instruction& instruction : device.instructions) {
    const bool backward = in_backward || instruction.loc.is_backward();
    if (!instruction.regions.empty()) {
      spmd::Times inner = spmd::TimesOf(instruction);
      inner = {outer.times * inner.times, outer.known && inner.known};
      for (const ir::RegionPtr& region : instruction.regions)
        AddEvents(*region, inner, backward, events);
    }
    const ir::Cost& cost = *instruction.cost;
    if (cost.bytes == 0 || outer.times == 0) continue;
    CommEvent e{.kind = KindOf(spmd::KindOf(*instruction.op)),
                .axes = {},
                .bytes = cost.bytes,
                .times = outer.times,
                .where = base::Where(instruction.loc),
                .backward = backward,
                .implied = cost.implied,
                .repeats = !outer.known};
    const sharding::MeshDef* mesh = device.place(instruction.results[0])->mesh();
    for (sharding::AxisPart a : cost.axes) {
      const std::string& name = base::At(mesh->axes(), a.axis).name;
      if (e.axes.empty() || e.axes.back() != name) e.axes.push_back(name);
    }
    events.push_back(std::move(e));
  }
}

int64_t DevicesOf(const ir::Program& device) {
  int64_t devices = device.mesh ? device.mesh->size() : 1;
  for (const ir::Value& v : device.values)
    if (v.place->mesh()) devices = std::max(devices, v.place->mesh()->size());
  return devices;
}

}  // namespace

CommReport Report(const ir::Program& device) {
  std::vector<CommEvent> events;
  AddEvents(device, {}, /*in_backward=*/false, events);
  spmd::Flops flops = spmd::FlopsOf(device);
  // What no int64_t can hold is the most that it can.
  auto whole = [](double n) { return n < 9.2e18 ? static_cast<int64_t>(std::ceil(n)) : INT64_MAX; };
  return CommReport(std::move(events), whole(flops.device),
                    whole(flops.whole / static_cast<double>(DevicesOf(device))));
}

}  // namespace tessera::compile

namespace tessera {

const char* comm_name(CommKind kind) { return sharding::Name(base::At(compile::kSteps, kind)); }

}  // namespace tessera
