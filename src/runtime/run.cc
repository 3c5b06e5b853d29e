// Runs an executable: binds buffers, chooses the workers, and returns the outputs.
#include "runtime/run.h"

#include <absl/algorithm/container.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "base/at.h"
#include "base/error.h"
#include "base/fork.h"
#include "runtime/alias.h"
#include "runtime/arena.h"
#include "runtime/assign.h"
#include "runtime/executable.h"
#include "runtime/team.h"
#include "runtime/worker.h"

namespace tessera::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// Below this time one worker is faster than two.
constexpr double kSerialSeconds = 5e-6;
// libgomp's threads spin for some milliseconds after a region; waking them later costs about 50 us.
constexpr double kWorthWaking = 100e-6;
constexpr auto kAwake = std::chrono::milliseconds(1);
// A run that takes this much longer than one worker would has probably waited for a core that other
// processes use. One worker then runs alone for a while, twice as long each time this happens
// again.
constexpr double kStarvedFactor = 2;
constexpr double kStarvedSeconds = 300e-6;
constexpr auto kLeastBackoff = std::chrono::milliseconds(1);
constexpr auto kMostBackoff = std::chrono::milliseconds(64);
// A team that dissolved has certainly waited: one worker runs alone for several times the time that
// was lost.
constexpr int kLossesAlone = 8;
constexpr auto kMostAlone = std::chrono::seconds(10);

std::atomic<int> worker_count{0};  // 0: one per core
std::atomic<bool> force_parallel{false};
std::atomic<int> barriers_of_team{0};

// The state of one run, and memory that the next run reuses.
struct Runner {
  RunState run;
  base::IdVector<ViewId, bool> unique;  // of inputs: donated, and held by nobody else
  int workers = 1;                      // workers that the run may use
  bool forced = false;
};

// The only team. A run that finds it busy does not wait, unless it has messages to other processes;
// its caller runs it alone. The busy run may be the one that called the current kernel.
struct Team {
  std::atomic<bool> busy{false};
  // Of the busy run. A thread finds its own id only if it has stored it, so no order is needed.
  std::atomic<std::thread::id> caller;
  bool IsCaller() const {
    return caller.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  Runner runner;
  Clock::time_point last_large;   // when the team last had work
  Clock::time_point alone_until;  // until then the machine is too busy for a team
  Clock::duration backoff = kLeastBackoff;
};

// The child of a fork has none of the threads, so it starts with a new team.
Team& TheTeam() {
  static Team* team = [] {
    pthread_atfork(nullptr, nullptr, [] { team = new Team; });
    return new Team;
  }();
  return *team;
}

// The cores of this process: all that it may use, or its share of them.
std::atomic<int>& TheCores() {
  static std::atomic<int> cores = CoreCount();
  return cores;
}
int Cores() { return TheCores().load(std::memory_order_relaxed); }

int Workers() {
  const int workers = worker_count.load(std::memory_order_relaxed);
  return workers > 0 ? workers : Cores();
}

// Whether all buffers may be written: they are in a storage of ours, and the caller holds the only
// reference. Releasing a copy of the reference synchronises with the threads that released theirs.
bool IsUnshared(const Buffers& buffers) {
  if (!buffers.storage || buffers.storage.use_count() != 1 || buffers.storage->foreign()) {
    return false;
  }
  const std::vector<int32_t>* slots = buffers.slots.get();
  if (slots && absl::c_linear_search(*slots, kZeroSlot)) return false;
  StorageRef(buffers.storage).reset();
  return true;
}

// The plan's inputs are the first views.
ViewId ViewOfInput(size_t input) { return ViewId{static_cast<int32_t>(input)}; }

// Binds all values of one run.
class Binder {
 public:
  Binder(const Executable& executable, Runner& runner)
      : executable_(executable), runner_(runner), run_(runner.run) {}

  // Returns the estimated seconds of work left after binding: exchanges that became aliases
  // take none.
  double Run(std::vector<Buffers>& inputs) {
    const base::IdVector<ViewId, Binding>& bindings = executable_.bindings;
    run_.executable = &executable_;
    run_.done.assign(executable_.nodes.size(), 0);
    run_.buffers.resize(bindings.size());
    run_.views.resize(bindings.size());
    left_ = executable_.seconds;
    run_.worker_views.resize(runner_.workers);
    run_.iterations.resize(runner_.workers);
    run_.slots.resize(runner_.workers);
    if (run_.mail.size() < base::Size(executable_.mails)) run_.mail.resize(executable_.mails);
    if (executable_.block_bytes > 0) run_.block.emplace(executable_.block_bytes);
    TakeInputs(inputs);
    for (ViewId v : base::IdRange(ViewOfInput(inputs.size()), bindings.next_id())) {
      Bind(bindings[v], run_.buffers[v]);
    }
    for (ViewId v : bindings.ids()) {
      const Buffers& b = run_.buffers[v];
      run_.views[v] = {b.base, b.stride, b.slots ? b.slots->data() : nullptr};
    }
    return left_;
  }

 private:
  void TakeInputs(std::vector<Buffers>& inputs) {
    const std::vector<plan::PlanInput>& planned = executable_.plan.inputs;
    runner_.unique.assign(inputs.size(), false);
    for (size_t k = 0; k < planned.size(); ++k) {
      if (planned[k].donated) runner_.unique[ViewOfInput(k)] = IsUnshared(inputs[k]);
    }
    for (size_t k = 0; k < inputs.size(); ++k) run_.buffers[ViewOfInput(k)] = std::move(inputs[k]);
  }

  void Bind(const Binding& b, Buffers& out) {
    switch (b.how) {
      case Binding::kConstant:
        out = executable_.constants[b.constant];
        break;
      case Binding::kSame:
        out = run_.buffers[b.from];
        break;
      case Binding::kWindow:
        out = {};
        break;  // set in each iteration
      case Binding::kAlias:
        BindAlias(b, run_.buffers[b.from], out);
        break;
      case Binding::kBlock:
        out.bytes = b.bytes;
        out.stride = RoundUp(b.bytes, kLine);
        out.base = b.offset + (b.from == kNoView ? run_.block->data() : run_.buffers[b.from].base);
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
    for (int32_t instance : order)
      out.push_back(instance == kZeroSlot ? kZeroSlot : slots[instance]);
    return std::make_shared<const std::vector<int32_t>>(std::move(out));
  }

  const Executable& executable_;
  Runner& runner_;
  RunState& run_;
  double left_ = 0;
};

// Resets the runner for the next run, on success and on failure.
class Cleaner {
 public:
  explicit Cleaner(RunState& run) : run_(run) {}
  ~Cleaner() {
    if (run_.going > 0) Abandon();
    run_.buffers.clear();
    run_.block.reset();
    run_.own.reset();
    run_.error = nullptr;
    run_.events.clear();
    run_.failed.store(false, std::memory_order_relaxed);
  }
  Cleaner(const Cleaner&) = delete;

 private:
  // After a failure, messages may still be on their way from and to this memory, so it is kept for
  // ever.
  void Abandon() {
    struct Kept {
      base::IdVector<ViewId, Buffers> buffers;
      std::optional<Storage> block, own;
      std::vector<Mail> mail;
    };
    new Kept{std::move(run_.buffers), std::move(run_.block), std::move(run_.own),
             std::move(run_.mail)};
    run_.buffers = {};
    run_.mail = {};
    run_.going = 0;
  }

  RunState& run_;
};

void CheckInputs(const Executable& executable, const std::vector<Buffers>& inputs) {
  bool good = inputs.size() == executable.plan.inputs.size();
  for (size_t k = 0; good && k < inputs.size(); ++k) {
    good = inputs[k].bytes == executable.bindings[ViewOfInput(k)].bytes;
  }
  if (good) return;
  ErrorDetail detail;
  detail.op = "run";
  detail.label = "run.inputs";
  detail.reason = "the inputs do not match the inputs of the plan";
  base::ThrowInternal(std::move(detail));
}

int ChooseWorkers(const Executable& executable, Team& team, double seconds, Clock::time_point now) {
  const int workers = team.runner.workers;
  const bool forced = team.runner.forced;
  if (workers == 1) return 1;
  if (!forced) {
    if (seconds < kSerialSeconds || now < team.alone_until) return 1;
    const bool awake = now - std::exchange(team.last_large, now) < kAwake;
    if (!awake && seconds < kWorthWaking) return 1;
  }
  Assignment& assignment = executable.assignment;
  if (assignment.workers != workers || assignment.forced != forced) {
    AssignWork(executable, workers, forced, assignment);
  }
  return assignment.parallel ? workers : 1;
}

double SecondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Learns from a run of the team whether the machine has enough cores for it. The time of one worker
// is the estimate, or the last measured run of one worker if that is longer.
void LearnFromTeam(const Executable& executable, Team& team, double estimate,
                   Clock::time_point begin) {
  team.last_large = Clock::now();
  const double alone = std::max(estimate, executable.alone_seconds);
  const double taken = executable.team_seconds = SecondsBetween(begin, team.last_large);
  if (taken < kStarvedFactor * alone + kStarvedSeconds) {
    team.backoff = kLeastBackoff;
    return;
  }
  team.alone_until = team.last_large + team.backoff;
  team.backoff = std::min<Clock::duration>(2 * team.backoff, kMostBackoff);
  if (!team.runner.run.barrier.dissolved()) return;
  const auto losses = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(kLossesAlone * (taken - alone)));
  team.alone_until = team.last_large + std::min<Clock::duration>(losses, kMostAlone);
}

// Learns from a run of one worker. If it took as long as the team's last run, the team was not
// starved: the estimate was too low.
void LearnFromOne(const Executable& executable, Team& team, Clock::time_point begin) {
  executable.alone_seconds = SecondsBetween(begin, Clock::now());
  if (executable.team_seconds == 0 || executable.team_seconds > executable.alone_seconds) return;
  team.alone_until = {};
  team.backoff = kLeastBackoff;
}

void AllocateOwn(const Executable& executable, RunState& run, int workers) {
  run.workers = workers;
  if (const int64_t own = WorkerBytes(executable); own > 0) run.own.emplace(own * workers);
}

void Execute(const Executable& executable, Team& team, double seconds) {
  RunState& run = team.runner.run;
  const bool small = seconds < kSerialSeconds;  // not worth reading the clock
  const Clock::time_point begin = small ? Clock::time_point() : Clock::now();
  const int workers = ChooseWorkers(executable, team, seconds, begin);
  AllocateOwn(executable, run, workers);
  if (workers > 1) {
    run.barrier.Reset(workers, workers <= Cores(), barriers_of_team);
    run.claims.store(0, std::memory_order_relaxed);
    if (RunTeam(
            workers, [](void* r, int id) { Work(*static_cast<RunState*>(r), id); }, &run)) {
      LearnFromTeam(executable, team, seconds, begin);
      return;
    }
    run.workers = 1;
  }
  Work(run, 0);
  if (!small) LearnFromOne(executable, team, begin);
}

// Returns where a value is after the run. It starts as it was bound; if a loop has swapped
// storages, it is in another storage, and a loop may have changed the order of its instances.
Buffers BuffersAfterRun(const RunState& run, ViewId view) {
  Buffers result = run.buffers[view];
  const auto& [base, stride, slots] = run.worker_views[0][view];
  if (slots != run.views[view].slots) {
    const int32_t instances = run.executable->bindings[view].instances;
    result.slots = std::make_shared<const std::vector<int32_t>>(slots, slots + instances);
  }
  if (result.base == base) return result;
  for (const Buffers& other : run.buffers) {
    if (other.base != base || !other.storage) continue;
    result.base = other.base;
    result.storage = other.storage;
    break;
  }
  return result;
}

std::vector<Buffers> Results(const Executable& executable, RunState& run) {
  if (run.error) std::rethrow_exception(std::exchange(run.error, nullptr));
  const bool moves = !executable.loops.empty();
  std::vector<Buffers> results;
  results.reserve(executable.outputs.size());
  for (const Output& output : executable.outputs) {
    if (moves)
      results.push_back(BuffersAfterRun(run, output.view));
    else if (output.last)
      results.push_back(std::move(run.buffers[output.view]));
    else
      results.push_back(run.buffers[output.view]);
  }
  return results;
}

std::vector<Buffers> RunOnTeam(const Executable& executable, Team& team,
                               std::vector<Buffers>& inputs) {
  team.runner.workers = Workers();
  team.runner.forced = force_parallel.load(std::memory_order_relaxed);
  const Cleaner cleaner(team.runner.run);
  if (IsRecorded()) team.runner.run.events.resize(base::Size(team.runner.workers));
  Execute(executable, team, Binder(executable, team.runner).Run(inputs));
  PassToRecorders(executable.plan, team.runner.run.events);
  return Results(executable, team.runner.run);
}

// Records the events under the calling worker, and under the device that the run is for.
void AttributeToCaller(std::vector<std::vector<Event>>& events, int32_t device) {
  if (events.empty()) return;
  for (Event& event : events[0])
    if (device >= 0 && event.device >= 0) event.device = device;
  events.resize(base::Size(WorkerOfThread()) + 1);
  std::swap(events.front(), events.back());
}

std::vector<Buffers> RunAlone(const Executable& executable, std::vector<Buffers>& inputs,
                              int32_t device) {
  Runner runner;
  const Cleaner cleaner(runner.run);
  Binder(executable, runner).Run(inputs);
  AllocateOwn(executable, runner.run, 1);
  if (IsRecorded()) runner.run.events.resize(1);
  Work(runner.run, 0);
  AttributeToCaller(runner.run.events, device);
  PassToRecorders(executable.plan, runner.run.events);
  return Results(executable, runner.run);
}

}  // namespace

std::vector<Buffers> Run(const Executable& executable, std::vector<Buffers> inputs,
                         int32_t device) {
  CheckInputs(executable, inputs);
  const SingleThreaded libraries;
  Team& team = TheTeam();
  while (team.busy.exchange(true, std::memory_order_acquire)) {
    if (executable.mails == 0 || team.IsCaller()) return RunAlone(executable, inputs, device);
    std::this_thread::yield();  // one thread at a time exchanges with other processes
  }
  team.caller.store(std::this_thread::get_id(), std::memory_order_relaxed);
  struct Free {
    Team& team;
    ~Free() {
      team.caller.store(std::thread::id(), std::memory_order_relaxed);
      team.busy.store(false, std::memory_order_release);
    }
  } free{team};
  return RunOnTeam(executable, team, inputs);
}

void SetWorkerCount(int n) { worker_count = std::max(n, 0); }
void SetCores(int n) { TheCores() = std::max(n, 1); }
int WorkerCount() { return Workers(); }
void ForceParallel(bool on) { force_parallel = on; }
void DissolveTeamsAfter(int barriers) { barriers_of_team = barriers; }

}  // namespace tessera::runtime
