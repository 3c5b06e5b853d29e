// Checksums of files.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tessera::base {

// Returns XXH64 of the bytes with seed 0 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
uint64_t Checksum(const void* data, size_t bytes);

}  // namespace tessera::base
