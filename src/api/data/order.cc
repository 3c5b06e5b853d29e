// Feistel networks: Luby and Rackoff, "How to construct pseudorandom permutations" (1988).
#include "api/data/order.h"

#include <algorithm>
#include <bit>

namespace tessera::data {
namespace {

// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
uint64_t Mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}
constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio

uint64_t Seed(const OrderKey& key) { return Mix((uint64_t{key[0]} << 32 | key[1]) + kStep); }

}  // namespace

Order::Order(int64_t n, const std::optional<OrderKey>& key, int64_t epoch)
    : n_(static_cast<uint64_t>(n)) {
  if (!key) return;
  half_ = std::max(1, (static_cast<int>(std::bit_width(n_ - 1)) + 1) / 2);
  uint64_t state = Mix(Seed(*key) + kStep * (static_cast<uint64_t>(epoch) + 1));
  for (uint64_t& k : keys_) k = Mix(state += kStep);
}

int64_t Order::At(int64_t position) const {
  if (half_ == 0) return position;
  const uint64_t mask = (uint64_t{1} << half_) - 1;
  auto x = static_cast<uint64_t>(position);
  do {
    uint64_t left = x >> half_, right = x & mask;
    for (uint64_t k : keys_) {
      const uint64_t mixed = left ^ (Mix(right + k) & mask);
      left = right, right = mixed;
    }
    x = left << half_ | right;
  } while (x >= n_);
  return static_cast<int64_t>(x);
}

int64_t HashOf(const std::optional<OrderKey>& key) {
  return key ? static_cast<int64_t>(Seed(*key) >> 1 | 1) : 0;
}

}  // namespace tessera::data
