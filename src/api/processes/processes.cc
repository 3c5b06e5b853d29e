// The scope in which processes run together, and arrays that have parts on several of them.
#include "tessera/processes.h"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "api/core/elements.h"
#include "api/processes/endings.h"
#include "base/error.h"
#include "compile/host/processes.h"
#include "compile/run/executor.h"
#include "compile/run/together.h"
#include "kernels/initialize.h"
#include "runtime/meeting.h"
#include "runtime/transport.h"
#include "tessera/version.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

// The variables by which Open MPI, MPICH and Slurm tell a program the number of processes.
constexpr const char* kLaunchers[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};

constexpr const char* kLinkMpi = "link tessera::mpi (CMake: find_package(tessera COMPONENTS mpi))";

// Returns how many processes a launcher started; 0: it started some, and only MPI knows how many.
int LaunchedProcesses() {
  for (const char* name : kLaunchers)
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return std::getenv("PMIX_RANK") ? 0 : 1;
}

[[noreturn]] void Fail(int check, Loc loc, std::string reason, std::string hint) {
  base::ThrowRuntime(
      base::Refusal("Processes", check, base::Where(loc), std::move(reason), {std::move(hint)}));
}

void CheckNotOpen(Loc loc) {
  if (runtime::TheTransport())
    Fail(2, loc, "the processes already run together", "make one Processes scope, first in main");
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

}  // namespace

Processes::Processes(int* argc, char*** argv, ProcessOptions options, Loc loc)
    : exceptions_(std::uncaught_exceptions()) {
  const int launched = LaunchedProcesses();
  if (launched == 1) return;
  const runtime::Launcher* launcher = runtime::TheLauncher();
  if (!launcher && launched == 0) return;
  if (!launcher)
    Fail(1, loc,
         fmt::format("a launcher started {} processes, but the program has no MPI", launched),
         kLinkMpi);
  CheckNotOpen(loc);
  Enter(launcher->start(argc, argv, {options.stall_seconds}), options, loc);
  if (!runtime::TheTransport() && launched > 1)
    Fail(3, loc, fmt::format("a launcher started {} processes, but MPI knows of one", launched),
         "start the program with the mpirun of the MPI that tessera::mpi was built with");
}

Processes::Processes(const void* communicator, ProcessOptions options, Loc loc)
    : exceptions_(std::uncaught_exceptions()) {
  CheckNotOpen(loc);
  const runtime::Launcher* launcher = runtime::TheLauncher();
  if (!launcher) Fail(5, loc, "the program is not linked with tessera::mpi", kLinkMpi);
  Enter(launcher->start_on(communicator, {options.stall_seconds}), options, loc);
}

Processes::~Processes() {
  Leave(std::uncaught_exceptions() == exceptions_ ? Leaving::kInOrder : Leaving::kByException);
}

Deterministic::Deterministic() : outer_(compile::KeepsOrder()) { compile::SetKeepsOrder(true); }
Deterministic::~Deterministic() { compile::SetKeepsOrder(outer_); }

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
