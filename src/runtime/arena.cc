// The memory of the process: blocks in size classes, taken from the system in large pieces.
#include "runtime/arena.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <fstream>

#include "base/at.h"
#include "base/error.h"
#include "base/fork.h"
#include "hwy/cache_control.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define TESSERA_POISON(data, bytes) __asan_poison_memory_region(data, bytes)
#define TESSERA_UNPOISON(data, bytes) __asan_unpoison_memory_region(data, bytes)
#else
#define TESSERA_POISON(data, bytes)
#define TESSERA_UNPOISON(data, bytes)
#endif

namespace tessera::runtime {
namespace {

constexpr int64_t kSmallChunk = int64_t{4} << 20;  // 4 KiB pages: only touched pages cost memory
constexpr int64_t kHugeChunk = int64_t{32} << 20;
constexpr int64_t kHugeFrom = int64_t{256} << 10;  // blocks of at least this size are in huge pages
// memory goes back to the system if more than this, and more than is live, is free
constexpr int64_t kKeepFree = int64_t{1} << 30;

int64_t MachineBytes() {
  int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  int64_t group = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> group) bytes = std::min(bytes, group);
  return bytes;
}

}  // namespace

void SpinLock::lock() {
  for (int spins = 0; held_.exchange(true, std::memory_order_acquire);) {
    while (held_.load(std::memory_order_relaxed)) {
      if (++spins % 64 == 0)
        sched_yield();
      else
        hwy::Pause();
    }
  }
}

Arena& Arena::Get() {
  static Arena& arena = *new Arena;
  return arena;
}

Arena::Arena() : limit_(MachineBytes()) {
  base::HoldOverFork(grow_);
  base::HoldOverFork(lock_);
}

int Arena::ClassOf(int64_t bytes) {
  uint64_t top = static_cast<uint64_t>(std::max<int64_t>(bytes - 1, 0)) / kLine;  // lines - 1
  if (top < 16) return static_cast<int>(top);
  int shift = std::bit_width(top) - 4;
  return 16 + (shift - 1) * 8 + static_cast<int>(top >> shift) - 8;
}

int64_t Arena::BytesOf(int size_class) {
  if (size_class < 16) return (size_class + 1) * kLine;
  int shift = (size_class - 16) / 8 + 1;
  return ((int64_t{8} + (size_class - 16) % 8 + 1) << shift) * kLine;
}

// One page more than the block, because Create shifts the start of blocks by up to a page.
int64_t Arena::AloneLength(int size_class) {
  return RoundUp(BytesOf(size_class) + 4096, kHugePage);
}

Arena::Block Arena::Take(int64_t bytes) {
  if (bytes > kLargest) Refuse(bytes, "no machine has that much");
  Block block{nullptr, ClassOf(bytes)};
  const int64_t size = BytesOf(block.size_class);
  lock_.lock();
  std::vector<std::byte*>& list = free_[block.size_class];
  if (!list.empty()) {
    block.data = list.back();
    list.pop_back();
    AddLive(size);
    if (size > kMappedAlone) free_alone_ -= AloneLength(block.size_class);
  }
  lock_.unlock();
  if (!block.data) block.data = Create(block.size_class);
  TESSERA_UNPOISON(block.data, bytes);
  return block;
}

void Arena::AddLive(int64_t bytes) {
  live_ += bytes;
  most_live_ = std::max(most_live_, live_);
}

void Arena::Give(Block block) noexcept {
  const int64_t size = BytesOf(block.size_class);
  TESSERA_POISON(block.data, size);
  lock_.lock();
  free_[block.size_class].push_back(block.data);  // does not allocate: Create reserved the capacity
  live_ -= size;
  bool trim = false;
  if (size > kMappedAlone) {
    free_alone_ += AloneLength(block.size_class);
    trim = free_alone_ > kKeepFree && free_alone_ > live_;
  }
  lock_.unlock();
  if (trim) Trim();
}

std::byte* Arena::Create(int size_class) {
  const base::MutexLock grow(grow_);
  const int64_t bytes = BytesOf(size_class);
  if (live() + bytes > limit_) Refuse(bytes, "it is more than the machine has");
  std::byte* data = nullptr;
  if (Alone(size_class)) {
    if (reserved() + bytes > limit_) Trim();
    data = Map(AloneLength(size_class), true);
    if (data) data += colour_++ * 37 % 64 * kLine;
  } else {
    data = Carve(bytes);
  }
  if (!data) Refuse(bytes, "the system has none left");
  TESSERA_POISON(data, bytes);
  const base::MutexLock lock(lock_);
  std::vector<std::byte*>& list = free_[size_class];
  const auto blocks = base::Size(++blocks_[size_class]);
  if (list.capacity() < blocks) list.reserve(blocks * 2);
  AddLive(bytes);
  return data;
}

std::byte* Arena::Carve(int64_t bytes) {
  const bool huge = bytes >= kHugeFrom;
  const int64_t spacing = bytes + Colour(bytes);
  Chunk& chunk = huge ? huge_ : small_;
  if (chunk.left < spacing) {
    const int64_t length = huge ? kHugeChunk : kSmallChunk;
    std::byte* fresh = Map(length, huge);
    if (!fresh) return nullptr;
    chunk = {fresh, length};
  }
  std::byte* data = chunk.next;
  chunk.next += spacing;
  chunk.left -= spacing;
  return data;
}

// Returns `length` bytes that begin at a huge-page boundary, or null if the system refuses.
std::byte* Arena::Map(int64_t length, bool huge) {
  auto map = [&] {
    return mmap(nullptr, length + kHugePage, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  void* raw = map();
  if (raw == MAP_FAILED && Trim() > 0) raw = map();
  if (raw == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(raw);
  const int64_t head = -reinterpret_cast<intptr_t>(begin) & (kHugePage - 1);
  if (head) munmap(begin, head);
  munmap(begin + head + length, kHugePage - head);
  if (huge) madvise(begin + head, length, MADV_HUGEPAGE);
  const base::MutexLock lock(lock_);
  reserved_ += length;
  return begin + head;
}

// Returns all free blocks that were mapped alone to the system; returns their bytes.
int64_t Arena::Trim() noexcept {
  int64_t trimmed = 0;
  for (int c = ClassOf(kMappedAlone + 1); c < kClasses; ++c) {
    for (;;) {
      lock_.lock();
      std::vector<std::byte*>& list = free_[c];
      std::byte* data = list.empty() ? nullptr : list.back();
      if (data) {
        list.pop_back();
        --blocks_[c];
        free_alone_ -= AloneLength(c);
        reserved_ -= AloneLength(c);
      }
      lock_.unlock();
      if (!data) break;
      auto address = reinterpret_cast<intptr_t>(data);
      auto* mapped = data - (address & (kHugePage - 1));
      TESSERA_UNPOISON(mapped, AloneLength(c));
      munmap(mapped, AloneLength(c));
      trimmed += AloneLength(c);
    }
  }
  return trimmed;
}

void Arena::Refuse(int64_t bytes, const char* why) {
  ErrorDetail detail;
  detail.op = "allocate";
  detail.label = "allocate.memory";
  detail.reason = fmt::format("cannot allocate {} bytes: {}", bytes, why);
  detail.notes = {fmt::format("live: {} bytes; taken from the system: {}; at most: {}", live(),
                              reserved(), limit_)};
  base::ThrowRuntime(std::move(detail));
}

int64_t Arena::live() {
  const base::MutexLock lock(lock_);
  return live_;
}

int64_t Arena::TakeMostLive() {
  const base::MutexLock lock(lock_);
  return std::exchange(most_live_, live_);
}

int64_t Arena::reserved() {
  const base::MutexLock lock(lock_);
  return reserved_;
}

}  // namespace tessera::runtime
