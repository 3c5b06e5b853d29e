// The steps of a device program in the order they run, with the layout of every value.
#pragma once
#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "spmd/definitions.h"
#include "spmd/schedule/reads.h"

namespace tessera::spmd {

// The mesh axes along which devices hold different data.
struct LayoutKey {
  const sharding::MeshDef* mesh = nullptr;  // null: all devices share one buffer
  sharding::AxisList axes;
  friend bool operator==(const LayoutKey&, const LayoutKey&) = default;
};
// An index into Schedule::layouts.
enum class LayoutId : int32_t {};

struct Schedule;

// In every item, `in` are the values that it reads from memory, `out` those that it stores there.

// One instruction that has a kernel of its own.
struct KernelItem {
  InstructionId instruction;
  std::vector<ir::ValueId> in = {}, out = {};
  // If not empty, the result is copied out of values in `in`, in these parts. The instruction's own
  // operands need not be in memory.
  ReadParts copied = {};
  // Not empty: operand 0 is not in memory. The kernel runs on one tile of it after the other, and
  // first copies the tile out of values in `in`, in these parts. There is a tile for each index of
  // the first `tile_dims` dims. The other operands are last in `in`.
  ReadParts assembled = {};
  int64_t tile_dims = 0;
};

// Instructions that one fused kernel runs, in program order.
struct FusedItem {
  std::vector<InstructionId> instructions;
  std::vector<ir::ValueId> in = {}, out = {};
  base::Shape space;    // the iteration space
  int32_t reduced = 0;  // the number of its trailing dims over which reductions in the group run
  // Operands that the group rematerialises (literals, iotas and views of them), with the
  // instruction that defines the literal or iota.
  std::map<ir::ValueId, InstructionId> rematerialised = {};
  // Operands that are not in memory: the group reads their elements out of values in `in`.
  std::map<ir::ValueId, ReadParts> reads = {};
};

// A move between shardings, or several reductions that run as one exchange.
struct MoveItem {
  std::vector<InstructionId> instructions;  // in program order
  std::vector<ir::ValueId> in = {}, out = {};
  // As in FusedItem; one part each.
  std::map<ir::ValueId, ReadParts> reads = {};
  // If set, the move writes its result in another order. `out` is this part of the result, and
  // holds each of its elements once.
  std::optional<ReadPart> stored = {};
  // If not null, an elementwise group of one operand and one result that the move computes on the
  // way. The operand is the move's result, or the result is the move's operand.
  std::shared_ptr<const FusedItem> computes = {};
};

// One device's run of a region instruction, which needs no other device.
struct DeviceRun {
  ir::Program program;  // the instruction alone: its operands are inputs, its results outputs
  std::shared_ptr<const Schedule> schedule;
};

// A loop or a branch.
struct RegionItem {
  InstructionId instruction;
  std::vector<ir::ValueId> in = {}, out = {};
  std::vector<std::shared_ptr<const Schedule>> schedules;  // one per region
  // Not null if the predicate or index varies over devices. Each device then runs the
  // instruction independently.
  std::shared_ptr<const DeviceRun> per_device = {};
};

struct HostCallItem {
  InstructionId instruction;
  std::vector<ir::ValueId> in = {}, out = {};
};

struct Item : std::variant<KernelItem, FusedItem, MoveItem, RegionItem, HostCallItem> {
  using variant::variant;

  std::vector<ir::ValueId>& in();
  std::vector<ir::ValueId>& out();
  const std::vector<ir::ValueId>& in() const;
  const std::vector<ir::ValueId>& out() const;
  absl::Span<const InstructionId> instructions() const;
};

struct ScheduledValue {
  LayoutId layout{0};
  ir::ValueId storage = kNoValue;  // the value whose buffer holds it; itself unless it is a view
};
using ScheduledValues = base::IdVector<ir::ValueId, ScheduledValue>;

struct Schedule {
  std::vector<Item> items;
  base::IdVector<LayoutId, LayoutKey> layouts;
  ScheduledValues values;
};

// Who runs a program: all devices together, or each device independently.
enum class RunBy : uint8_t { kAllDevices, kOneDevice };

// Returns the schedule of a region's program. `shares`: as for Fuse.
using RegionScheduling =
    absl::FunctionRef<Schedule(const ir::Program& region, ir::ValueSet shares, RunBy)>;

// Gives every value a layout, and puts instructions that one kernel can run into fused groups. The
// items have no live values yet. If `shares[v]` is false, every device has its own buffer for v; if
// it is true, or `shares` is empty, devices with equal data share one.
Schedule Fuse(const ir::Program& device, const ir::ValueSet& shares,
              RegionScheduling schedule_region, RunBy run_by = RunBy::kAllDevices);

}  // namespace tessera::spmd
