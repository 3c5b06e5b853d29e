// Buffers of values, in the memory of the arena.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

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

}  // namespace tessera::runtime
