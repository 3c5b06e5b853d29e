// A program outside the repository that runs as several processes, and calls MPI itself.
#include <fmt/format.h>
#include <mpi.h>
#include <tessera/processes.h>
#include <tessera/tessera.h>

using namespace tessera;

int main(int argc, char** argv) {
  Processes processes(&argc, &argv);
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  Array total = sum(ones({8, 4}, {.out_sharding = P("x", None)}));
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (process_index() == 0)
    fmt::print("{} of 4 devices here, MPI {}, the sum is {}\n", local_devices().size(),
               initialized ? "runs" : "does not run", total.item<float>());
}
