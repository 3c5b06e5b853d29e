// The processes that a launcher such as mpirun started, as its variables tell them.
#pragma once

namespace tessera::api {

// Returns how many processes a launcher started; 0: it started some, and only MPI knows how many.
int LaunchedProcesses();

// Says that the program makes a Processes scope.
void NoteScope();
// If a launcher started several processes and the program makes no Processes scope, each process
// works alone. The first of them writes a line to stderr, once.
void WarnIfAlone();

}  // namespace tessera::api
