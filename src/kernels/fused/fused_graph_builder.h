// Builds the graph of lanes of a fused group, node by node.
#pragma once
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "kernels/fused/fused_config.h"
#include "kernels/fused/fused_graph.h"
#include "kernels/fused/kernel_table.h"

namespace tessera::kernels {

class LaneGraphBuilder {
 public:
  LaneGraphBuilder(const plan::FusedDesc& desc, const RowLayout& layout, const KernelTable& table)
      : desc_(desc), layout_(layout), table_(table) {}
  LaneGraph Build();

 private:
  // Returns the position of an index among the tensors of the layout.
  int IndexTensor(const plan::FusedNode& node) const {
    return static_cast<int>(desc_.inputs.size() + desc_.outputs.size()) + node.iota;
  }
  int Append(LaneNode node);
  int Constant(Lane lane, uint64_t bits);
  int Number(Lane lane, double value);
  // Adds a function of lanes: a kernel if there is one, otherwise a block.
  int Op(Lane lane, plan::ScalarOp op, int a, int b = -1, int c = -1);
  int Coded(Lane lane, uint8_t code, int a);
  [[noreturn]] static void FailWithoutKernel();
  int Block(Lane lane, BlockFn block, float cost, int a, int b = -1);
  int Select(int p, int a, int b);

  // Rounds or wraps a result that was computed in the type of the lane.
  int Fit(DType dtype, int v);
  int LowBits(DType dtype, int v);
  int Convert(DType from, DType to, int v);
  int ToLane(Lane from, Lane to, bool small, int v);
  int Saturate(DType to, int v);
  int ReadFloat8(DType dtype, int v);
  int WriteFloat8(DType dtype, int v);
  int WidenMask(Lane op_lane, int v);

  int Node(const plan::FusedNode& node);
  int HeldConstant(const plan::FusedNode& node);
  int Scalar(const plan::FusedNode& node);
  int Bool(plan::ScalarOp op, int a, int b);
  // Adds a function of real numbers; `values` are its operands.
  int Function(plan::ScalarOp op, DType operand, DType dtype, std::array<int, 3> values);
  int SmallInteger(plan::ScalarOp op, DType dtype, int a, int b);
  int Compare(plan::ScalarOp op, DType dtype, int a, int b);

  // Complex numbers, as pairs of nodes (complex_graph.cc). The parts of other numbers are
  // themselves and 0.
  struct Parts {
    int re, im;
  };
  int Pair(Parts parts);
  Parts PartsOf(DType dtype, int v);
  int ComplexInput(const plan::FusedNode& node);
  int ComplexConstant(const plan::FusedNode& node);
  int ComplexSum(const plan::FusedNode& node);
  int ComplexScalar(const plan::FusedNode& node);
  int ConvertComplex(DType from, DType to, int v);
  int CompareComplex(plan::ScalarOp op, Lane lane, Parts a, Parts b);
  int CopySign(Lane lane, int size, int sign);
  int ComplexExp(Lane lane, Parts z);
  int ComplexLog(Lane lane, Parts z);
  int ComplexAbs(Lane lane, Parts z);
  int ComplexProduct(Lane lane, Parts a, Parts b);
  int ComplexExtreme(plan::ScalarOp op, DType dtype, int a, int b);
  // Adds the blocks of a function, one per part of its result; the operands are complex.
  int ComplexBlocks(const plan::FusedNode& node);

  bool CountsUnderOneKey(const plan::FusedNode& node) const;
  int RandomBits(const plan::FusedNode& node);
  std::vector<bool> NodesInLanes() const;

  const plan::FusedDesc& desc_;
  const RowLayout& layout_;
  const KernelTable& table_;
  LaneGraph g_;
  std::map<std::pair<Lane, uint64_t>, int> constants_;
};

}  // namespace tessera::kernels
