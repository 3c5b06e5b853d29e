// Adds up live bytes from item to item.
#include "spmd/schedule/peak_bytes.h"

#include <absl/algorithm/container.h>

#include <algorithm>

namespace tessera::spmd {

using ir::ValueId;

namespace {

// Returns the most bytes that one region of the item holds in addition to its inputs.
int64_t RegionBytes(const ir::Program& device, const Item& item) {
  const auto* regions = std::get_if<RegionItem>(&item);
  if (!regions) return 0;
  int64_t most = 0;
  for (size_t r = 0; r < regions->schedules.size(); ++r) {
    const ir::Program& region = *InstructionAt(device, regions->instruction).regions[r];
    int64_t inputs = 0;
    for (ValueId v : region.inputs) inputs += ShardBytes(region, v);
    most = std::max(most, PeakBytes(region, *regions->schedules[r]) - inputs);
  }
  return most;
}

// Returns the last item that reads each buffer; one past the last for buffers that are never freed.
base::IdVector<ValueId, size_t> LastReads(const ir::Program& device, const Schedule& schedule) {
  base::IdVector<ValueId, size_t> last(device.values.size(), 0);
  const size_t end = schedule.items.size();
  for (size_t k = 0; k < end; ++k)
    for (ValueId v : schedule.items[k].in()) last[schedule.values[v].storage] = k;
  for (ValueId v : device.outputs) last[schedule.values[v].storage] = end;
  for (ValueId v : device.inputs) last[v] = end;
  for (const ir::Capture& c : device.captures) last[c.value] = end;
  return last;
}

}  // namespace

int64_t PeakBytes(const ir::Program& device, const Schedule& schedule) {
  const base::IdVector<ValueId, size_t> last = LastReads(device, schedule);
  int64_t live = 0;
  for (ValueId v : device.inputs) live += ShardBytes(device, v);
  for (const ir::Capture& c : device.captures) live += ShardBytes(device, c.value);
  int64_t peak = live;
  for (size_t k = 0; k < schedule.items.size(); ++k) {
    const Item& item = schedule.items[k];
    for (ValueId v : item.out()) live += ShardBytes(device, v);
    peak = std::max(peak, live + RegionBytes(device, item));
    std::vector<ValueId> buffers;
    for (const auto* values : {&item.in(), &item.out()})
      for (ValueId v : *values) buffers.push_back(schedule.values[v].storage);
    absl::c_sort(buffers);
    buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
    for (ValueId v : buffers)
      if (last[v] <= k) live -= ShardBytes(device, v);
  }
  return peak;
}

}  // namespace tessera::spmd
