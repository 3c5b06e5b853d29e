// Calls of jitted functions.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"
#include "tessera/wrapped.h"

namespace tessera::trace {

// The results that a cache keeps for the next call of the same kind.
enum class Keeps : uint8_t {
  kPrograms,  // traced programs; notes when the function is traced again and again
  kProgramsSilently,
  kCompiled,  // compiled programs; traces at each call and often gets the same program
};
std::shared_ptr<JitCache> NewJitCache(std::string name, Keeps keeps = Keeps::kPrograms);
// Returns the cache shared by all functions with this key.
std::shared_ptr<JitCache> SharedJitCache(const void* key, const std::string& name,
                                         Keeps keeps = Keeps::kPrograms);

// Runs the program of a call, traced and compiled on a miss. Runs nothing inside another
// trace or with abstract arrays. `donate`: argument numbers; throws ShapeError if one is
// out of range or named twice.
detail::FunctionResult CallJit(JitCache& cache, const detail::FunctionCall& call,
                               const std::vector<int>& donate);
// Returns the program of a call.
struct ProgramAndBorder {
  std::shared_ptr<const ir::Program> program;
  ProgramBorder border;
};
ProgramAndBorder ProgramOf(JitCache& cache, const detail::FunctionCall& call,
                           const std::vector<int>& donate);
// Returns the number of programs traced after the first.
int64_t Retraces(const JitCache& cache);

}  // namespace tessera::trace
