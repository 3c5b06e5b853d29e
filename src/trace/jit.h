// Calls of a jitted function.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"
#include "tessera/wrapped.h"

namespace tessera::trace {

// What a cache keeps for the next call of a kind.
enum class Keeps : uint8_t {
  kPrograms,  // what was traced; says when it traces again and again
  kProgramsSilently,
  kCompiled,  // what was compiled, for a function that is traced again and gives the same program
};
std::shared_ptr<JitCache> NewJitCache(std::string name, Keeps keeps = Keeps::kPrograms);
// The cache shared by all functions that this key stands for.
std::shared_ptr<JitCache> SharedJitCache(const void* key, const std::string& name);

// Runs the program of such a call, which is traced and compiled if the cache does not have it.
// Inside of another trace, or with abstract arrays, nothing runs. `donate`: argument numbers.
// Throws ShapeError if they name what is no argument, or one twice.
detail::FunctionResult CallJit(JitCache& cache, const detail::FunctionCall& call,
                               const std::vector<int>& donate);
// Returns that program.
std::shared_ptr<const ir::Program> ProgramOf(JitCache& cache, const detail::FunctionCall& call,
                                             const std::vector<int>& donate);
// Number of programs that were traced after the first.
int64_t Retraces(const JitCache& cache);

}  // namespace tessera::trace
