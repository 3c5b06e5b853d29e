#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "runtime/arena.h"
#include "runtime/executable.h"
#include "runtime/team.h"
#include "runtime/worker.h"

namespace tessera::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// Below this one worker is faster than two.
constexpr double kSerialSeconds = 5e-6;
// libgomp's threads spin for some milliseconds after a region; then waking them costs about 50 us.
constexpr double kWorthWaking = 100e-6;
constexpr auto kAwake = std::chrono::milliseconds(1);
// A run of a team this much slower than one worker should be has waited for a core that others
// use. One worker alone then runs for a while, twice as long each time that it happens again.
constexpr double kStarvedFactor = 2;
constexpr double kStarvedSeconds = 300e-6;
constexpr auto kLeastBackoff = std::chrono::milliseconds(1);
constexpr auto kMostBackoff = std::chrono::milliseconds(64);

// The one team, and what its run keeps; a run holds the lock.
struct Runner {
  std::mutex lock;
  RunState run;
  std::vector<uint8_t> unique;  // per input: donated, and nobody else holds it
  int workers = 0;              // 0: one per core
  bool forced = false;
  Clock::time_point last_large;   // when there was last work for the team
  Clock::time_point alone_until;  // until then the machine is too busy for a team
  Clock::duration backoff = kLeastBackoff;
};

Runner& TheRunner() {
  static Runner& runner = *new Runner;
  return runner;
}

int Cores() {
  static const int cores = CoreCount();
  return cores;
}

int Workers(const Runner& runner) { return runner.workers > 0 ? runner.workers : Cores(); }

// True if only the caller's reference is left. Letting go of a copy synchronises with the threads
// that let go of theirs before.
bool Unique(const Buffers& buffers) {
  if (!buffers.storage || buffers.storage.use_count() != 1 || buffers.storage->foreign()) {
    return false;
  }
  StorageRef(buffers.storage).reset();
  return true;
}

// Binds all values of one run.
class Binder {
 public:
  Binder(const Executable& executable, Runner& runner)
      : executable_(executable), runner_(runner), run_(runner.run) {}

  // Returns the estimated seconds of what is left to do.
  double Run(std::vector<Buffers>& inputs) {
    const std::vector<Binding>& bindings = executable_.bindings;
    run_.executable = &executable_;
    run_.done.assign(executable_.nodes.size(), 0);
    run_.buffers.resize(bindings.size());
    run_.views.resize(bindings.size());
    left_ = executable_.seconds;
    run_.worker_views.resize(Workers(runner_));
    run_.iterations.resize(Workers(runner_));
    if (executable_.block_bytes > 0) run_.block.emplace(executable_.block_bytes);
    TakeInputs(inputs);
    for (size_t v = inputs.size(); v < bindings.size(); ++v) {
      Bind(bindings[v], run_.buffers[v]);
    }
    for (size_t v = 0; v < bindings.size(); ++v) {
      const Buffers& b = run_.buffers[v];
      run_.views[v] = {b.base, b.stride, b.slots ? b.slots->data() : nullptr};
    }
    return left_;
  }

 private:
  void TakeInputs(std::vector<Buffers>& inputs) {
    const std::vector<bool>& donated = executable_.plan.donated;
    runner_.unique.assign(inputs.size(), 0);
    for (size_t k = 0; k < donated.size(); ++k) {
      if (donated[k]) runner_.unique[k] = Unique(inputs[k]);
    }
    for (size_t k = 0; k < inputs.size(); ++k) run_.buffers[k] = std::move(inputs[k]);
  }

  void Bind(const Binding& b, Buffers& out) {
    switch (b.how) {
      case Binding::kConstant:
        out = executable_.constants[b.from];
        break;
      case Binding::kSame:
        out = run_.buffers[b.from];
        break;
      case Binding::kWindow:
        out = {};
        break;  // set at each iteration
      case Binding::kAlias:
        BindAlias(b, run_.buffers[b.from], out);
        break;
      case Binding::kBlock:
        out.bytes = b.bytes;
        out.stride = RoundUp(b.bytes, kLine);
        out.base = run_.block->data() + b.offset;
        break;
      case Binding::kTake:
        if (runner_.unique[b.from]) {
          out = run_.buffers[b.from];
          break;
        }
        [[fallthrough]];
      default:
        out = Allocate(b.bytes, b.instances);
    }
  }

  void BindAlias(const Binding& b, const Buffers& from, Buffers& out) {
    const Alias& alias = *b.alias;
    if (!alias.permutes && (from.slots || from.stride != from.bytes)) {
      out = Allocate(b.bytes, b.instances);
      return;
    }
    out = from;
    out.bytes = b.bytes;
    if (!alias.permutes) {
      out.stride = alias.stride;
      out.slots = alias.slots;
      run_.done[b.node] = 1;
      left_ -= executable_.nodes[b.node].seconds * executable_.nodes[b.node].times;
    } else if (alias.slots) {
      out.slots = from.slots ? Compose(*from.slots, *alias.slots) : alias.slots;
    }
  }

  static std::shared_ptr<const std::vector<int32_t>> Compose(const std::vector<int32_t>& slots,
                                                             const std::vector<int32_t>& order) {
    std::vector<int32_t> out;
    out.reserve(order.size());
    for (int32_t instance : order) out.push_back(slots[instance]);
    return std::make_shared<const std::vector<int32_t>>(std::move(out));
  }

  const Executable& executable_;
  Runner& runner_;
  RunState& run_;
  double left_ = 0;
};

// Leaves the runner as the next run wants it, however this one ends.
class Cleaner {
 public:
  explicit Cleaner(RunState& run) : run_(run) {}
  ~Cleaner() {
    run_.buffers.clear();
    run_.block.reset();
    run_.own.reset();
    run_.error = nullptr;
    run_.failed.store(false, std::memory_order_relaxed);
  }
  Cleaner(const Cleaner&) = delete;

 private:
  RunState& run_;
};

void CheckInputs(const Executable& executable, const std::vector<Buffers>& inputs) {
  bool good = inputs.size() == executable.plan.inputs.size();
  for (size_t k = 0; good && k < inputs.size(); ++k) {
    good = inputs[k].bytes == executable.bindings[k].bytes;
  }
  if (good) return;
  ErrorDetail detail;
  detail.op = "run";
  detail.label = "run.inputs";
  detail.reason = "the inputs are not those of the plan";
  base::ThrowInternal(std::move(detail));
}

int ChooseWorkers(const Executable& executable, Runner& runner, double seconds,
                  Clock::time_point now) {
  const int workers = Workers(runner);
  if (workers == 1) return 1;
  if (!runner.forced) {
    if (seconds < kSerialSeconds || now < runner.alone_until) return 1;
    const bool awake = now - std::exchange(runner.last_large, now) < kAwake;
    if (!awake && seconds < kWorthWaking) return 1;
  }
  Schedule& schedule = executable.schedule;
  if (schedule.workers != workers || schedule.forced != runner.forced) {
    MakeSchedule(executable, workers, runner.forced, schedule);
  }
  return schedule.parallel ? workers : 1;
}

double Since(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Learns from a run of the team whether the machine has cores for it. One worker's time is the
// estimate's or, where kernels say too little, what a run of one worker has taken.
void Watch(const Executable& executable, Runner& runner, double estimate, Clock::time_point begin) {
  runner.last_large = Clock::now();
  const double alone = std::max(estimate, executable.alone_seconds);
  if (Since(begin, runner.last_large) < kStarvedFactor * alone + kStarvedSeconds) {
    runner.backoff = kLeastBackoff;
    return;
  }
  runner.alone_until = runner.last_large + runner.backoff;
  runner.backoff = std::min<Clock::duration>(2 * runner.backoff, kMostBackoff);
}

void Execute(const Executable& executable, Runner& runner, double seconds) {
  RunState& run = runner.run;
  const bool small = seconds < kSerialSeconds;  // not worth a look at the clock
  const Clock::time_point begin = small ? Clock::time_point() : Clock::now();
  const int workers = run.workers = ChooseWorkers(executable, runner, seconds, begin);
  if (const int64_t own = WorkerBytes(executable); own > 0) run.own.emplace(own * workers);
  if (workers > 1) {
    run.barrier.Reset(workers, workers <= Cores());
    if (RunTeam(
            workers, [](void* r, int id) { Work(*static_cast<RunState*>(r), id); }, &run)) {
      Watch(executable, runner, seconds, begin);
      return;
    }
    run.workers = 1;
  }
  Work(run, 0);
  if (!small) executable.alone_seconds = Since(begin, Clock::now());
}

}  // namespace

namespace {

// Returns the buffers in which a value is after the run: those of another one, if their storages
// have changed places.
Buffers& Final(RunState& run, int32_t view) {
  Buffers& own = run.buffers[view];
  const std::byte* base = run.worker_views[0][view].base;
  if (own.base == base) return own;
  for (Buffers& other : run.buffers) {
    if (other.base == base && other.storage) return other;
  }
  return own;
}

}  // namespace

std::vector<Buffers> Run(const Executable& executable, std::vector<Buffers> inputs) {
  CheckInputs(executable, inputs);
  Runner& runner = TheRunner();
  std::lock_guard<std::mutex> lock(runner.lock);
  const SingleThreaded libraries;
  const Cleaner cleaner(runner.run);
  RunState& run = runner.run;
  Execute(executable, runner, Binder(executable, runner).Run(inputs));
  if (run.error) std::rethrow_exception(std::exchange(run.error, nullptr));
  std::vector<Buffers> results;
  results.reserve(executable.outputs.size());
  for (const Output& output : executable.outputs) {
    const bool moves = !executable.loops.empty();
    Buffers& buffers = moves ? Final(run, output.view) : run.buffers[output.view];
    if (output.last && !moves)
      results.push_back(std::move(buffers));
    else
      results.push_back(buffers);
  }
  return results;
}

void SetWorkerCount(int n) {
  Runner& runner = TheRunner();
  std::lock_guard<std::mutex> lock(runner.lock);
  runner.workers = std::max(n, 0);
}

int WorkerCount() {
  Runner& runner = TheRunner();
  std::lock_guard<std::mutex> lock(runner.lock);
  return Workers(runner);
}

void ForceParallel(bool on) {
  Runner& runner = TheRunner();
  std::lock_guard<std::mutex> lock(runner.lock);
  runner.forced = on;
}

}  // namespace tessera::runtime
