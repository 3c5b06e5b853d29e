// Sets of numbers below n that are emptied often.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::spmd {

// Which of n things are marked; unmarking all takes no time.
class Marks {
 public:
  explicit Marks(size_t n) : marked_(n, 0) {}
  void Clear() { ++now_; }
  void Set(size_t i) { marked_[i] = now_; }
  bool Has(size_t i) const { return marked_[i] == now_; }

 private:
  std::vector<uint32_t> marked_;
  uint32_t now_ = 1;
};

}  // namespace tessera::spmd
