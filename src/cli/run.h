// Runs a program on files.
#pragma once
#include <tessera/array.h>
#include <tessera/program.h>

#include <ostream>
#include <string>
#include <vector>

namespace tessera::cli {

struct RunRequest {
  // "x.npy", for the next argument that has none, or "ARG=x.npy".
  std::vector<std::string> inputs = {};
  bool fills = false;       // the other arguments by the formula of Filled
  std::string output = {};  // the folder of out0.npy, ...; "": results are only printed
};

// Returns the arguments of a program: files, and made-up numbers for the others. Throws
// std::runtime_error for inputs that are missing or do not fit, and errors of the library.
std::vector<Array> ReadArguments(const Program& program, const RunRequest& request);

// Runs the program and prints the type, the sharding and a summary of each result. Throws
// as above.
void RunProgram(const Program& program, const RunRequest& request, std::ostream& out);

}  // namespace tessera::cli
