// The steps of a device program in the order they run: fused groups, single kernels and exchanges,
// with the layout of every value.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "ir/program.h"
#include "spmd/schedule/reads.h"

namespace tessera::spmd {

// Mesh axes along which devices hold different bits, on one mesh; the layout of a value.
struct LayoutKey {
  const sharding::MeshDef* mesh = nullptr;  // null: all devices hold the same
  sharding::AxisList axes;
  friend bool operator==(const LayoutKey&, const LayoutKey&) = default;
};

struct Schedule;

struct Item {
  enum Kind : uint8_t { kKernel, kFused, kMove, kRegion, kHostCall } kind;
  // Of the device program, in order; one, unless they are fused, or moves that run as one.
  std::vector<int32_t> instructions;
  std::vector<ir::ValueId> in = {}, out = {};  // values that cross the item's border
  base::Shape space = {};                      // kFused: the iteration space
  int32_t reduced = 0;                         // kFused: trailing dims of it that are reduced over
  std::map<ir::ValueId, int32_t> made_here =
      {};  // kFused: literals, indices and views of them, and what makes them
  // kFused, kMove: operands that are parts of those in `in`.
  std::map<ir::ValueId, ReadParts> reads = {};
  // kMove: `out` is not the move's result but this part of it, which is all of it in another order.
  std::optional<ReadPart> stored = {};
  // kMove: a group that is computed on the way, of the move's result or of what becomes its
  // operand.
  std::shared_ptr<const Item> each = {};
  std::vector<std::shared_ptr<const Schedule>> schedules = {};  // kRegion: one per region
};

// Where a value is.
struct ScheduledValue {
  int32_t layout = 0;        // of Schedule::layouts
  ir::ValueId storage = -1;  // the value whose buffer it is: of a view another one
};

struct Schedule {
  std::vector<Item> items;
  std::vector<LayoutKey> layouts;
  std::vector<ScheduledValue> values;  // those of the program
};

// `shares[v]`: devices that hold equal bits of v share a buffer; else each has its own.
Schedule MakeSchedule(const ir::Program& device, const std::vector<bool>& shares);

// Returns the schedule of one device by itself: every value is one buffer.
Schedule AloneOn(Schedule s);

}  // namespace tessera::spmd
