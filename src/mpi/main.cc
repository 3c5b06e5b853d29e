// Runs `main` of the program inside of a Processes scope. Link it with --wrap=main.
#include "mpi/main.h"

#include <cstdlib>

#include "tessera/processes.h"

int __wrap_main(int argc, char** argv) {
  tessera::Processes processes(&argc, &argv, {.reads_gather = true});
  const int status = __real_main(argc, argv);
  if (status != 0) std::exit(status);  // inside the scope, so that it ends all processes
  return status;
}
