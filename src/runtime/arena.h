// The memory of all buffers: size-classed free lists over mapped chunks. Freed memory is kept and
// handed out again, last freed first, so that a steady state takes no page fault and stays warm.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tessera::runtime {

inline constexpr int64_t kLine = 64;  // bytes of a cache line, and the alignment of all buffers

inline constexpr int64_t kHugePage = int64_t{2} << 20;
inline constexpr int64_t kLargest = int64_t{1} << 46;  // bytes of a block

constexpr int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Bytes to leave after a block so that neighbours do not fall on the same cache sets, nor a store
// to one on the low 12 address bits of loads a little ahead in the other (4 KiB aliasing). An odd
// number of lines; 37 is further than one core looks ahead.
constexpr int64_t Colour(int64_t bytes) {
  return bytes < 4096 ? 0 : bytes < 32768 ? 5 * kLine : 37 * kLine;
}

// A lock for a few instructions; gives the core away if the holder lost its own.
class SpinLock {
 public:
  void lock();
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

class Arena {
 public:
  struct Block {
    std::byte* data = nullptr;
    int32_t size_class = 0;
  };
  // Never destroyed: arrays may outlive everything.
  static Arena& Get();

  // Returns at least `bytes`, aligned to a line. Throws RuntimeError if there is no memory.
  Block Take(int64_t bytes);
  void Give(Block block) noexcept;

  int64_t live();
  int64_t reserved();

 private:
  // 1 to 16 lines one by one, then 8 classes for each doubling, up to kLargest.
  static constexpr int kClasses = 344;
  // Larger blocks are mapped one by one and can go back to the system one by one.
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

  std::byte* Create(int size_class);
  std::byte* Carve(int64_t bytes);
  std::byte* Map(int64_t length, bool huge);
  int64_t Trim() noexcept;
  [[noreturn]] void Refuse(int64_t bytes, const char* why);

  SpinLock lock_;  // of the five below
  std::array<std::vector<std::byte*>, kClasses> free_;
  std::array<int64_t, kClasses> blocks_{};  // made so far: the capacity that free_ needs
  int64_t live_ = 0, free_alone_ = 0, reserved_ = 0;

  std::mutex grow_;  // of the three below; taken before lock_
  Chunk small_, huge_;
  int64_t colour_ = 0;
  int64_t limit_ = 0;  // bytes that the machine, or our control group, has
};

// A block of the arena, or memory of someone else that is kept alive.
class Storage {
 public:
  explicit Storage(int64_t bytes) : block_(Arena::Get().Take(bytes)) {}
  explicit Storage(std::shared_ptr<const std::byte> foreign) : foreign_(std::move(foreign)) {}
  ~Storage() {
    if (block_.data) Arena::Get().Give(block_);
  }
  Storage(const Storage&) = delete;
  std::byte* data() const { return block_.data; }
  bool foreign() const { return foreign_ != nullptr; }

 private:
  Arena::Block block_;
  std::shared_ptr<const std::byte> foreign_;
};

}  // namespace tessera::runtime
