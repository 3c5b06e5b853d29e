// Starts and stops MPI, for programs that are linked with this library.
#include <mpi.h>

#include <cstdint>

#include "mpi/transport.h"
#include "runtime/transport.h"

namespace tessera::mpi {
namespace {

enum class Initialised : uint8_t {
  kNotHere,  // not yet, or by the program
  kHere,     // by Start
  kStopped,  // by Start, and Stop has finalised it
} initialised = Initialised::kNotHere;

// Returns the error if MPI cannot be used now.
runtime::Started CheckState() {
  int is_initialised = 0, is_finalised = 0;
  MPI_Initialized(&is_initialised);
  MPI_Finalized(&is_finalised);
  if (initialised == Initialised::kStopped)
    return {.error = "the program has already left a Processes scope, and MPI starts only once",
            .hint = "make one Processes scope, first in main"};
  if (is_finalised)
    return {.error = "MPI is already finalised",
            .hint = "end the scope before you call MPI_Finalize"};
  if (!is_initialised)
    return {.error = "MPI is not initialised",
            .hint = "call MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) first"};
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_FUNNELED)
    return {.error = "MPI is initialised for a single thread, but programs use several",
            .hint =
                "call MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) instead of "
                "MPI_Init"};
  return {};
}

runtime::Started StartOn(const void* communicator, runtime::StartOptions options) {
  if (runtime::Started failed = CheckState(); !failed.error.empty()) return failed;
  const MPI_Comm comm = *static_cast<const MPI_Comm*>(communicator);
  if (comm == MPI_COMM_NULL)
    return {.error = "the communicator is MPI_COMM_NULL",
            .hint = "a process outside of the communicator makes no scope"};
  int is_inter = 0, size = 0;
  MPI_Comm_test_inter(comm, &is_inter);
  if (is_inter)
    return {.error = "the communicator is between two groups",
            .hint = "merge the groups with MPI_Intercomm_merge"};
  MPI_Comm_size(comm, &size);
  if (size == 1) return {};
  return {.transport = std::make_unique<MpiTransport>(comm, options)};
}

runtime::Started Start(int* argc, char*** argv, runtime::StartOptions options) {
  int is_initialised = 0, provided = 0;
  MPI_Initialized(&is_initialised);
  if (!is_initialised) {
    MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
    initialised = Initialised::kHere;
  }
  const MPI_Comm world = MPI_COMM_WORLD;
  return StartOn(&world, options);
}

void Stop(std::unique_ptr<runtime::Transport> transport) {
  transport.reset();
  if (initialised != Initialised::kHere) return;
  MPI_Finalize();
  initialised = Initialised::kStopped;
}

constexpr runtime::Launcher kLauncher{Start, StartOn, Stop};

struct Installer {
  Installer() { runtime::InstallLauncher(&kLauncher); }
};
const Installer installer;

}  // namespace
}  // namespace tessera::mpi

// Programs refer to this name, so that the linker keeps the library.
extern "C" [[gnu::visibility("default")]] const int tessera_mpi = 1;
