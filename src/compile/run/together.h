// Programs that several processes run together.
#pragma once
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/program.h"
#include "runtime/meeting.h"
#include "runtime/transport.h"
#include "trace/array.h"

namespace tessera::compile {

// Whether all processes compile and run the program together. Programs without a mesh are those of
// one process.
bool RunsTogether(const ir::Program& program);

// The choices that change the compiled code of a program.
struct CompileChoices {
  const std::vector<bool>&donated, &shares;
  std::string options;  // those of scopes, as lines
};
// A program that all processes have compiled.
struct SharedProgram {
  uint64_t hash = 0;   // equal on all processes
  std::string inputs;  // "(f32[8@x,4], i32[])"
};
// Returns the line of the first instruction that has one.
Loc FirstLine(const ir::Program& program);

// All processes call it. Throws the same RuntimeError on every process if they compile different
// programs.
SharedProgram ComparePrograms(const ir::Program& program, const CompileChoices& choices);

// Returns the line of the last call of a program that ran together; unknown if there was none.
Loc LastRunTogether();
void SetLastRunTogether(Loc loc);

// Calls `run`, which runs a program together with the other processes. If it fails, the others are
// told.
template <class F>
auto RunTogether(const SharedProgram& program, Loc loc, F run) {
  runtime::Transport& transport = *runtime::TheTransport();
  SetLastRunTogether(loc);
  const std::string where = base::Where(loc);
  const runtime::WaitingFor waiting([&] { return "the program called at " + where; });
  try {
    transport.BeginRun(runtime::MixShared(program.hash, runtime::SharedHash(where)), where,
                       program.inputs);
    return run();
  } catch (const std::exception& e) {
    transport.FailRun(e.what());
    throw;
  } catch (...) {
    transport.FailRun("an exception that is not a std::exception");
    throw;
  }
}

}  // namespace tessera::compile
