#include <algorithm>

#include "runtime/executable.h"

namespace tessera::runtime {
namespace {

// Two barriers cost 0.5 us, and data moves between the cores' caches.
constexpr double kParallelSeconds = 2e-6;
constexpr double kSplitSeconds = 5e-6;

// Who touched something since the last barrier: nobody, worker 0 only, worker w its block of n
// instances only (n itself), or anyone.
constexpr int32_t kNobody = -2, kAnyone = -1, kFirstOnly = 0;

class Scheduler {
 public:
  Scheduler(const Executable& executable, Schedule& schedule)
      : executable_(executable), schedule_(schedule) {
    int32_t storages = 0;
    for (const Binding& b : executable.bindings) storages = std::max(storages, b.storage + 1);
    written_.resize(executable.bindings.size());
    touched_.resize(storages);
  }

  void Run() {
    for (const ReadyNode& node : executable_.nodes) {
      const NodeSchedule::Mode mode = ModeOf(node);
      const int32_t who = Who(node, mode);
      const bool barrier = Conflicts(node, who);
      if (barrier) ++epoch_;
      schedule_.nodes.push_back({mode, barrier});
      schedule_.parallel |= mode != NodeSchedule::kFirst;
      // A split step ends in a barrier; what follows it in the node runs on worker 0.
      if (mode == NodeSchedule::kSplit) ++epoch_;
      Record(node, who);
    }
  }

 private:
  struct Touch {
    int64_t epoch = -1;
    int32_t who = kNobody;
  };

  NodeSchedule::Mode ModeOf(const ReadyNode& node) const {
    const bool large = schedule_.forced || node.seconds >= kParallelSeconds;
    if (node.exchange) {
      return large && node.exchange->units() > 1 ? NodeSchedule::kShares : NodeSchedule::kFirst;
    }
    if (node.instances < schedule_.workers) {
      double split = 0;
      for (const ReadyStep& step : node.steps) {
        if (Splits(step, schedule_.forced)) split += step.seconds * node.instances;
      }
      if (split > 0 && (node.instances == 1 || split >= node.seconds / 2)) {
        return NodeSchedule::kSplit;
      }
    }
    return large && node.instances > 1 ? NodeSchedule::kOwners : NodeSchedule::kFirst;
  }

  // What the executor's shares of a mode amount to.
  static int32_t Who(const ReadyNode& node, NodeSchedule::Mode mode) {
    if (mode == NodeSchedule::kOwners) return node.instances;
    return mode == NodeSchedule::kShares ? kAnyone : kFirstOnly;
  }

  int32_t Current(const Touch& touch) const { return touch.epoch == epoch_ ? touch.who : kNobody; }

  // True if `who` may meet what `other` did without a barrier between.
  static bool Ordered(int32_t other, int32_t who, bool identity) {
    if (other == kNobody) return true;
    return other == who && (who == kFirstOnly || (who > 0 && identity));
  }

  bool Conflicts(const ReadyNode& node, int32_t who) const {
    for (const Access& a : node.accesses) {
      const Binding& binding = executable_.bindings[a.view];
      const Touch& before = a.writes ? touched_[binding.storage] : written_[a.view];
      if (!Ordered(Current(before), who, a.identity)) return true;
      if (a.writes && binding.how == Binding::kBlock && Overwrites(binding, who)) return true;
    }
    return false;
  }

  // True if the block's bytes at `binding` were another value's since the last barrier, and not
  // all by worker 0.
  bool Overwrites(const Binding& binding, int32_t who) const {
    for (const Binding& old : executable_.bindings) {
      if (old.how != Binding::kBlock || old.storage == binding.storage) continue;
      if (Ordered(Current(touched_[old.storage]), who, false)) continue;
      if (old.offset < binding.offset + binding.bytes * binding.instances &&
          binding.offset < old.offset + old.bytes * old.instances) {
        return true;
      }
    }
    return false;
  }

  void Record(const ReadyNode& node, int32_t who) {
    for (const Access& a : node.accesses) {
      const int32_t as = who > 0 && !a.identity ? kAnyone : who;
      Touch& touched = touched_[executable_.bindings[a.view].storage];
      const int32_t before = Current(touched);
      touched = {epoch_, before == kNobody || before == as ? as : kAnyone};
      if (a.writes) written_[a.view] = {epoch_, as};
    }
  }

  const Executable& executable_;
  Schedule& schedule_;
  std::vector<Touch> written_;  // per view
  std::vector<Touch> touched_;  // per storage
  int64_t epoch_ = 0;
};

}  // namespace

bool Splits(const ReadyStep& step, bool forced) {
  return step.max_parts > 1 && (forced || step.seconds >= kSplitSeconds);
}

void MakeSchedule(const Executable& executable, int workers, bool forced, Schedule& schedule) {
  schedule = {.workers = workers, .forced = forced, .parallel = false, .nodes = {}};
  schedule.nodes.reserve(executable.nodes.size());
  Scheduler(executable, schedule).Run();
}

}  // namespace tessera::runtime
