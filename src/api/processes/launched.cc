// Reads the variables of launchers.
#include "api/processes/launched.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tessera::api {
namespace {

// The variables by which Open MPI, MPICH and Slurm tell a program the number of processes, and its
// own number.
struct LauncherVariables {
  const char *processes, *process;
};
constexpr LauncherVariables kLaunchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                            {"PMI_SIZE", "PMI_RANK"},
                                            {"MPI_LOCALNRANKS", "MPI_LOCALRANKID"}};

std::atomic<bool> is_settled{false};  // the program has made a scope, or was warned

}  // namespace

int LaunchedProcesses() {
  for (const LauncherVariables& launcher : kLaunchers)
    if (const char* value = std::getenv(launcher.processes)) return std::atoi(value);
  return std::getenv("PMIX_RANK") ? 0 : 1;
}

void NoteScope() { is_settled = true; }

void WarnIfAlone() {
  if (is_settled.exchange(true)) return;
  const int processes = LaunchedProcesses();
  if (processes <= 1) return;
  for (const LauncherVariables& launcher : kLaunchers) {
    if (!std::getenv(launcher.processes)) continue;
    const char* process = std::getenv(launcher.process);
    if (!process || std::string_view(process) != "0") return;
    break;
  }
  const std::string text = fmt::format(
      "tessera: a launcher started {} processes, and each of them works alone with all devices: "
      "make a Processes scope first in main, or link tessera::mpi_main\n",
      processes);
  std::fputs(text.c_str(), stderr);
}

}  // namespace tessera::api
