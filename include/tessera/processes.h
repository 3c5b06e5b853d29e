// Several processes that run one program together, as `mpirun -n 4 program` starts them. Every
// process runs the same code. Each hosts its share of the devices.
#pragma once
#include <cstdint>
#include <vector>

#include "tessera/array.h"
#include "tessera/deterministic.h"
#include "tessera/error.h"

namespace TESSERA_PUBLIC tessera {

struct ProcessOptions {
  // Reading an array that is not wholly on this process (`to_vector`, `item`, printing) gathers it,
  // so all processes must read it. If false, such a read is an error.
  bool reads_gather = false;
  // If a process does not answer for this time, a line on stderr says which, and who waits for it.
  // If it answers, but runs its own code while another one waits for a third of this time, a line
  // says so.
  // If all processes wait for each other for this time, in different places, each throws
  // RuntimeError. If not all processes make the scope in this time, the others end with an error.
  // 0: they wait for ever.
  double stall_seconds = 30;
};

// Scope: this process runs programs together with the others that the launcher started. It comes
// first in `main`, before any array is made: `Processes processes(&argc, &argv);`. If no launcher
// started the program there is one process, and the scope does nothing. At first each process has
// one device. Throws RuntimeError if a launcher started several processes and the program is not
// linked with tessera::mpi, or if the processes differ in their version of the library.
//
// One thread at a time runs programs on meshes, gathers arrays and saves them. If two threads of a
// process do so at the same time, the second one gets RuntimeError, and so does every later call.
// Threads that take turns take them in the same order on every process.
//
// If a process fails, all end, within two seconds: if no one catches its exception, if it calls
// exit with a status other than 0, and if an exception leaves the scope. A message on stderr says
// which process it was.
class [[nodiscard]] Processes {
 public:
  Processes(int* argc, char*** argv, ProcessOptions options = {}, Loc loc = Loc::Current());
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

 protected:
  // Of an MPI_Comm; see tessera/mpi.h.
  Processes(const void* communicator, ProcessOptions options, Loc loc);

 private:
  int exceptions_ = 0;  // of this thread in flight when the scope began
};

// Return the number of this process, 0 .. process_count() - 1, and the number of processes.
int process_index();
int process_count();
// Returns the devices that this process hosts, ascending. All devices are split over the processes
// evenly and in order.
std::vector<int64_t> local_devices();

// Returns an array without a mesh, of all elements of `x`, on every process. All processes call it.
// In one process it copies `x`. Throws TraceError for arrays without elements.
Array gather_to_host(const Array& x, Loc loc = Loc::Current());

}  // namespace tessera
