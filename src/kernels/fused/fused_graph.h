// The graph of a fused group in terms of lanes and kernels. Roundings and conversions between
// dtypes are nodes of their own.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "kernels/fused/fused_program.h"
#include "kernels/fused/kernel_table.h"
#include "kernels/fused/scalar_blocks.h"

namespace tessera::kernels {

struct RowLayout;

inline constexpr int kLaneArgs = 4;

// A complex number is two nodes, its parts, and a kPair of them, which is only stored.
struct LaneNode {
  enum Kind : uint8_t { kInput, kIota, kConstant, kOp, kSelect, kReduce, kRandomBits, kPair };
  Kind kind = kOp;
  Lane lane = Lane::kF32;     // lane of the value
  Lane op_lane = Lane::kF32;  // kOp: lane of the operands
  uint8_t code = 0;           // kOp with a kernel: its code
  // kOp without a kernel: the accumulator is args[0]; `a`, `b` and `c` are the other args
  BlockFn block = nullptr;
  DType dtype{};      // kInput: dtype in memory
  int tensor = -1;    // kInput: the input; kIota, kRandomBits: the index
  int part = 0;       // kInput of a complex dtype: 0 is the real part, 1 the imaginary part
  uint64_t bits = 0;  // kConstant: the bits in the lane; kRandomBits: the key, if it is constant
  int key = -1;       // kRandomBits: the input that is the key, if it is not constant
  Reduction reduction = Reduction::kSum;
  int twin = -1;  // a block of a complex function: the node of the result's other part
  int args[kLaneArgs] = {-1, -1, -1, -1};
  int level = 0;     // number of reductions on the longest path to it
  bool row = false;  // one value per row; set by the assembler
  float cost = 0;    // cost of this node alone per element, in simple operations
};

struct LaneGraph {
  bool wide = false;
  std::vector<LaneNode> nodes;
  std::vector<int> node_of;  // per node of the desc
};

LaneGraph BuildLaneGraph(const plan::FusedDesc& desc, const RowLayout& layout,
                         const KernelTable& table);

// Whether memory stores elements of the dtype as lanes hold them.
inline bool IsNative(DType dtype) { return dtype.size() >= 4 && !dtype.is_complex(); }
// Returns the lane of a number, or of the parts of a complex number.
Lane LaneOf(DType dtype, bool wide);

}  // namespace tessera::kernels
