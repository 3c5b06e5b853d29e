// Lists the collectives of a device program, and how often those in loops and branches run.
#include "compile/inspect/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/at.h"
#include "base/error.h"
#include "sharding/axes.h"
#include "spmd/cost.h"
#include "spmd/definitions.h"
#include "spmd/moves.h"

namespace tessera::compile {
namespace {

// Returns the kind that a step between devices has in reports.
CommKind CommKindOf(sharding::StepKind kind) {
  using enum sharding::StepKind;
  switch (kind) {
    case kAllReduce:
      return CommKind::kAllReduce;
    case kReduceScatter:
      return CommKind::kReduceScatter;
    case kAllGather:
      return CommKind::kAllGather;
    case kAllToAll:
      return CommKind::kAllToAll;
    case kCollectivePermute:
      return CommKind::kCollectivePermute;
    case kHaloExchange:
      return CommKind::kHaloExchange;
    case kAllSlice:
    case kReplicatedToUnreduced:
    case kShardedToUnreduced:
    case kPadToShards:
    case kTrim:
    case kCopyToEach:
      break;
  }
  ErrorDetail detail;
  detail.op = sharding::Name(kind);
  detail.reason = "it is local, but has bytes that leave a device";
  base::ThrowInternal(std::move(detail));
}

// Adds the texts of axes and of parts of axes. Adjacent parts of one axis are written as one part
// if possible.
void AddAxes(const sharding::MeshDef& mesh, const sharding::AxisList& axes,
             std::vector<std::string>& texts) {
  for (size_t begin = 0, end = 0; begin < axes.size(); begin = end) {
    sharding::AxisList parts;
    while (end < axes.size() && axes[end].axis == axes[begin].axis) parts.push_back(axes[end++]);
    sharding::SortAndMerge(parts);
    for (sharding::AxisPart part : parts) texts.push_back(sharding::PlainAxisText(mesh, part));
  }
}

bool IsMove(const ir::Instruction& i) {
  return std::holds_alternative<ir::AsMove>(*i.op->lowering) ||
         std::holds_alternative<ir::AsPermute>(*i.op->lowering);
}

// The ops around the moves of a program: those that make the values, and those that need them.
class Causes {
 public:
  Causes(const ir::Program& device, bool is_region)
      : device_(device), is_region_(is_region), definitions_(spmd::DefinitionsOf(device)) {
    readers_.assign(device.values.size(), nullptr);
    for (const ir::Instruction& i : device.instructions)
      for (ir::ValueId v : i.operands)
        if (!readers_[v]) readers_[v] = &i;
  }

  void Add(const ir::Instruction& move, CommEvent& e) const {
    ir::ValueId sent = move.operands[0];
    const ir::Instruction* maker = MakerOf(sent);
    while (maker && IsMove(*maker)) maker = MakerOf(sent = maker->operands[0]);
    e.made_by = maker ? std::string(maker->op->name) : "argument";
    e.made_at = maker ? base::Where(maker->loc) : NumberOf(sent);
    const ir::Instruction* reader = &move;
    while (reader && IsMove(*reader)) reader = readers_[reader->results[0]];
    e.read_by = reader ? std::string(reader->op->name) : "return";
    if (reader) e.read_at = base::Where(reader->loc);
    if (move.params) e.change = move.params->text();
    e.scope = move.loc.scope();
  }

 private:
  const ir::Instruction* MakerOf(ir::ValueId v) const {
    const ir::InstructionId i = definitions_[v];
    return i == spmd::kNoInstruction ? nullptr : &spmd::InstructionAt(device_, i);
  }

  // Returns "%3" for an argument or a captured array, as program text does; "" in a region, where
  // numbers depend on the program around it.
  std::string NumberOf(ir::ValueId v) const {
    if (is_region_) return "";
    std::vector<ir::ValueId> arguments = device_.inputs;
    for (const ir::Capture& c : device_.captures) arguments.push_back(c.value);
    return fmt::format("%{}", std::ranges::find(arguments, v) - arguments.begin());
  }

  const ir::Program& device_;
  const bool is_region_;
  const spmd::ValueDefinitions definitions_;
  base::IdVector<ir::ValueId, const ir::Instruction*> readers_;
};

// `in_backward`: the whole program runs in a backward pass.
void AddEvents(const ir::Program& device, bool is_region, spmd::Times outer, bool in_backward,
               std::vector<CommEvent>& events) {
  const Causes causes(device, is_region);
  for (const ir::Instruction& instruction : device.instructions) {
    const bool backward = in_backward || instruction.loc.is_backward();
    if (!instruction.regions.empty()) {
      spmd::Times inner = spmd::TimesOf(instruction);
      inner = {outer.times * inner.times, outer.known && inner.known};
      for (const ir::RegionPtr& region : instruction.regions)
        AddEvents(*region, /*is_region=*/true, inner, backward, events);
    }
    const ir::Cost& cost = *instruction.cost;
    if (cost.bytes == 0 || outer.times == 0) continue;
    CommEvent e{.kind = CommKindOf(spmd::KindOf(*instruction.op)),
                .axes = {},
                .bytes = cost.bytes,
                .times = outer.times,
                .where = base::Where(instruction.loc),
                .backward = backward,
                .implied = cost.implied,
                .repeats = !outer.known};
    const sharding::MeshDef* mesh = device.place(instruction.results[0])->mesh();
    AddAxes(*mesh, cost.axes, e.axes);
    causes.Add(instruction, e);
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

std::string AxisNameOf(const std::string& axis) { return axis.substr(0, axis.rfind(":(")); }

CommReport Report(const ir::Program& device) {
  std::vector<CommEvent> events;
  AddEvents(device, /*is_region=*/false, {}, /*in_backward=*/false, events);
  spmd::Flops flops = spmd::FlopsOf(device);
  // A number above the largest int64_t becomes that.
  auto whole = [](double n) { return n < 9.2e18 ? static_cast<int64_t>(std::ceil(n)) : INT64_MAX; };
  return CommReport(std::move(events), whole(flops.device),
                    whole(flops.whole / static_cast<double>(DevicesOf(device))));
}

}  // namespace tessera::compile

namespace tessera {

const char* comm_name(CommKind kind) {
  using enum sharding::StepKind;
  switch (kind) {
    case CommKind::kAllReduce:
      return sharding::Name(kAllReduce);
    case CommKind::kReduceScatter:
      return sharding::Name(kReduceScatter);
    case CommKind::kAllGather:
      return sharding::Name(kAllGather);
    case CommKind::kAllToAll:
      return sharding::Name(kAllToAll);
    case CommKind::kCollectivePermute:
      return sharding::Name(kCollectivePermute);
    case CommKind::kHaloExchange:
      return sharding::Name(kHaloExchange);
  }
  return "";
}

std::vector<CommEvent> CommReport::lines() const {
  const auto all_but_times = [](const CommEvent& e) {
    return std::tie(e.kind, e.axes, e.bytes, e.where, e.backward, e.implied, e.repeats);
  };
  std::map<decltype(all_but_times(events_[0])), size_t> known;
  std::vector<CommEvent> lines;
  for (const CommEvent& e : events_) {
    const auto [line, is_new] = known.try_emplace(all_but_times(e), lines.size());
    if (is_new)
      lines.push_back(e);
    else
      lines[line->second].times += e.times;
  }
  return lines;
}

}  // namespace tessera
