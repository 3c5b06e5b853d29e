// The order of records in an epoch.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

namespace tessera::data {

using OrderKey = std::array<uint32_t, 2>;

// A permutation of the numbers below n that no memory holds: a Feistel network of the key and the
// epoch on the numbers below the next power of 4, applied until the result is below n.
class Order {
 public:
  Order(int64_t n, const std::optional<OrderKey>& key, int64_t epoch);
  // Returns the record at a position, 0 <= position < n. Without a key: the position.
  int64_t At(int64_t position) const;

 private:
  static constexpr int kRounds = 8;
  const uint64_t n_;
  int half_ = 0;  // bits of half a number; 0: no key
  std::array<uint64_t, kRounds> keys_ = {};
};

// Returns a hash of the key that tells two orders apart; 0 without a key.
int64_t HashOf(const std::optional<OrderKey>& key);

}  // namespace tessera::data
