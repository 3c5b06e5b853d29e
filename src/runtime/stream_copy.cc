// Copies that write past the caches.
#include "runtime/stream_copy.h"

#include <algorithm>

#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/stream_copy.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::runtime::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void Stream(std::byte* dst, const std::byte* src, int64_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const int64_t n = hn::Lanes(d);
  auto* to = reinterpret_cast<uint8_t*>(dst);
  const auto* from = reinterpret_cast<const uint8_t*>(src);
  const int64_t head = std::min(bytes, -reinterpret_cast<intptr_t>(dst) & (n - 1));
  std::copy_n(from, head, to);
  int64_t i = head;
  // Not unrolled: with several lines of one stream in flight, two busy cores lose 20 %.
  for (; i + n <= bytes; i += n) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  std::copy(from + i, from + bytes, to + i);
}

}  // namespace tessera::runtime::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::runtime {
HWY_EXPORT(Stream);

void StreamCopy(std::byte* dst, const std::byte* src, int64_t bytes) {
  HWY_DYNAMIC_DISPATCH(Stream)(dst, src, bytes);
}
void FinishStreams() { hwy::FlushStream(); }

}  // namespace tessera::runtime
#endif  // HWY_ONCE
