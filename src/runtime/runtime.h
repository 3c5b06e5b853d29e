// Runs plans. Knows no op, sharding or program: only buffers, kernels and exchanges.
//
// Threads: Run may be called from several threads; runs take turns on one team of workers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plan/plan.h"

namespace tessera::runtime {

// A block of the arena. Immutable once a run has made it; freed when the last owner goes.
class Storage;
using StorageRef = std::shared_ptr<Storage>;

// All buffers of one value: instance i starts at `base + offset(i)`.
struct Buffers {
  StorageRef storage;
  std::byte* base = nullptr;
  int64_t bytes = 0;                                   // of one instance
  int64_t stride = 0;                                  // bytes between neighbouring slots
  std::shared_ptr<const std::vector<int32_t>> slots;   // slot of each instance; null: i itself
  std::byte* at(int32_t instance) const {
    return base + stride * (slots ? (*slots)[instance] : instance);
  }
};

// Returns uninitialised buffers for `instances` instances of `bytes` each. Throws RuntimeError if
// there is no memory.
Buffers Allocate(int64_t bytes, int32_t instances);

// Bytes of the arena that live buffers hold, and that it has taken from the system.
int64_t LiveBytes();
int64_t ReservedBytes();

// A plan made ready: slots assigned, exchanges prepared, costs added up. Immutable; shareable.
struct Executable;
std::shared_ptr<const Executable> Prepare(plan::Plan plan);

// Returns the outputs' buffers. `inputs` are in the order of Plan::inputs; those that the plan
// may take (Plan::donated) are consumed if the caller holds the only reference. Throws what a
// kernel threw, or RuntimeError; then all buffers made by the run have been released.
std::vector<Buffers> Run(const Executable& executable, std::vector<Buffers> inputs);

// Peak bytes per device that a run allocates, outputs included, inputs not.
int64_t PeakBytes(const Executable& executable);

// Workers of the team: n >= 1, or 0 for one per core. Not during a run.
void SetWorkerCount(int n);
int WorkerCount();

// Tests: always use all workers, however small the work.
void ForceParallel(bool on);

}  // namespace tessera::runtime
