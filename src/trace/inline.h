// Programs as functions of arrays: recorded in a trace, only typed, or run.
#pragma once
#include <memory>
#include <vector>

#include "trace/array.h"

namespace tessera::trace {

// Whether a call on these arrays is traced.
bool InsideTrace(const std::vector<ArrayRef>& arrays);
// Whether a call of the program on these arrays only infers types.
bool IsAbstract(const std::vector<ArrayRef>& arrays, const ir::Program& program);

// Returns the inputs of a run: the arrays, then the program's captures. Throws TraceError, named
// after `op`, if a capture has been donated.
std::vector<ArrayRef> WithCaptures(std::vector<ArrayRef> arrays, const ir::Program& program,
                                   const char* op, Loc loc);
// Returns abstract arrays with the types of the program's outputs.
std::vector<Array> AbstractOutputs(const ir::Program& program, Loc loc);

// The last compilation of a program, and the kind of inputs it was for. Threads may share it.
class KeptCompilation {
 public:
  // Compiles the program for such inputs, unless the last compilation was for the same kind.
  // `donated`: per input, the same at each call.
  Executor::Compiled For(const std::shared_ptr<const ir::Program>& program,
                         const std::vector<bool>& donated, const std::vector<ArrayRef>& inputs);

 private:
  size_t key_ = 0;
  std::vector<const ir::Type*> places_;
  std::vector<bool> shares_;
  Executor::Compiled compiled_;
};

// Returns the results of the program on these arrays: recorded, abstract or computed. `op` is the
// calling function, in messages. Compilations are kept in `kept`. A computation gives up the inputs
// that are `donated`.
std::vector<Array> CallProgram(const std::shared_ptr<const ir::Program>& program,
                               const std::vector<ArrayRef>& inputs, const char* op, Loc loc,
                               KeptCompilation* kept = nullptr,
                               const std::vector<bool>& donated = {});

}  // namespace tessera::trace
