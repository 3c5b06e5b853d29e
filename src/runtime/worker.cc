// The part of one worker in a run.
#include "runtime/worker.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>

#include "base/at.h"
#include "base/dtype.h"
#include "base/error.h"
#include "runtime/assign.h"

namespace tessera::runtime {
namespace {

thread_local int of_thread = 0;

// Returns the size of a frame with the padding between it and the scratch.
int64_t FrameBytes(const Executable& e) {
  return RoundUp(e.frame_bytes, kLine) + Colour(e.frame_bytes);
}

// Returns the number of the branch for a selector. A bool that is true selects the first one.
size_t BranchOf(const Control& control, const std::byte* data) {
  const auto last = control.targets.size() - 1;
  const auto clamped = [&]<class T>(T) -> size_t {
    T index;
    std::memcpy(&index, data, sizeof index);
    if (std::is_signed_v<T> && index < T{}) return 0;
    return base::Size(std::min<uint64_t>(static_cast<uint64_t>(index), last));
  };
  switch (base::StoredAs(control.dtype).code()) {
    case DType::kBool:
      return data[0] != std::byte{0} ? 0 : last;
    case DType::kI8:
      return clamped(int8_t{});
    case DType::kI16:
      return clamped(int16_t{});
    case DType::kI32:
      return clamped(int32_t{});
    case DType::kI64:
      return clamped(int64_t{});
    case DType::kU8:
      return clamped(uint8_t{});
    case DType::kU16:
      return clamped(uint16_t{});
    case DType::kU32:
      return clamped(uint32_t{});
    default:
      return clamped(uint64_t{});
  }
}

// A kernel that refuses its data does not know the user's line. The note of the step does.
void CallKernel(const plan::Plan& plan, const ReadyStep& step, const plan::KernelArgs& call) {
  try {
    step.fn(call);
  } catch (const RuntimeError& e) {
    if (!e.where().empty() || dynamic_cast<const std::nested_exception*>(&e) ||
        step.from->note == plan::kNoNote)
      throw;
    const std::string& where = plan.notes[step.from->note].where;
    if (where.empty()) throw;
    ErrorDetail detail = e.detail();
    detail.where = where;
    throw RuntimeError(std::move(detail));
  }
}

std::string NoteOf(const ReadyNode& node, const plan::Plan& plan) {
  return node.note == plan::kNoNote ? "a move" : plan.notes[node.note].text();
}

// Returns the iteration numbers of the loops around a node. `now`: of all loops.
std::vector<int64_t> IterationsAt(const ReadyNode& node,
                                  const base::IdVector<LoopId, int64_t>& now) {
  std::vector<int64_t> iterations;
  for (LoopId loop : node.loops) iterations.push_back(now[loop]);
  return iterations;
}

class Worker {
 public:
  Worker(RunState& run, int id)
      : run_(run), executable_(*run.executable), views_(run.views), id_(id) {
    if (!executable_.loops.empty()) {
      run.worker_views[id] = run.views;
      run.iterations[id].assign(executable_.loops.size(), 0);
      run.slots[id].resize(run.views.size());
      views_ = Views(run.worker_views[id]);
    }
    if (run.own) {
      frame0_ = run.own->data();
      frame_ = frame0_ + id * WorkerBytes(executable_);
      scratch_ = frame_ + FrameBytes(executable_);
    }
    if (!run.events.empty()) events_ = &run.events[id];
    if (executable_.max_operands > kOperands) more_.resize(executable_.max_operands);
    buffers_ = more_.empty() ? few_ : more_.data();
  }

  void Serial() {
    for (size_t n = 0; n < executable_.nodes.size(); ++n) {
      const ReadyNode& node = executable_.nodes[n];
      if (node.control)
        n = Steer(*node.control, n) - 1;
      else if (node.host)
        CallHost(node);
      else if (node.messages)
        RunMessages(node);
      else if (!node.exchanges)
        RunInstances(node, 0, node.instances);
      else if (!run_.done[n])
        RunExchanges(node, 0, node.exchanges->units());
    }
  }

  // Runs this worker's part with barriers. After a failure the worker only goes on to the
  // next barrier.
  void Parallel() noexcept {
    const std::vector<NodeAssignment>& assignment = executable_.assignment.nodes;
    for (size_t n = 0; n < executable_.nodes.size(); ++n) {
      if (assignment[n].barrier && !Meet()) return;
      const ReadyNode& node = executable_.nodes[n];
      if (node.control) {
        const size_t next = Steer(*node.control, n);
        // The code after a loop does not know which of the loop's nodes ran last.
        if (node.control->kind == Control::kTest && next != n + 1 && !Meet()) return;
        n = next - 1;
      } else if (assignment[n].mode == NodeAssignment::kSplit) {
        if (!RunSplit(node)) return;
      } else if (!run_.done[n]) {
        Guarded([&] { RunShare(node, assignment[n].mode); });
      }
    }
    Meet();  // nobody must wait in libgomp, which spins for milliseconds
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

  // Waits for the other workers. Returns false if this worker has no more work.
  bool Meet() noexcept {
    Event event{.kind = Event::kWait, .begin = events_ ? Now() : 0};
    const bool met = run_.barrier.Wait(run_.failed, waiter_);
    if (events_) Record(event);
    if (!run_.barrier.dissolved()) return met;
    if (id_ != 0) return false;
    run_.workers = 1;
    run_.barrier.LeaveOne();
    return met;
  }

  static int64_t Now() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  }
  void Record(Event& event) noexcept {
    event.end = Now();
    events_->push_back(event);
  }

  int64_t Begin(int64_t work, int worker) const { return work * worker / run_.workers; }

  // ---- loops and branches: each worker follows them independently, all in the same way ----

  // Returns the index of the next node.
  size_t Steer(const Control& control, size_t at) {
    switch (control.kind) {
      case Control::kEnter:
        if (control.loop != kNoLoop) SetIteration(control.loop, 0);
        return at + 1;
      case Control::kTest:
        return views_[control.view].at(0)[0] != std::byte{0} ? at + 1 : control.targets[0];
      case Control::kRepeat: {
        const ReadyLoop& loop = executable_.loops[control.loop];
        for (const Swap& swap : loop.swaps) Exchange(swap);
        for (const ReorderedView& order : loop.orders) Reorder(order);
        for (ViewId v : loop.resets) views_[v].slots = run_.views[v].slots;
        const int64_t next = run_.iterations[id_][control.loop] + 1;
        if (next == loop.trips) return at + 1;
        SetIteration(control.loop, next);
        return control.targets[0];
      }
      case Control::kSelect:
        return control.targets[BranchOf(control, views_[control.view].at(0))];
      default:
        return control.targets[0];
    }
  }

  void SetIteration(LoopId index, int64_t iteration) {
    const ReadyLoop& loop = executable_.loops[index];
    run_.iterations[id_][index] = iteration;
    const int64_t slice = loop.reverse ? loop.trips - 1 - iteration : iteration;
    for (const Window& window : loop.windows) {
      View& view = views_[window.view];
      view = views_[window.whole];
      view.base += slice * window.bytes;
    }
  }

  void Exchange(const Swap& swap) {
    const std::ptrdiff_t distance = views_[swap.views[1][0]].base - views_[swap.views[0][0]].base;
    for (ViewId v : swap.views[0]) views_[v].base += distance;
    for (ViewId v : swap.views[1]) views_[v].base -= distance;
  }

  void Reorder(const ReorderedView& order) {
    std::vector<int32_t>& slots = run_.slots[id_][order.view];
    const int32_t* from = views_[order.from].slots;
    const auto instances = base::Size(executable_.bindings[order.view].instances);
    slots.resize(instances);
    for (size_t i = 0; i < instances; ++i) {
      const int32_t of = order.order ? (*order.order)[i] : static_cast<int32_t>(i);
      slots[i] = of == kZeroSlot || !from ? of : from[of];
    }
    views_[order.view].slots = slots.data();
  }

  void RunShare(const ReadyNode& node, NodeAssignment::Mode mode) {
    int64_t begin = 0, end = node.exchanges ? node.exchanges->units() : node.instances;
    if (mode == NodeAssignment::kClaims) {
      Claim(node);
      return;
    }
    if (mode != NodeAssignment::kFirst) {
      const int64_t work = end;
      begin = Begin(work, id_), end = Begin(work, id_ + 1);
    } else if (id_ != 0) {
      return;
    }
    if (node.host)
      CallHost(node);
    else if (node.messages)
      RunMessages(node);
    else if (node.exchanges)
      RunExchanges(node, begin, end);
    else
      RunInstances(node, begin, end);
  }

  // Runs instances that this worker claims until none is left. There is a barrier before the node:
  // by then each worker has made one claim too many in the previous such node.
  void Claim(const ReadyNode& node) {
    const int64_t first = claimed_;
    claimed_ += node.instances + run_.workers;
    for (;;) {
      const int64_t i = run_.claims.fetch_add(1, std::memory_order_relaxed) - first;
      if (i >= node.instances) return;
      RunInstances(node, i, i + 1);
    }
  }

  // Calls the function with the buffers of all instances.
  void CallHost(const ReadyNode& node) {
    plan::HostBuffers buffers;
    for (ViewId v : node.in) {
      buffers.in.emplace_back();
      for (int64_t i = 0; i < executable_.bindings[v].instances; ++i)
        buffers.in.back().push_back(views_[v].at(i));
    }
    buffers.iterations = IterationsAt(node, run_.iterations[id_]);
    node.host->function(buffers);
  }

  void RunMessages(const ReadyNode& node) {
    Event event{.kind = Event::kMessages, .note = node.note, .begin = events_ ? Now() : 0};
    Mail& mail = base::At(run_.mail, node.mail);
    if (node.starts_messages) {
      ++run_.going;
      node.messages->Start(views_, mail);
    } else {
      const WaitingFor waiting([&] { return NoteOf(node, executable_.plan); });
      node.messages->Finish(views_, mail);
      --run_.going;
    }
    if (!events_) return;
    event.bytes = node.starts_messages ? 0 : node.messages->bytes();
    Record(event);
  }

  void RunExchanges(const ReadyNode& node, int64_t begin, int64_t end) {
    if (!events_) return node.exchanges->Run(views_, begin, end, scratch_);
    Event event{.kind = Event::kExchange, .note = node.note, .begin = Now()};
    node.exchanges->Run(views_, begin, end, scratch_);
    const auto units = static_cast<double>(std::max<int64_t>(node.exchanges->units(), 1));
    const double share = static_cast<double>(end - begin) / units;
    event.bytes = node.exchanges->bytes() * share;
    event.flops = node.exchanges->flops() * share;
    Record(event);
  }

  void RunInstances(const ReadyNode& node, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (const ReadyStep& step : node.steps) {
        Call(step, node, i, frame_, 0, 1);
        if (id_ == 0 && run_.going > 0) TheTransport()->Poll();
      }
    }
  }

  // Runs the large steps in parts on all workers, one instance after the other, and the other steps
  // on worker 0. Returns false if a worker has failed.
  bool RunSplit(const ReadyNode& node) noexcept {
    bool met = false;  // whether there was no work since the last barrier
    for (int64_t i = 0; i < node.instances; ++i) {
      for (const ReadyStep& step : node.steps) {
        if (!Splits(step, executable_.assignment.forced)) {
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
      const BufferRef& operand = step.operands[k];
      if (operand.view == kNoView) {
        buffers_[k] = frame + operand.offset;
      } else {
        const int64_t i = operand.index ? operand.index[instance] : instance;
        buffers_[k] = views_[operand.view].at(i);
      }
    }
    std::vector<int64_t> iterations;
    plan::KernelArgs call{
        step.config, buffers_, buffers_ + step.ins, scratch_, node.devices[instance], part, parts};
    if (step.observes)
      iterations = IterationsAt(node, run_.iterations[id_]), call.iterations = &iterations;
    // The steps of a kernel that runs a plan are recorded there.
    if (!events_ || step.runs_plan) return CallKernel(executable_.plan, step, call);
    const plan::Kernel& kernel = step.from->kernel;
    Event event{.note = step.from->note, .device = node.devices[instance], .begin = Now()};
    CallKernel(executable_.plan, step, call);
    event.bytes = kernel.bytes / parts;
    event.flops = kernel.flops / parts;
    Record(event);
  }

  RunState& run_;
  const Executable& executable_;
  Views views_;
  const int id_;
  bool failed_ = false;
  int64_t claimed_ = 0;                   // claims of all workers together before this node
  std::vector<Event>* events_ = nullptr;  // null: not recorded
  // of worker 0; of this worker
  std::byte *frame0_ = nullptr, *frame_ = nullptr, *scratch_ = nullptr;
  std::byte** buffers_;
  std::byte* few_[kOperands];
  std::vector<std::byte*> more_;
  Barrier::Waiter waiter_;
};

}  // namespace

int64_t WorkerBytes(const Executable& e) {
  return FrameBytes(e) + RoundUp(e.scratch_bytes, kLine) + Colour(e.scratch_bytes);
}

int WorkerOfThread() { return of_thread; }

void Work(RunState& run, int id) noexcept {
  Worker worker(run, id);
  if (run.workers > 1) {
    of_thread = id;
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
