// A program that is not linked with tessera::mpi: under mpirun it is refused.
#include <tessera/processes.h>

#include <cstdio>
#include <exception>
#include <string>

int main(int argc, char** argv) {
  try {
    const tessera::Processes processes(&argc, &argv);
    return 0;
  } catch (const std::exception& e) {
    std::fputs((std::string(e.what()) + "\n").c_str(), stderr);
    return 1;
  }
}
