// The buffers of values, in the memory of the arena.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::runtime {

// A block of the arena. It is immutable once a run has written it, and freed with its last owner.
class Storage;
using StorageRef = std::shared_ptr<Storage>;

// Returns read-only zero bytes, as many as ReserveZeros was last asked for.
const std::byte* Zeros();
// Makes Zeros() return at least `bytes`. Throws RuntimeError if there is no address space.
void ReserveZeros(int64_t bytes);

// The slot of an instance that has no storage: it is all zeros and read-only.
inline constexpr int32_t kZeroSlot = -1;

// All buffers of one value. Buffers in one storage are in slots that are `stride` bytes apart.
struct Buffers {
  StorageRef storage;
  std::byte* base = nullptr;
  int64_t bytes = 0;   // of one instance
  int64_t stride = 0;  // bytes from one slot to the next
  // slot of each instance; null: slot i for instance i
  std::shared_ptr<const std::vector<int32_t>> slots;
  std::byte* at(int32_t instance) const {
    const int32_t slot = slots ? (*slots)[instance] : instance;
    return slot == kZeroSlot ? const_cast<std::byte*>(Zeros()) : base + stride * slot;
  }
};

// Returns uninitialised buffers for `instances` instances of `bytes` each in one block. They are
// 64-byte aligned, and the stride is `bytes` rounded up to 64, so that adjacent buffers of a
// multiple of 64 bytes can become one larger buffer without a copy. Throws RuntimeError if there is
// no memory.
Buffers Allocate(int64_t bytes, int32_t instances);

// Bytes of the arena in live buffers (rounded up to size classes, by at most 1/8), and bytes that
// the arena has taken from the system.
int64_t LiveBytes();
int64_t ReservedBytes();

}  // namespace tessera::runtime
