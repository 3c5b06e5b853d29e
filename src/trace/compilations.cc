// Compiles programs, and caches them for later calls of equal programs.
#include "trace/compilations.h"

#include <absl/container/flat_hash_map.h>

#include <mutex>

#include "base/fork.h"
#include "ir/host_call.h"
#include "ir/params.h"
#include "ir/same.h"
#include "ir/uses.h"

namespace tessera::trace {
namespace {

// A compiled program, kept without the arrays that it captured.
struct Compilation {
  std::shared_ptr<const ir::Program> program;
  std::vector<bool> donated, shares;
  size_t compile_key;
  Executor::Compiled compiled;

  bool IsSame(const Compilation& other) const {  // messages name lines
    return compile_key == other.compile_key && donated == other.donated && shares == other.shares &&
           ir::SameProgram(*program, *other.program) && ir::SameLines(*program, *other.program);
  }
};

// By hash. Bounded: cleared when it is full.
constexpr size_t kMost = 256;
struct Compilations {
  Compilations() { base::HoldOverFork(mutex); }
  std::mutex mutex;  // held for lookups, never while compiling
  absl::flat_hash_map<size_t, Compilation> by_hash;
};
// Programs on a mesh are kept apart: see Eager in apply.cc.
Compilations& Of(const ir::Program& program) {
  static Compilations& on_mesh = *new Compilations;
  static Compilations& others = *new Compilations;
  return program.mesh ? on_mesh : others;
}

size_t HashOfAll(const ir::Program& program) {
  size_t hash = ir::HashOf(program);
  for (const ir::Value& v : program.values)
    hash = ir::MixHash(hash, reinterpret_cast<uintptr_t>(v.type));
  return hash;
}

std::shared_ptr<const ir::Program> WithoutArrays(ir::Program program) {
  for (ir::Capture& c : program.captures) c.array = nullptr;
  return ir::Shared(std::move(program));
}

std::vector<bool> SharesOf(const std::vector<ArrayRef>& inputs) {
  std::vector<bool> shares;
  for (const ArrayRef& input : inputs)
    shares.push_back(static_cast<const ConcreteArray*>(input.get())->shares_replicas());
  return shares;
}

}  // namespace

Executor::Compiled CompileFor(std::shared_ptr<const ir::Program> program, std::vector<bool> donated,
                              const std::vector<ArrayRef>& inputs) {
  donated.resize(inputs.size());
  return TheExecutor().Compile(std::move(program), std::move(donated), SharesOf(inputs));
}

Executor::Compiled CompileOnce(const std::shared_ptr<const ir::Program>& program,
                               const std::vector<bool>& donated,
                               const std::vector<ArrayRef>& inputs) {
  // Host functions are not kept.
  if (ir::HasHostFunctions(*program)) return CompileFor(program, donated, inputs);
  Compilation wanted{program, donated, SharesOf(inputs), TheExecutor().CompileKey(), nullptr};
  Compilations& all = Of(*program);
  const size_t hash = HashOfAll(*program);
  {
    const std::lock_guard lock(all.mutex);
    const auto it = all.by_hash.find(hash);
    if (it != all.by_hash.end() && it->second.IsSame(wanted)) return it->second.compiled;
  }
  wanted.program = WithoutArrays(*program);
  wanted.compiled = CompileFor(wanted.program, donated, inputs);
  const std::lock_guard lock(all.mutex);
  if (all.by_hash.size() >= kMost) all.by_hash.clear();
  return (all.by_hash[hash] = std::move(wanted)).compiled;
}

}  // namespace tessera::trace
