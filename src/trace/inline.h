// Programs as functions of arrays: recorded in a trace, only typed, or run.
#pragma once
#include <memory>
#include <vector>

#include "trace/array.h"

namespace tessera::trace {

// Whether a call on these arrays is traced.
bool InsideTrace(const std::vector<ArrayRef>& arrays);
// Whether a call of the program on these arrays is only typed.
bool IsAbstract(const std::vector<ArrayRef>& arrays, const ir::Program& program);

// Returns the inputs of a run: the arrays, then what the program captured. Throws TraceError,
// `op`'s, where that was donated since.
std::vector<ArrayRef> WithCaptures(std::vector<ArrayRef> arrays, const ir::Program& program,
                                   const char* op, Loc loc);
// Returns arrays that only have the types of the program's outputs.
std::vector<Array> AbstractOutputs(const ir::Program& program, Loc loc);

// What a program was compiled to last, for which kind of inputs. Threads may share it.
class KeptCompilation {
 public:
  // Returns the program made ready to run on such inputs.
  Executor::Compiled For(const std::shared_ptr<const ir::Program>& program,
                         const std::vector<ArrayRef>& inputs);

 private:
  size_t key_ = 0;
  std::vector<const ir::Type*> places_;
  std::vector<bool> shares_;
  Executor::Compiled compiled_;
};

// Returns the results of the program on these arrays, in whichever of the three ways; `op` is the
// function that asks for it, in messages. What is compiled for it is kept in `kept`.
std::vector<Array> CallProgram(const std::shared_ptr<const ir::Program>& program,
                               const std::vector<ArrayRef>& inputs, const char* op, Loc loc,
                               KeptCompilation* kept = nullptr);

}  // namespace tessera::trace
