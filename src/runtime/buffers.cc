// Takes buffers from the arena, and maps zeros.
#include "runtime/buffers.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/fork.h"
#include "base/mutex.h"
#include "runtime/arena.h"

namespace tessera::runtime {

Buffers Allocate(int64_t bytes, int32_t instances) {
  Buffers out;
  int64_t total = 0;
  out.bytes = bytes;
  out.stride = RoundUp(bytes, kLine);
  if (__builtin_mul_overflow(out.stride, int64_t{instances}, &total)) total = kLargest + 1;
  out.storage = std::make_shared<Storage>(total);
  out.base = out.storage->data();
  return out;
}

namespace {
// The newest mapping. Nothing writes to it, so all its pages are the system's zero page. Older
// mappings stay because they may be in use.
std::atomic<const std::byte*> zeros{nullptr};
}  // namespace

const std::byte* Zeros() { return zeros.load(std::memory_order_acquire); }

void ReserveZeros(int64_t bytes) {
  static auto& mutex = base::NewForkMutex();
  static int64_t reserved = 0;
  const base::MutexLock lock(mutex);
  if (bytes <= reserved) return;
  const int64_t length = RoundUp(std::max(bytes, 2 * reserved), kHugePage);
  void* mapped =
      mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    ErrorDetail detail;
    detail.op = "allocate";
    detail.label = "allocate.memory";
    detail.reason = fmt::format("cannot map {} bytes of zeros: the system has none left", bytes);
    base::ThrowRuntime(std::move(detail));
  }
  madvise(mapped, length, MADV_HUGEPAGE);
  zeros.store(static_cast<const std::byte*>(mapped), std::memory_order_release);
  reserved = length;
}

int64_t LiveBytes() { return Arena::Get().live(); }
int64_t ReservedBytes() { return Arena::Get().reserved(); }

}  // namespace tessera::runtime
