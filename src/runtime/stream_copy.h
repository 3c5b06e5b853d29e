// Copies past the caches.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tessera::runtime {

// memcpy that writes past the caches. Other threads see all of it only after FinishStreams, which
// waits; one call can finish many copies.
void StreamCopy(std::byte* dst, const std::byte* src, int64_t bytes);
void FinishStreams();

}  // namespace tessera::runtime
