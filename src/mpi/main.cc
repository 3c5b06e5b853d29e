// Runs `main` of the program inside of a Processes scope. Link it with --wrap=main.
#include <cstdio>
#include <exception>

#include "tessera/processes.h"

extern "C" int __real_main(int argc, char** argv);

extern "C" int __wrap_main(int argc, char** argv) {
  tessera::Processes processes(&argc, &argv, {.reads_gather = true});
  return __real_main(argc, argv);
}
