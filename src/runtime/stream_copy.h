// Copies past the caches.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tessera::runtime {

// memcpy that writes past the caches. Other threads see all of it after FinishStreams only, which
// waits: once for many copies.
void StreamCopy(std::byte* dst, const std::byte* src, int64_t bytes);
void FinishStreams();

}  // namespace tessera::runtime
