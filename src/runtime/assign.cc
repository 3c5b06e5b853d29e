// Chooses the workers of each node, and the places where workers must wait for each other.
#include "runtime/assign.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "base/ids.h"
#include "runtime/arena.h"
#include "runtime/executable.h"

namespace tessera::runtime {
namespace {

// Work must take longer than this to pay for two barriers (0.5 us) and for data that moves between
// the caches of cores.
constexpr double kParallelSeconds = 2e-6;
constexpr double kSplitSeconds = 5e-6;

// A loop with this many levels of nested loops inside ends each iteration with a barrier.
constexpr int kMostLevels = 3;

// Who touches a storage: kAnyone; kFirstOnly for worker 0; or n > 0 if each worker touches its own
// block of n instances.
constexpr int32_t kAnyone = -1, kFirstOnly = 0;

class Assigner {
 public:
  Assigner(const Executable& executable, Assignment& assignment)
      : executable_(executable), assignment_(assignment) {
    size_t storages = 0;
    for (const Binding& b : executable.bindings)
      storages = std::max(storages, static_cast<size_t>(base::Number(b.storage) + 1));
    written_.resize(storages);
    touched_.resize(storages);
    group_.resize(storages);
    for (StorageId s : group_.ids()) group_[s] = s;
    for (const ReadyLoop& loop : executable.loops) {
      for (const Swap& swap : loop.swaps) {
        const StorageId joined = group_[swap.storages[1]];
        absl::c_replace(group_, joined, group_[swap.storages[0]]);
      }
    }
    places_.resize(storages);
    for (const Binding& b : executable.bindings) {
      if (b.how != Binding::kBlock) continue;
      AddPlace(b, b.from, b.offset);
      if (b.from != kNoView) AddPlace(executable.bindings[b.from], b.from, 0);
    }
  }

  void Run() {
    assignment_.nodes.resize(executable_.nodes.size());
    FindDeepLoops();
    Walk(0, executable_.nodes.size());
  }

 private:
  struct ByteRange {
    ViewId output;  // whose buffers it is in; kNoView: in the run's block
    int64_t begin, end;
  };
  struct Touch {
    int64_t epoch = -1;
    int32_t who = kAnyone;
    FamilyId family = kNoFamily;
  };

  // Finds the loops that have kMostLevels levels of loops inside. WalkAgain walks the body of a
  // loop twice, so without this limit the time would be exponential in the depth.
  void FindDeepLoops() {
    struct Inner {
      int32_t begin;
      int levels;
    };
    std::vector<Inner> inner;  // loops none of which is inside a later one
    is_deep_.resize(executable_.loops.size());
    for (const ReadyNode& node : executable_.nodes) {
      if (!node.control || node.control->kind != Control::kRepeat) continue;
      const int32_t begin = node.control->targets[0];
      int levels = 0;
      for (; !inner.empty() && inner.back().begin >= begin; inner.pop_back())
        levels = std::max(levels, inner.back().levels);
      inner.push_back({begin, levels + 1});
      is_deep_[node.control->loop] = levels >= kMostLevels;
    }
  }

  void Walk(size_t begin, size_t end) {
    for (size_t n = begin; n < end; ++n) {
      const ReadyNode& node = executable_.nodes[n];
      const bool repeats = node.control && node.control->kind == Control::kRepeat;
      if (repeats && is_deep_[node.control->loop]) assignment_.nodes[n].barrier = true;
      Visit(node, assignment_.nodes[n]);
      if (repeats) WalkAgain(*node.control, n);
    }
  }

  void Visit(const ReadyNode& node, NodeAssignment& assignment) {
    assignment.mode = ModeOf(node);
    const bool counts = assignment.mode == NodeAssignment::kClaims;
    if (!assignment.barrier && (counts || HasConflict(node, assignment.mode) || Divides(node))) {
      assignment.barrier = true;
      ++added_;
    }
    if (assignment.barrier) Barrier();
    assignment_.parallel |= assignment.mode != NodeAssignment::kFirst && !node.control;
    // RunSplit ends a split step with a barrier; the other steps of the node run on worker 0.
    if (assignment.mode == NodeAssignment::kSplit) Barrier();
    Record(node, assignment.mode);
  }

  // Whether the node begins a switch or ends a branch. A barrier there makes all branches begin and
  // end in the same state.
  static bool Divides(const ReadyNode& node) {
    return node.control &&
           (node.control->kind == Control::kSelect || node.control->kind == Control::kLeave);
  }

  // Walks further iterations until one needs no new barrier.
  void WalkAgain(const Control& control, size_t at) {
    const ReadyLoop& loop = executable_.loops[control.loop];
    // A deep loop has a barrier at its end, so its later iterations need no more barriers than
    // the first.
    int64_t before = is_deep_[control.loop] ? added_ : -1;
    while (added_ != before) {
      before = added_;
      EndIteration(loop);
      Walk(control.targets[0], at);
    }
    EndIteration(loop);
    if (loop.trips < 0) Barrier();  // the loop ends with a barrier after its test
  }

  // Records the end of an iteration.
  void EndIteration(const ReadyLoop& loop) {
    for (const Swap& swap : loop.swaps) SwapStorages(swap);
    for (const ReorderedView& order : loop.orders) Reorder(order.view);
    for (ViewId view : loop.resets) Reorder(view);
  }

  void SwapStorages(const Swap& swap) {
    const StorageId a = swap.storages[0], b = swap.storages[1];
    if (IsSinceBarrier(touched_[a]) || IsSinceBarrier(touched_[b]))
      recent_.insert(recent_.end(), {a, b});
    std::swap(touched_[a], touched_[b]);
    std::swap(written_[a], written_[b]);
  }

  // Forgets which instance is at which address, because the instances have been reordered.
  void Reorder(ViewId view) {
    const StorageId storage = executable_.bindings[view].storage;
    touched_[storage].family = written_[storage].family = kNoFamily;
  }

  NodeAssignment::Mode ModeOf(const ReadyNode& node) const {
    if (node.control) return NodeAssignment::kAll;
    if (node.host || node.messages) return NodeAssignment::kFirst;
    const auto in_order = [](const ReadyStep& step) { return step.in_order; };
    if (absl::c_any_of(node.steps, in_order)) return NodeAssignment::kFirst;
    const bool large = assignment_.forced || node.seconds >= kParallelSeconds;
    if (node.exchanges) {
      return large && node.exchanges->units() > 1 ? NodeAssignment::kShares
                                                  : NodeAssignment::kFirst;
    }
    if (node.instances < assignment_.workers) {
      double split = 0;
      for (const ReadyStep& step : node.steps) {
        if (Splits(step, assignment_.forced)) split += step.seconds * node.instances;
      }
      if (split > 0 && (node.instances == 1 || split >= node.seconds / 2)) {
        return NodeAssignment::kSplit;
      }
    }
    if (!large || node.instances == 1) return NodeAssignment::kFirst;
    const auto runs_plan = [](const ReadyStep& step) { return step.runs_plan; };
    const bool differ = absl::c_any_of(node.steps, runs_plan);
    return differ && node.instances > assignment_.workers ? NodeAssignment::kClaims
                                                          : NodeAssignment::kOwners;
  }

  // Returns which workers touch the view when the node runs in this mode.
  Touch TouchOf(const ReadyNode& node, NodeAssignment::Mode mode, const ViewUse& use) const {
    const FamilyId family = executable_.bindings[use.view].family;
    if (mode == NodeAssignment::kFirst || mode == NodeAssignment::kSplit) {
      return {epoch_, kFirstOnly, family};
    }
    bool owners = use.identity && mode == NodeAssignment::kOwners;
    if (mode == NodeAssignment::kShares) {
      owners = use.writes && node.exchanges->even() && node.instances % assignment_.workers == 0;
    }
    return {epoch_, owners ? node.instances : kAnyone, family};
  }

  bool IsSinceBarrier(const Touch& touch) const { return touch.epoch == epoch_; }

  // Whether the touch `mine` needs no barrier after the touch `before`.
  bool IsOrdered(const Touch& before, const Touch& mine) const {
    if (!IsSinceBarrier(before)) return true;
    if (before.who != mine.who || mine.who == kAnyone) return false;
    return mine.who == kFirstOnly || before.family == mine.family;
  }

  bool HasConflict(const ReadyNode& node, NodeAssignment::Mode mode) const {
    for (const ViewUse& a : node.uses) {
      const Binding& binding = executable_.bindings[a.view];
      const Touch mine = TouchOf(node, mode, a);
      const Touch& before = a.writes ? touched_[binding.storage] : written_[binding.storage];
      if (!IsOrdered(before, mine)) return true;
      if (a.writes && Overwrites(binding.storage, mine)) return true;
    }
    return false;
  }

  // Whether the storage shares bytes with a storage touched since the last barrier, unless worker 0
  // made all of these touches.
  bool Overwrites(StorageId storage, const Touch& mine) const {
    for (StorageId old : recent_) {
      if (group_[old] == group_[storage] || !IsSinceBarrier(touched_[old])) continue;
      if (mine.who == kFirstOnly && touched_[old].who == kFirstOnly) continue;
      for (const ByteRange& place : places_[group_[storage]]) {
        for (const ByteRange& other : places_[group_[old]]) {
          if (other.output == place.output && other.begin < place.end && place.begin < other.end)
            return true;
        }
      }
    }
    return false;
  }

  void AddPlace(const Binding& b, ViewId output, int64_t offset) {
    places_[group_[b.storage]].push_back(
        {output, offset, offset + RoundUp(b.bytes, kLine) * b.instances});
  }

  void Record(const ReadyNode& node, NodeAssignment::Mode mode) {
    for (const ViewUse& a : node.uses) {
      const Binding& binding = executable_.bindings[a.view];
      const Touch mine = TouchOf(node, mode, a);
      Touch& touched = touched_[binding.storage];
      if (!IsSinceBarrier(touched)) {
        touched = mine;
        if (!places_[group_[binding.storage]].empty()) recent_.push_back(binding.storage);
      } else if (!IsOrdered(touched, mine)) {
        touched.who = kAnyone;
      }
      if (a.writes) written_[binding.storage] = mine;
    }
  }

  void Barrier() {
    ++epoch_;
    recent_.clear();
  }

  const Executable& executable_;
  Assignment& assignment_;
  // The last write, and the combined touches since the last barrier.
  base::IdVector<StorageId, Touch> written_, touched_;
  // a representative of the storages that each is swapped with
  base::IdVector<StorageId, StorageId> group_;
  base::IdVector<StorageId, std::vector<ByteRange>> places_;  // of a group
  base::IdVector<LoopId, bool> is_deep_;
  std::vector<StorageId> recent_;  // storages touched since the last barrier
  int64_t epoch_ = 0;
  int64_t added_ = 0;  // number of barriers added so far
};

}  // namespace

bool Splits(const ReadyStep& step, bool forced) {
  return step.max_parts > 1 && (forced || step.seconds >= kSplitSeconds);
}

void AssignWork(const Executable& executable, int workers, bool forced, Assignment& assignment) {
  assignment = {.workers = workers, .forced = forced, .parallel = false, .nodes = {}};
  assignment.nodes.reserve(executable.nodes.size());
  Assigner(executable, assignment).Run();
}

}  // namespace tessera::runtime
