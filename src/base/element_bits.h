// The bits of one element of any dtype.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tessera::base {

// The bytes of an element come first, zeros follow. Elements of up to 8 bytes are all in `low`.
struct ElementBits {
  uint64_t low = 0, high = 0;

  constexpr ElementBits() = default;
  constexpr ElementBits(uint64_t low, uint64_t high = 0)  // implicit: most elements are short
      : low(low), high(high) {}
  std::byte* data() { return reinterpret_cast<std::byte*>(this); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(this); }
  friend constexpr bool operator==(const ElementBits&, const ElementBits&) = default;
};

static_assert(std::endian::native == std::endian::little && sizeof(ElementBits) == 16);

}  // namespace tessera::base
