#include "runtime/worker.h"

#include <algorithm>
#include <mutex>

namespace tessera::runtime {
namespace {

// The frame without and with its distance to the scratch.
int64_t FrameBytes(const Executable& e) {
  return RoundUp(e.frame_bytes, kLine) + Colour(e.frame_bytes);
}

class Worker {
 public:
  Worker(RunState& run, int id)
      : run_(run), executable_(*run.executable), views_(run.views.data()), id_(id) {
    if (run.own) {
      frame0_ = run.own->data();
      frame_ = frame0_ + id * WorkerBytes(executable_);
      scratch_ = frame_ + FrameBytes(executable_);
    }
    if (executable_.max_operands > kOperands) more_.resize(executable_.max_operands);
    buffers_ = more_.empty() ? few_ : more_.data();
  }

  void Serial() {
    for (size_t n = 0; n < executable_.nodes.size(); ++n) {
      const ReadyNode& node = executable_.nodes[n];
      if (!node.exchange) RunInstances(node, 0, node.instances);
      else if (!run_.done[n]) RunExchange(node, 0, node.exchange->units());
    }
  }

  // After a failure in its own part a worker goes on to the next barrier only.
  void Parallel() noexcept {
    const std::vector<NodeSchedule>& schedule = executable_.schedule.nodes;
    for (size_t n = 0; n < executable_.nodes.size(); ++n) {
      if (schedule[n].barrier && !Meet()) return;
      const ReadyNode& node = executable_.nodes[n];
      if (schedule[n].mode == NodeSchedule::kSplit) {
        if (!RunSplit(node)) return;
      } else if (!run_.done[n]) {
        Guarded([&] { RunShare(node, schedule[n].mode); });
      }
    }
    Meet();  // so that nobody waits in libgomp, which spins for milliseconds
  }

  void Fail() noexcept {
    std::lock_guard<SpinLock> lock(run_.error_lock);
    if (!run_.error) run_.error = std::current_exception();
    run_.failed.store(true, std::memory_order_relaxed);
    failed_ = true;
  }

 private:
  static constexpr int kOperands = 32;

  template <class F>
  void Guarded(F f) noexcept {
    if (failed_) return;
    try {
      f();
    } catch (...) {
      Fail();
    }
  }

  bool Meet() noexcept { return run_.barrier.Wait(run_.failed, waiter_); }

  int64_t Begin(int64_t work, int worker) const { return work * worker / run_.workers; }

  void RunShare(const ReadyNode& node, NodeSchedule::Mode mode) {
    int64_t begin = 0, end = node.exchange ? node.exchange->units() : node.instances;
    if (mode != NodeSchedule::kFirst) {
      const int64_t work = end;
      begin = Begin(work, id_), end = Begin(work, id_ + 1);
    } else if (id_ != 0) {
      return;
    }
    if (node.exchange) RunExchange(node, begin, end);
    else RunInstances(node, begin, end);
  }

  void RunExchange(const ReadyNode& node, int64_t begin, int64_t end) {
    node.exchange->Run(views_[node.in], views_[node.out], begin, end);
  }

  void RunInstances(const ReadyNode& node, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (const ReadyStep& step : node.steps) Call(step, node, i, frame_, 0, 1);
    }
  }

  // All workers on one instance: large steps in parts, the others on worker 0. False: a worker
  // has failed.
  bool RunSplit(const ReadyNode& node) noexcept {
    bool met = false;  // no work since the last barrier
    for (int64_t i = 0; i < node.instances; ++i) {
      for (const ReadyStep& step : node.steps) {
        if (!Splits(step, executable_.schedule.forced)) {
          if (id_ == 0) Guarded([&] { Call(step, node, i, frame0_, 0, 1); });
          met = false;
          continue;
        }
        if (!met && !Meet()) return false;
        const int parts = std::min(run_.workers, step.max_parts);
        if (id_ < parts) Guarded([&] { Call(step, node, i, frame0_, id_, parts); });
        if (!Meet()) return false;
        met = true;
      }
    }
    return true;
  }

  void Call(const ReadyStep& step, const ReadyNode& node, int64_t instance, std::byte* frame,
            int part, int parts) {
    const int count = step.ins + step.outs;
    for (int k = 0; k < count; ++k) {
      const Operand& operand = step.operands[k];
      if (operand.view < 0) {
        buffers_[k] = frame + operand.offset;
      } else {
        const int64_t i = operand.index ? operand.index[instance] : instance;
        buffers_[k] = views_[operand.view].at(i);
      }
    }
    step.fn({step.config, buffers_, buffers_ + step.ins, scratch_, node.devices[instance], part,
             parts});
  }

  RunState& run_;
  const Executable& executable_;
  const View* views_;
  const int id_;
  bool failed_ = false;
  std::byte *frame0_ = nullptr, *frame_ = nullptr, *scratch_ = nullptr;  // worker 0's; our own
  std::byte** buffers_;
  std::byte* few_[kOperands];
  std::vector<std::byte*> more_;
  Barrier::Waiter waiter_;
};

}  // namespace

int64_t WorkerBytes(const Executable& e) {
  return FrameBytes(e) + RoundUp(e.scratch_bytes, kLine) + Colour(e.scratch_bytes);
}

void Work(RunState& run, int id) noexcept {
  Worker worker(run, id);
  if (run.workers > 1) {
    worker.Parallel();
    return;
  }
  try {
    worker.Serial();
  } catch (...) {
    worker.Fail();
  }
}

}  // namespace tessera::runtime
