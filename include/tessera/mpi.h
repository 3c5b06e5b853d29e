// Several processes of a program that uses MPI itself. This is the only header that includes mpi.h.
#pragma once
#include <mpi.h>

#include "tessera/processes.h"

namespace tessera {

// Scope: as Processes, for the processes of a communicator. It is duplicated, so the program may
// send messages of its own at any time. The program initialises MPI before, with at least
// MPI_THREAD_FUNNELED, and finalises it after. With MPI_THREAD_FUNNELED only the main thread may
// run programs. With MPI_THREAD_SERIALIZED any thread may, one at a time. All processes of the
// communicator call it. Throws RuntimeError if MPI is not initialised, or not with enough support
// of threads.
class [[nodiscard]] MpiProcesses : public Processes {
 public:
  explicit MpiProcesses(MPI_Comm communicator, ProcessOptions options = {},
                        Loc loc = Loc::Current())
      : Processes(static_cast<const void*>(&communicator), options, loc) {}
};

}  // namespace tessera
