// Sizes that decide which products run in blocks.
#pragma once
#include <cstdint>

namespace tessera::spmd {

// All but `ratio` are numbers of elements.
struct BlockLimits {
  // The smallest product that runs in blocks. 16 MiB of f32 are more than caches hold.
  int64_t least = 1 << 22;
  // The largest value in a block. A gradient holds several of them at once; of 1 to 16 MiB, 2 MiB
  // of f32 were fastest.
  int64_t block = 1 << 19;
  // How many times as large as its operands together a product must be.
  int64_t ratio = 8;
  // Masked columns are skipped in multiples of this.
  int64_t line = 16;
};

// Replaces the limits for the programs that this thread lowers during its lifetime. Tests and
// benchmarks use it to make limits small, or to keep products whole.
class BlockLimitsScope {
 public:
  explicit BlockLimitsScope(const BlockLimits& limits);
  ~BlockLimitsScope();
  BlockLimitsScope(const BlockLimitsScope&) = delete;
  BlockLimitsScope& operator=(const BlockLimitsScope&) = delete;

 private:
  const BlockLimits before_;
};

// Returns the limits of the innermost scope, or the default ones.
const BlockLimits& CurrentBlockLimits();

}  // namespace tessera::spmd
