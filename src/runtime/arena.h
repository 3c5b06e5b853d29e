// The memory of all buffers: free lists by size class over mapped chunks. Freed memory is kept and
// reused, last freed first, so that a steady state takes no page faults and its memory stays in
// the caches.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace tessera::runtime {

inline constexpr int64_t kLine = 64;  // bytes of a cache line, and the alignment of all buffers

inline constexpr int64_t kHugePage = int64_t{2} << 20;
inline constexpr int64_t kLargest = int64_t{1} << 46;  // the largest block, in bytes

constexpr int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Bytes of padding after a block. Without it neighbouring blocks would share cache sets, and stores
// to one could falsely conflict with loads from the other that have the same low 12 address bits (4
// KiB aliasing). An odd number of lines; 37 lines are further than a core's loads run ahead.
constexpr int64_t Colour(int64_t bytes) {
  return bytes < 4096 ? 0 : bytes < 32768 ? 5 * kLine : 37 * kLine;
}

// A lock held for a few instructions. Waiters yield their core if the holder was preempted.
class ABSL_LOCKABLE SpinLock {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION();
  void unlock() ABSL_UNLOCK_FUNCTION() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

class Arena {
 public:
  struct Block {
    std::byte* data = nullptr;
    int32_t size_class = 0;
  };
  // Returns the arena of the process. It is never destroyed, as arrays may outlive everything else.
  static Arena& Get();

  // Returns a block of at least `bytes`, aligned to a cache line. Throws RuntimeError if memory
  // is short.
  Block Take(int64_t bytes);
  void Give(Block block) noexcept;

  int64_t live();
  // Returns the most bytes that were live at one time since the last call.
  int64_t TakeMostLive();
  int64_t reserved();

 private:
  // One class each for 1 to 16 lines, then 8 classes per doubling, up to kLargest.
  static constexpr int kClasses = 344;
  // Larger blocks are mapped one by one, and can be returned to the system one by one.
  static constexpr int64_t kMappedAlone = int64_t{4} << 20;

  struct Chunk {
    std::byte* next = nullptr;
    int64_t left = 0;
  };

  Arena();
  static int ClassOf(int64_t bytes);
  static int64_t BytesOf(int size_class);
  static bool Alone(int size_class) { return BytesOf(size_class) > kMappedAlone; }
  static int64_t AloneLength(int size_class);
  void AddLive(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  std::byte* Create(int size_class);
  std::byte* Carve(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(grow_);
  std::byte* Map(int64_t length, bool huge);
  int64_t Trim() noexcept;
  [[noreturn]] void Refuse(int64_t bytes, const char* why);

  SpinLock lock_;
  std::array<std::vector<std::byte*>, kClasses> free_ ABSL_GUARDED_BY(lock_);
  // Blocks created so far: the capacity that free_ needs.
  std::array<int64_t, kClasses> blocks_ ABSL_GUARDED_BY(lock_) = {};
  int64_t live_ ABSL_GUARDED_BY(lock_) = 0, most_live_ ABSL_GUARDED_BY(lock_) = 0;
  int64_t free_alone_ ABSL_GUARDED_BY(lock_) = 0;
  int64_t reserved_ ABSL_GUARDED_BY(lock_) = 0;

  base::Mutex grow_ ABSL_ACQUIRED_BEFORE(lock_);
  Chunk small_ ABSL_GUARDED_BY(grow_), huge_ ABSL_GUARDED_BY(grow_);
  int64_t colour_ ABSL_GUARDED_BY(grow_) = 0;
  const int64_t limit_;  // bytes of memory of the machine, or of our control group
};

// A block of the arena, or foreign memory that is kept alive.
class Storage {
 public:
  explicit Storage(int64_t bytes) : block_(Arena::Get().Take(bytes)) {}
  explicit Storage(std::shared_ptr<const std::byte> foreign) : foreign_(std::move(foreign)) {}
  ~Storage() {
    if (block_.data) Arena::Get().Give(block_);
  }
  Storage(const Storage&) = delete;
  Storage(Storage&& other) noexcept
      : block_(std::exchange(other.block_, {})), foreign_(std::move(other.foreign_)) {}
  std::byte* data() const { return block_.data; }
  bool foreign() const { return foreign_ != nullptr; }

 private:
  Arena::Block block_;
  std::shared_ptr<const std::byte> foreign_;
};

}  // namespace tessera::runtime
