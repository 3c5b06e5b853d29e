// The scope in which processes run together, and arrays that have parts on several of them.
#include "tessera/processes.h"

#include <absl/functional/function_ref.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "api/core/elements.h"
#include "api/processes/endings.h"
#include "api/processes/launched.h"
#include "base/error.h"
#include "compile/host/processes.h"
#include "compile/run/executor.h"
#include "compile/run/together.h"
#include "kernels/initialize.h"
#include "runtime/meeting.h"
#include "runtime/transport.h"
#include "tessera/version.h"
#include "trace/array.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

// The time for all processes to print their errors before one ends the others.
constexpr auto kTimeToPrint = std::chrono::milliseconds(300);

int devices_before = 1;  // where the last scope ended

constexpr const char* kLinkMpi = "link tessera::mpi (CMake: find_package(tessera COMPONENTS mpi))";

[[noreturn]] void Fail(int check, Loc loc, std::string reason, std::string hint) {
  base::ThrowRuntime(
      base::Refusal("Processes", check, base::Where(loc), std::move(reason), {std::move(hint)}));
}

// Throws if something depends on the number of devices already, since the scope changes it.
void CheckIsFirst(Loc loc) {
  constexpr const char* kFirst = "make the Processes scope first in main";
  if (runtime::TheTransport())
    Fail(2, loc, "the processes already run together", "make one Processes scope, first in main");
  if (trace::MeshScopes() > 0) Fail(6, loc, "a mesh is in scope", kFirst);
  if (const trace::LiveArrays live = trace::LiveShardedArrays(); live.count > 0)
    Fail(7, loc,
         fmt::format("an array is already on a mesh: it was made at {}",
                     base::Where(*live.oldest_made_at)),
         kFirst);
  if (trace::Devices() != devices_before)
    Fail(8, loc, fmt::format("the program has already called SetDeviceCount({})", trace::Devices()),
         "call SetDeviceCount after the Processes scope begins");
}

// All processes run the same library, with kernels for the same CPU.
void CheckBuilds(Loc loc) {
  const std::string text = fmt::format("version {} of the library\nkernels for {}\n",
                                       TESSERA_VERSION, kernels::InstructionSet());
  runtime::Meet({"starting", base::Where(loc), runtime::SharedHash(text), [&] { return text; },
                 "start the same build on hosts with CPUs of one kind"});
}

void Enter(runtime::Started started, ProcessOptions options, Loc loc) {
  if (!started.error.empty()) Fail(4, loc, std::move(started.error), std::move(started.hint));
  if (!started.transport) return;
  runtime::SetTransport(std::move(started.transport));
  EndAllWithThis();
  compile::SetReadsGather(options.reads_gather);
  compile::ShareCores();
  trace::SetDevices(compile::Processes());
  try {
    CheckBuilds(loc);
  } catch (...) {
    Leave(Leaving::kByException);
    throw;
  }
}

// Scope: ends this process with an error if the scope lasts longer than some seconds. A process
// that waits in MPI for others cannot do so itself.
class TimeLimit {
 public:
  TimeLimit(double seconds, Loc loc) {
    if (seconds <= 0) return;
    sigset_t all, old;  // signals are for the program's threads
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    thread_ = std::thread([=, this] { Wait(seconds, loc); });
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }
  ~TimeLimit() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    over_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  TimeLimit(const TimeLimit&) = delete;

 private:
  void Wait(double seconds, Loc loc) {
    std::unique_lock lock(mutex_);
    if (over_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return is_over_; }))
      return;
    ErrorDetail detail = base::Refusal(
        "Processes", 9, base::Where(loc),
        fmt::format("after {:g} s not all processes have made their Processes scope", seconds),
        {"every process makes it, first in main; .stall_seconds sets the time to wait"});
    detail.kind = "RuntimeError";
    std::fputs((base::Render(detail) + "\n").c_str(), stderr);
    std::this_thread::sleep_for(kTimeToPrint);
    std::_Exit(EXIT_FAILURE);
  }

  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

runtime::Started InTime(ProcessOptions options, Loc loc,
                        absl::FunctionRef<runtime::Started()> start) {
  const TimeLimit limit(options.stall_seconds, loc);
  return start();
}

}  // namespace

Processes::Processes(int* argc, char*** argv, ProcessOptions options, Loc loc)
    : exceptions_(std::uncaught_exceptions()) {
  NoteScope();
  const int launched = LaunchedProcesses();
  if (launched == 1) return;
  const runtime::Launcher* launcher = runtime::TheLauncher();
  if (!launcher && launched == 0) return;
  if (!launcher)
    Fail(1, loc,
         fmt::format("a launcher started {} processes, but the program has no MPI", launched),
         kLinkMpi);
  CheckIsFirst(loc);
  const auto start = [&] { return launcher->start(argc, argv, {options.stall_seconds}); };
  Enter(InTime(options, loc, start), options, loc);
  if (!runtime::TheTransport() && launched > 1)
    Fail(3, loc, fmt::format("a launcher started {} processes, but MPI knows of one", launched),
         "start the program with the mpirun of the MPI that tessera::mpi was built with");
}

Processes::Processes(const void* communicator, ProcessOptions options, Loc loc)
    : exceptions_(std::uncaught_exceptions()) {
  NoteScope();
  CheckIsFirst(loc);
  const runtime::Launcher* launcher = runtime::TheLauncher();
  if (!launcher) Fail(5, loc, "the program is not linked with tessera::mpi", kLinkMpi);
  const auto start = [&] { return launcher->start_on(communicator, {options.stall_seconds}); };
  Enter(InTime(options, loc, start), options, loc);
}

Processes::~Processes() {
  Leave(std::uncaught_exceptions() == exceptions_ ? Leaving::kInOrder : Leaving::kByException);
  devices_before = trace::Devices();
}

int process_index() { return compile::Process(); }
int process_count() { return compile::Processes(); }

std::vector<int64_t> local_devices() {
  std::vector<int64_t> devices;
  for (int64_t d = 0; d < trace::Devices(); ++d)
    if (compile::ProcessOf(d) == compile::Process()) devices.push_back(d);
  return devices;
}

Array gather_to_host(const Array& x, Loc loc) {
  const Call call{"gather_to_host", loc};
  const runtime::WaitingFor waiting([&] { return "gather_to_host at " + base::Where(loc); });
  return Array(std::const_pointer_cast<Concrete>(OnHost(x, call)));
}

}  // namespace tessera
