// Keys whose integer order is the order in which elements are sorted. With an index in the low bits
// every sort of them is stable.
#pragma once
#include <hwy/base.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tessera/dtype.h"

namespace tessera::kernels {

// Unsigned and signed integers of T's size.
template <class T>
using BitsOf = hwy::UnsignedFromSize<sizeof(T)>;
template <class T>
using SignedOf = hwy::SignedFromSize<sizeof(T)>;

template <class T>
inline constexpr bool kIsFloat = dtype_of<T>().is_floating();

template <class T>
inline constexpr BitsOf<T> kSignBit = static_cast<BitsOf<T>>(BitsOf<T>{1} << (sizeof(T) * 8 - 1));

// The bits of positive infinity. Larger magnitudes are NaN.
template <class T>
constexpr BitsOf<T> InfinityBits() {
  if constexpr (std::is_same_v<T, Float16>)
    return 0x7c00;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return 0x7f80;
  else if constexpr (std::is_same_v<T, float>)
    return 0x7f800000;
  else
    return static_cast<BitsOf<T>>(uint64_t{0x7ff} << 52);
}

// Returns a key that increases with the element at p. NaN is above all. -0 equals +0 if
// kZerosEqual, and is below it otherwise.
template <class T, bool kZerosEqual>
BitsOf<T> SortKey(const std::byte* p) {
  using Bits = BitsOf<T>;
  Bits bits;
  std::memcpy(&bits, p, sizeof(T));
  constexpr Bits kSign = kSignBit<T>;
  if constexpr (kIsFloat<T>) {
    const Bits magnitude = static_cast<Bits>(bits & ~kSign);
    if (magnitude > InfinityBits<T>()) return static_cast<Bits>(-1);
    if (kZerosEqual && magnitude == 0) bits = 0;
    return static_cast<Bits>(bits & kSign ? ~bits : bits | kSign);
  } else {
    return std::is_signed_v<T> ? static_cast<Bits>(bits ^ kSign) : bits;
  }
}

// A key in the high bits and an index in the low bits: 64 bits suffice for keys of up to 32 bits
// and lanes shorter than 2^32.
using NarrowEntry = uint64_t;
using WideEntry = hwy::uint128_t;

template <class Entry>
Entry MakeEntry(uint64_t key, uint64_t index) {
  if constexpr (std::is_same_v<Entry, NarrowEntry>) {
    return key << 32 | index;
  } else {
    Entry entry;
    entry.lo = index;
    entry.hi = key;
    return entry;
  }
}
inline int64_t EntryIndex(NarrowEntry e) { return static_cast<int64_t>(e & 0xffffffff); }
inline int64_t EntryIndex(const WideEntry& e) { return static_cast<int64_t>(e.lo); }
inline uint64_t EntryKey(NarrowEntry e) { return e >> 32; }
inline uint64_t EntryKey(const WideEntry& e) { return e.hi; }

inline bool EntryLess(NarrowEntry a, NarrowEntry b) { return a < b; }
inline bool EntryLess(const WideEntry& a, const WideEntry& b) {
  return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo;
}

inline bool FitsNarrow(int64_t key_bytes, int64_t lane) {
  return key_bytes <= 4 && lane <= int64_t{0xffffffff};
}

// Sorts in place, ascending.
void SortEntries(NarrowEntry* entries, int64_t n);
void SortEntries(WideEntry* entries, int64_t n);

// Sorts in place. Int is an integer of 2, 4 or 8 bytes.
template <class Int>
void SortInts(Int* keys, int64_t n, bool descending);

}  // namespace tessera::kernels
