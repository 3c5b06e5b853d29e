// Runs plans. Knows no op, sharding or program: only buffers, kernels and exchanges.
//
// Threads: Run may be called from several threads, and from kernels. There is one team of workers;
// a run that finds it busy is done by its caller's thread alone. After a fork the child has a team
// of its own.
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

// Returns bytes that are zero and may only be read, as many as ReserveZeros was asked for.
const std::byte* Zeros();
// Makes sure that there are `bytes` of them. Throws RuntimeError if there is no address space.
void ReserveZeros(int64_t bytes);

// The slot of an instance that is in no storage: it is zero, and may only be read.
inline constexpr int32_t kZeroSlot = -1;

// All buffers of one value. Those of one storage lie in slots, `stride` bytes apart.
struct Buffers {
  StorageRef storage;
  std::byte* base = nullptr;
  int64_t bytes = 0;                                  // of one instance
  int64_t stride = 0;                                 // bytes between neighbouring slots
  std::shared_ptr<const std::vector<int32_t>> slots;  // slot of each instance; null: i itself
  std::byte* at(int32_t instance) const {
    const int32_t slot = slots ? (*slots)[instance] : instance;
    return slot == kZeroSlot ? const_cast<std::byte*>(Zeros()) : base + stride * slot;
  }
};

// Returns uninitialised buffers for `instances` instances of `bytes` each, one block: 64-byte
// aligned, the stride is `bytes` rounded up to 64, so that neighbours of a multiple of 64 bytes
// can become one larger buffer without a copy. Throws RuntimeError if there is no memory.
Buffers Allocate(int64_t bytes, int32_t instances);

// Bytes of the arena that live buffers hold (rounded up to its size classes, by 1/8 at most), and
// that it has taken from the system.
int64_t LiveBytes();
int64_t ReservedBytes();

// A plan made ready: slots assigned, exchanges prepared, costs added up. Immutable; shareable.
struct Executable;
std::shared_ptr<const Executable> Prepare(plan::Plan plan);

// Returns the outputs' buffers; they may share storage with inputs, constants and each other.
// `inputs` are in the order of Plan::inputs; those that the plan may take (Plan::donated) are
// consumed if the caller has moved the only reference in. Throws what a kernel threw first, or
// RuntimeError; then all buffers made by the run have been released, and a donated input may have
// been overwritten.
std::vector<Buffers> Run(const Executable& executable, std::vector<Buffers> inputs);

// Peak bytes that a run allocates for one device, the one with most instances to its name (0):
// fresh outputs, which exist for the whole run, and the most at any step of the values that cross
// nodes (a node: a segment's steps of one layout, or an exchange; they live from the node that
// makes them to the end of the last that reads them) and of those inside a node. Values that share
// memory count once, as the largest of them; inputs, constants, outputs in the memory of donated
// inputs (taken to be the only references), and scratch do not count.
int64_t PeakBytes(const Executable& executable);

// Workers of the team from the next run on: n >= 1, or 0 for one per core.
void SetWorkerCount(int n);
int WorkerCount();

// Tests: always use all workers, however small the work.
void ForceParallel(bool on);

}  // namespace tessera::runtime
