// Starts and stops MPI, for programs that are linked with this library.
#include <mpi.h>

#include "mpi/transport.h"
#include "runtime/transport.h"

namespace tessera::mpi {
namespace {

runtime::Transport* Start(int* argc, char*** argv) {
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
  return new MpiTransport(MPI_COMM_WORLD);
}

// A process that leaves by an exception does not finalize, so the launcher ends the others.
void Stop(runtime::Transport* transport, bool in_order) {
  if (!in_order) return;
  delete transport;
  MPI_Finalize();
}

constexpr runtime::Launcher kLauncher{Start, Stop};

struct Installer {
  Installer() { runtime::InstallLauncher(&kLauncher); }
};
const Installer installer;

}  // namespace
}  // namespace tessera::mpi

// Programs refer to this name, so that the linker keeps the library.
extern "C" [[gnu::visibility("default")]] const int tessera_mpi = 1;
