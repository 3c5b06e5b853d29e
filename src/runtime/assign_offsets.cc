// Packs by node, and by step where the steps of a node run in order.
#include "runtime/assign_offsets.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <ranges>
#include <vector>

#include "base/at.h"
#include "runtime/packer.h"

namespace tessera::runtime {
namespace {

using plan::PlanValueId;

// Assigns frame offsets to the values that live inside one node; returns their peak bytes.
int64_t PackFrame(Memory& memory, const std::vector<StorageId>& storages, size_t steps) {
  std::vector<std::vector<StorageId>> made(steps), dead(steps);
  for (StorageId i : storages) {
    made[memory.storages[i].made_step].push_back(i);
    dead[memory.storages[i].last_step].push_back(i);
  }
  Packer frame;
  for (size_t s = 0; s < steps; ++s) {
    for (StorageId i : made[s]) {
      memory.result.places[memory.storages[i].root].offset = frame.Take(memory.storages[i].bytes);
    }
    for (StorageId i : dead[s]) {
      frame.Give(memory.result.places[memory.storages[i].root].offset, memory.storages[i].bytes);
    }
  }
  memory.result.frame_bytes = std::max(memory.result.frame_bytes, frame.extent());
  return frame.peak();
}

// Assigns offsets to the values that are not in frames, from the end of the run to its start. In
// that order an output is a block that is taken from the start, and free before the output is made:
// other values are in its buffers until then.
class BlockPacker {
 public:
  explicit BlockPacker(Memory& memory) : memory_(memory), first_(memory.flow.nodes.size()) {
    for (FlowNodeId n : first_.ids()) {
      first_[n] = slots_.size();
      slots_.resize(slots_.size() + (RunsInOrder(n) ? memory.flow.nodes[n].steps.size() : 1));
    }
  }

  // `frames`: the bytes of the frames of each node.
  void Run(const base::IdVector<FlowNodeId, int64_t>& frames) {
    for (FlowNodeId n : first_.ids()) slots_[first_[n]].frame = frames[n];
    for (StorageId i : memory_.storages.ids()) Add(i);
    int64_t peak = live_;
    for (const Slot& slot : std::views::reverse(slots_)) {
      for (StorageId i : slot.dead) Take(i);
      peak = std::max(peak, live_ + slot.frame);
      for (StorageId i : slot.made) Give(i);
    }
    memory_.result.block_bytes = packer_.extent();
    memory_.result.peak_bytes = peak;
  }

 private:
  // A time in which memory does not change hands.
  struct Slot {
    std::vector<StorageId> made, dead;
    int64_t frame = 0;
  };

  // Whether each step of the node is complete before the next one starts: there is one instance.
  bool RunsInOrder(FlowNodeId n) const {
    const FlowNode& node = memory_.flow.nodes[n];
    return !node.steps.empty() && memory_.plan.layouts[node.layout].instances == 1;
  }

  Slot& SlotOf(FlowNodeId n, int32_t step) {
    return slots_[first_[n] + (RunsInOrder(n) ? base::Size(std::max(step, 0)) : 0)];
  }

  Allocation& RootOf(StorageId i) { return memory_.result.places[memory_.storages[i].root]; }

  void Add(StorageId i) {
    const StoragePlan& storage = memory_.storages[i];
    if (!storage.owned || storage.frame || RootOf(i).how != Binding::kFresh) return;
    SlotOf(storage.made_node, storage.made_step).made.push_back(i);
    if (!storage.escapes) return SlotOf(storage.last_node, storage.last_step).dead.push_back(i);
    RootOf(i).offset = packer_.TakeRegion(storage.total);
    outputs_[RootOf(i).offset] = storage.root;
    live_ += storage.bytes;
  }

  void Take(StorageId i) {
    live_ += memory_.storages[i].bytes;
    RootOf(i).offset = packer_.Take(memory_.storages[i].total);
  }

  void Give(StorageId i) {
    live_ -= memory_.storages[i].bytes;
    Allocation& place = RootOf(i);
    packer_.Give(place.offset, memory_.storages[i].total);
    if (!memory_.storages[i].escapes) Place(place);
  }

  // Says where a block is: in the run's block, or in the buffers of an output.
  void Place(Allocation& place) const {
    place.how = Binding::kBlock;
    if (place.offset >= packer_.start()) {
      place.offset -= packer_.start();
      return;
    }
    const auto output = std::prev(outputs_.upper_bound(place.offset));
    place.from = output->second;
    place.offset -= output->first;
  }

  Memory& memory_;
  std::vector<Slot> slots_;
  base::IdVector<FlowNodeId, size_t> first_;  // the first slot of a node
  std::map<int64_t, PlanValueId> outputs_;    // by the offsets of their regions
  Packer packer_;
  int64_t live_ = 0;  // bytes of a device
};

}  // namespace

void AssignOffsets(Memory& memory) {
  const size_t nodes = memory.flow.nodes.size();
  base::IdVector<FlowNodeId, std::vector<StorageId>> inside(nodes);
  for (StorageId i : memory.storages.ids())
    if (memory.storages[i].frame) inside[memory.storages[i].made_node].push_back(i);
  base::IdVector<FlowNodeId, int64_t> frames(nodes);
  for (FlowNodeId n : frames.ids())
    frames[n] = PackFrame(memory, inside[n], memory.flow.nodes[n].steps.size());
  BlockPacker(memory).Run(frames);
  for (Allocation& place : memory.result.places) {
    if (place.storage == kNoStorage || !memory.storages[place.storage].frame) continue;
    place.frame = true;
    place.offset = memory.result.places[memory.storages[place.storage].root].offset;
  }
}

}  // namespace tessera::runtime
