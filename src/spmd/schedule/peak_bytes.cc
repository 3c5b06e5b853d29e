// How much memory a schedule needs at most.
#include "spmd/schedule/peak_bytes.h"

#include <algorithm>

#include "base/at.h"

namespace tessera::spmd {

using ir::ValueId;

namespace {
int64_t Bytes(const ir::Program& device, ValueId v) {
  return device.type(v)->elements() * device.type(v)->dtype().size();
}

// Returns the most bytes that one of the item's regions holds beside its inputs.
int64_t RegionBytes(const ir::Program& device, const Item& item) {
  int64_t most = 0;
  for (size_t r = 0; r < item.schedules.size(); ++r) {
    const ir::Program& region = *base::At(device.instructions, item.instructions[0]).regions[r];
    int64_t inputs = 0;
    for (ValueId v : region.inputs) inputs += Bytes(region, v);
    most = std::max(most, PeakBytes(region, *item.schedules[r]) - inputs);
  }
  return most;
}
}  // namespace

int64_t PeakBytes(const ir::Program& device, const Schedule& schedule) {
  auto storage = [&](ValueId v) { return base::At(schedule.values, v).storage; };
  // Per storage: the last item that reads it, one behind all for what is never freed.
  std::vector<size_t> last(device.values.size(), 0);
  const size_t end = schedule.items.size();
  for (size_t k = 0; k < end; ++k)
    for (ValueId v : schedule.items[k].in) base::At(last, storage(v)) = k;
  for (ValueId v : device.outputs) base::At(last, storage(v)) = end;
  int64_t live = 0, peak = 0;
  auto keep = [&](ValueId v) {
    base::At(last, v) = end;
    live += Bytes(device, v);
  };
  for (ValueId v : device.inputs) keep(v);
  for (const ir::Capture& c : device.captures) keep(c.value);
  for (size_t k = 0; k < end; ++k) {
    const Item& item = schedule.items[k];
    for (ValueId v : item.out) live += Bytes(device, v);
    peak = std::max(peak, live + RegionBytes(device, item));
    std::vector<ValueId> freed;
    for (const auto* values : {&item.in, &item.out})
      for (ValueId v : *values) freed.push_back(storage(v));
    std::sort(freed.begin(), freed.end());
    freed.erase(std::unique(freed.begin(), freed.end()), freed.end());
    for (ValueId v : freed)
      if (base::At(last, v) <= k) live -= Bytes(device, v);
  }
  return std::max(peak, live);
}

}  // namespace tessera::spmd
