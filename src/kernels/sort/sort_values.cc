// Sorts a single operand. Only zeros and NaNs can be equal with different bits, so they are set
// aside in their order; the result for all others does not depend on the sorting algorithm.
#include "kernels/sort/sort_values.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/dtype.h"
#include "kernels/sort/sort.h"
#include "kernels/sort/sort_keys.h"

namespace tessera::kernels {
namespace {

// Maps the bits of floats to signed integers with the same order, and back.
template <class S>
S Flip(S bits) {
  constexpr int kShift = sizeof(S) * 8 - 1;
  using U = std::make_unsigned_t<S>;
  return static_cast<S>(bits ^ static_cast<S>(static_cast<U>(bits >> kShift) >> 1));
}

// Elements set aside, in their order: zeros from the front of `room`, NaNs from its back.
template <class S>
struct Aside {
  S* room;
  int64_t n, zeros = 0, nans = 0;
};

// Moves all elements but zeros and NaNs to the front of `keys`, as integers; returns their number.
template <class T, class S>
int64_t SetAside(S* keys, int64_t n, Aside<S>* aside) {
  constexpr S kInf = static_cast<S>(InfinityBits<T>()), kMagnitude = static_cast<S>(~kSignBit<T>);
  constexpr int64_t kBlock = 64;  // blocks without any of them are vectorised
  int64_t kept = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    S block[kBlock];
    const int64_t size = std::min(kBlock, n - begin);
    bool any = size < kBlock;
    if (!any) {
      S found = 0;
      std::memcpy(block, keys + begin, sizeof(block));
      for (int64_t i = 0; i < kBlock; ++i) {
        const S magnitude = block[i] & kMagnitude;
        found |= static_cast<S>((magnitude == 0) | (magnitude > kInf));
        block[i] = Flip(block[i]);
      }
      any = found != 0;
    }
    if (!any) {
      std::memcpy(keys + kept, block, sizeof(block));
      kept += kBlock;
      continue;
    }
    for (int64_t i = begin; i < begin + size; ++i) {
      const S bits = keys[i], magnitude = bits & kMagnitude;
      if (magnitude == 0)
        aside->room[aside->zeros++] = bits;
      else if (magnitude > kInf)
        aside->room[aside->n - ++aside->nans] = bits;
      else
        keys[kept++] = Flip(bits);
    }
  }
  return kept;
}

// Sorts the bits of n floats of type T. `room` has space for n.
template <class T, class S>
void SortFloats(S* bits, int64_t n, bool descending, S* room) {
  Aside<S> aside{room, n};
  const int64_t kept = SetAside<T>(bits, n, &aside);
  SortInts(bits, kept, descending);
  const int64_t before_zero =
      std::partition_point(bits, bits + kept, [&](S v) { return descending ? v > 0 : v < 0; }) -
      bits;
  for (int64_t i = 0; i < kept; ++i) bits[i] = Flip(bits[i]);
  if (kept == n) return;
  const int64_t begin = descending ? aside.nans : 0;  // position of the first number
  S* after_zero = bits + begin + before_zero + aside.zeros;
  std::memmove(after_zero, bits + before_zero, (kept - before_zero) * sizeof(S));
  std::memmove(bits + begin, bits, before_zero * sizeof(S));
  std::memcpy(bits + begin + before_zero, aside.room, aside.zeros * sizeof(S));
  S* nans = descending ? bits : bits + n - aside.nans;
  std::reverse_copy(aside.room + n - aside.nans, aside.room + n, nans);
}

// Sorts n bytes by counting. `flip` makes their order the order of unsigned numbers.
void SortBytes(uint8_t* values, int64_t n, bool descending, uint8_t flip) {
  int64_t counts[256] = {};
  for (int64_t i = 0; i < n; ++i) ++counts[values[i] ^ flip];
  for (int step = 0; step < 256; ++step) {
    const int key = descending ? 255 - step : step;
    std::memset(values, key ^ flip, counts[key]);
    values += counts[key];
  }
}

// Sorts n contiguous values. `room` has space for n.
template <class T>
void SortLane(std::byte* values, int64_t n, bool descending, std::byte* room) {
  if constexpr (sizeof(T) == 1) {
    constexpr uint8_t kFlip = std::is_signed_v<T> ? 0x80 : 0;
    SortBytes(reinterpret_cast<uint8_t*>(values), n, descending, kFlip);
  } else if constexpr (kIsFloat<T>) {
    using S = SignedOf<T>;
    SortFloats<T>(reinterpret_cast<S*>(values), n, descending, reinterpret_cast<S*>(room));
  } else {
    SortInts(reinterpret_cast<T*>(values), n, descending);
  }
}

// Returns the number of lanes to sort together: a line's worth, or as many as 1 MiB of
// scratch holds.
int64_t LanesAtOnce(int64_t size, int64_t n) {
  constexpr int64_t kScratch = int64_t{1} << 20;
  return std::clamp<int64_t>(kScratch / std::max<int64_t>(1, n * size), 1, 64 / size);
}

template <class T>
void SortValues(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const SortConfig*>(call.config);
  const int64_t n = config.n, inner = config.inner;
  if (n == 0) return;
  const Range lanes = Share(config.lanes, 1, call.part, call.parts);
  std::byte* room = call.scratch;
  if (inner == 1) {
    for (int64_t lane = lanes.begin; lane < lanes.end; ++lane) {
      const int64_t at = lane * n * static_cast<int64_t>(sizeof(T));
      CopyBytes(call.out[0] + at, call.in[0] + at, n * sizeof(T));
      SortLane<T>(call.out[0] + at, n, config.descending, room);
    }
    return;
  }
  // Neighbouring lanes share cache lines, so several are gathered together.
  const TransposeTileFn transpose = Simd().transpose[std::countr_zero(sizeof(T))];
  const int64_t size = sizeof(T), group = LanesAtOnce(size, n), row = inner * size;
  std::byte* values = room + n * size;
  for (int64_t lane = lanes.begin; lane < lanes.end;) {
    const int64_t count = std::min({group, lanes.end - lane, inner - lane % inner});
    const int64_t at = LaneBegin(config, lane) * size;
    transpose(values, n * size, call.in[0] + at, row, n, count);
    for (int64_t k = 0; k < count; ++k)
      SortLane<T>(values + k * n * size, n, config.descending, room);
    transpose(call.out[0] + at, row, values, n * size, count, n);
    lane += count;
  }
}

}  // namespace

plan::KernelFn SortValuesFunction(DType dtype) {
  return base::VisitDType(dtype,
                          [](auto zero) -> plan::KernelFn { return SortValues<decltype(zero)>; });
}

int64_t SortValuesScratch(DType dtype, int64_t n) {
  return (1 + LanesAtOnce(dtype.size(), n)) * n * dtype.size();
}

}  // namespace tessera::kernels
