// The graph of a fused group in terms of lanes and kernels: dtypes, their roundings and conversions
// have become explicit nodes.
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
  Lane lane = Lane::kF32;     // of the value
  Lane op_lane = Lane::kF32;  // kOp: of the operands
  uint8_t code = 0;           // kOp with a kernel
  BlockFn block = nullptr;    // kOp without: acc is args[0], `a` is args[1]
  DType dtype{};              // of inputs
  int tensor = -1;            // kInput: the input; kIota, kRandomBits: the index
  uint64_t bits = 0;          // kConstant, as held; kRandomBits: a key that is known
  int key = -1;               // kRandomBits: the input that is the key, if it is not known
  Reduction reduction = Reduction::kSum;
  int args[3] = {-1, -1, -1};
  int level = 0;     // reductions on the longest path to it
  bool row = false;  // one value per row; set by the compiler
  float cost = 0;    // of it alone, per element, in simple operations
};

struct LaneGraph {
  bool wide = false;
  std::vector<LaneNode> nodes;
  std::vector<int> node_of;  // per node of the desc
};

LaneGraph BuildLaneGraph(const plan::FusedDesc& desc, const RowLayout& layout,
                         const KernelTable& table);

// Whether elements of the dtype are in memory as they are held.
inline bool IsNative(DType dtype) { return dtype.size() >= 4; }
Lane LaneOf(DType dtype, bool wide);

}  // namespace tessera::kernels
