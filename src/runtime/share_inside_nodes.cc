// Finds for each storage, in the order in which they are made, an earlier one of its node.
#include "runtime/share_inside_nodes.h"

#include <absl/algorithm/container.h>

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace tessera::runtime {
namespace {

using plan::PlanValueId;

class NodeSharer {
 public:
  explicit NodeSharer(Memory& memory)
      : memory_(memory), plain_(memory.storages.size(), true), now_(memory.storages.size()) {
    for (const Allocation& place : memory.result.places) {
      if (place.storage != kNoStorage && place.how == Binding::kAlias)
        plain_[place.storage] = false;
    }
  }

  // Storages are numbered in the order in which they are made.
  void Run() {
    for (StorageId i : now_.ids()) {
      now_[i] = i;
      if (!CanShare(i)) continue;
      const StorageId earlier = CanBegin(i) ? TakeEarlierFor(i) : kNoStorage;
      if (earlier != kNoStorage) Merge(earlier, i);
      AddDead(now_[i]);
    }
    for (Allocation& place : memory_.result.places) {
      if (place.storage == kNoStorage || now_[place.storage] == place.storage) continue;
      place.storage = now_[place.storage];
      place.family = RootOf(place.storage).family;
    }
  }

 private:
  struct Kind {
    FlowNodeId node;  // in which they die
    int64_t bytes;
    plan::PlanLayoutId layout;
    bool frame;
    auto operator<=>(const Kind&) const = default;
  };

  Allocation& RootOf(StorageId i) { return memory_.result.places[memory_.storages[i].root]; }

  Kind KindOf(StorageId i, FlowNodeId node, bool frame) const {
    const plan::PlanValue& root = memory_.ValueOf(memory_.storages[i].root);
    return {node, root.bytes, root.layout, frame};
  }

  bool CanShare(StorageId i) {
    const StoragePlan& s = memory_.storages[i];
    return plain_[i] && s.owned && !s.swapped && !s.carry && s.total > 0 &&
           RootOf(i).how == Binding::kFresh;
  }

  // Whether a step makes it whose instances are those of the node.
  bool CanBegin(StorageId i) const {
    const StoragePlan& s = memory_.storages[i];
    const FlowNode& node = memory_.flow.nodes[s.made_node];
    return !node.steps.empty() && memory_.ValueOf(s.root).layout == node.layout;
  }

  void AddDead(StorageId i) {
    const StoragePlan& s = memory_.storages[i];
    if (!s.escapes) dead_[KindOf(i, s.last_node, s.frame)].emplace(s.last_step, i);
  }

  // Returns the last one to die, as its memory is in the caches; kNoStorage if there is none. Takes
  // the memory of a frame only if there is no other.
  StorageId TakeEarlierFor(StorageId i) {
    const StoragePlan& s = memory_.storages[i];
    for (const bool frame : {false, true}) {
      const auto found = dead_.find(KindOf(i, s.made_node, frame));
      if (found == dead_.end()) continue;
      auto& steps = found->second;
      for (auto old = steps.upper_bound(s.made_step); old != steps.begin();) {
        --old;
        const StorageId earlier = old->second;
        if (!IsDeadFor(memory_.storages[earlier], s)) continue;
        steps.erase(old);
        return earlier;
      }
    }
    return kNoStorage;
  }

  bool IsDeadFor(const StoragePlan& old, const StoragePlan& s) const {
    if (old.last_step != s.made_step) return old.last_step < s.made_step;
    const plan::Step& step = *memory_.flow.nodes[s.made_node].steps[s.made_step];
    return step.out[0] == s.root &&
           absl::c_all_of(old.newest, [&](PlanValueId v) { return CanOverwrite(step, v); });
  }

  void Merge(StorageId into, StorageId i) {
    StoragePlan &to = memory_.storages[into], &from = memory_.storages[i];
    RootOf(i).how = Binding::kSame;
    RootOf(i).from = to.root;
    to.frame = to.frame && from.frame;
    to.escapes = from.escapes;
    to.last_node = from.last_node;
    to.last_step = from.last_step;
    to.newest = from.newest;
    from.owned = from.frame = false;
    now_[i] = into;
  }

  Memory& memory_;
  base::IdVector<StorageId, bool> plain_;     // all its values are at the same addresses
  base::IdVector<StorageId, StorageId> now_;  // the storage that it is part of
  std::map<Kind, std::multimap<int32_t, StorageId>> dead_;  // by the step after which they are dead
};

}  // namespace

void ShareInsideNodes(Memory& memory) { NodeSharer(memory).Run(); }

}  // namespace tessera::runtime
