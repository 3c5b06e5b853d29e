// Finds products larger than what they are made of and used for, and a dim along which all that is
// done with them can be done in blocks.
#pragma once
#include <set>
#include <vector>

#include "ir/program.h"
#include "spmd/blocks/factors.h"

namespace tessera::spmd {

// In elements. A product of `least`, 16 MiB of f32, more than caches hold, that is `ratio` times as
// large as its operands, is run in blocks whose largest value has `block`, 2 MiB: gradients have
// several of these at once, and of 1 to 16 MiB it is the best for them on the machines at hand.
// Columns that a mask hides are left out by whole lines of so many. Tests make them small.
struct BlockLimits {
  int64_t least = 1 << 22, block = 1 << 19, ratio = 8, line = 16;
};
BlockLimits& Limits();

// How one instruction meets the dim: which dim of each operand and of the result it is, or none.
struct DimOfCall {
  static constexpr int kNone = kNoDim;
  absl::InlinedVector<int, 3> operands;
  int result = kNone;
  bool sums = false;     // over it: its result is the sum of those of the blocks
  bool returns = false;  // others read its result
};

struct BlockedCall {
  size_t instruction = 0;
  bool is_shared = false;  // others make it too
  DimOfCall dims;
};

// Instructions that run in one loop over blocks of a dim, in order.
struct BlockGroup {
  int64_t size = 0, block = 0;  // of the dim: of all of it, and of one block
  std::vector<BlockedCall> calls;
};

// Returns the groups of the products of at least `least` elements for which it is worth it. No
// group waits for another that waits for it. `tried`: values that make no more of them; added to.
std::vector<BlockGroup> FindBlocks(const ir::Program& device, int64_t least,
                                   std::set<ir::ValueId>& tried);

}  // namespace tessera::spmd
