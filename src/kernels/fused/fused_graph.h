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

struct LaneNode {
  enum Kind : uint8_t { kInput, kIota, kConstant, kOp, kSelect, kReduce, kRandomBits };
  Kind kind = kOp;
  Lane lane = Lane::kF32;     // lane of the value
  Lane op_lane = Lane::kF32;  // kOp: lane of the operands
  uint8_t code = 0;           // kOp with a kernel: its code
  BlockFn block = nullptr;    // kOp without a kernel: the accumulator is args[0], `a` is args[1]
  DType dtype{};              // kInput: dtype in memory
  int tensor = -1;            // kInput: the input; kIota, kRandomBits: the index
  uint64_t bits = 0;  // kConstant: the bits in the lane; kRandomBits: the key, if it is constant
  int key = -1;       // kRandomBits: the input that is the key, if it is not constant
  Reduction reduction = Reduction::kSum;
  int args[3] = {-1, -1, -1};
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
inline bool IsNative(DType dtype) { return dtype.size() >= 4; }
Lane LaneOf(DType dtype, bool wide);

}  // namespace tessera::kernels
