// The scope in which processes run together, and arrays that have parts on several of them.
#include "tessera/processes.h"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "api/core/elements.h"
#include "base/error.h"
#include "compile/host/processes.h"
#include "compile/run/executor.h"
#include "runtime/transport.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

// The variables by which Open MPI, MPICH and Slurm tell a program the number of processes.
constexpr const char* kLaunchers[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};

int LaunchedProcesses() {
  for (const char* name : kLaunchers)
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return 1;
}

[[noreturn]] void Fail(int check, Loc loc, std::string reason, std::string hint) {
  base::ThrowRuntime(
      base::Refusal("Processes", check, base::Where(loc), std::move(reason), {std::move(hint)}));
}

}  // namespace

Processes::Processes(int* argc, char*** argv, ProcessOptions options, Loc loc)
    : exceptions_(std::uncaught_exceptions()) {
  const int launched = LaunchedProcesses();
  if (launched <= 1) return;
  const runtime::Launcher* launcher = runtime::TheLauncher();
  if (!launcher)
    Fail(1, loc,
         fmt::format("a launcher started {} processes, but the program has no MPI", launched),
         "link tessera::mpi (CMake: find_package(tessera COMPONENTS mpi))");
  if (runtime::TheTransport())
    Fail(2, loc, "the processes already run together", "make one Processes scope, first in main");
  runtime::SetTransport(launcher->start(argc, argv));
  compile::SetReadsGather(options.reads_gather);
  compile::ShareCores();
  trace::SetDevices(compile::Processes());
}

Processes::~Processes() {
  runtime::Transport* transport = runtime::TheTransport();
  if (!transport) return;
  runtime::SetTransport(nullptr);
  runtime::TheLauncher()->stop(transport, std::uncaught_exceptions() == exceptions_);
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
  return Array(std::const_pointer_cast<Concrete>(OnHost(x, call)));
}

}  // namespace tessera
