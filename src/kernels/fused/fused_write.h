// Writes one program of a fused group: decides when each value is in the accumulator and when it
// is spilled.
#pragma once
#include <vector>

#include "base/at.h"
#include "kernels/fused/fused_config.h"
#include "kernels/fused/kernel_table.h"

namespace tessera::kernels {

struct PendingInstr {
  KernelPair kernel;
  Address a, b;
  BlockFn block = nullptr;
  uint64_t info = 0;
  Address c = {};
};

// The scratch of a call, and the offsets of values that stay there for a whole row.
struct RowMemory {
  int64_t bytes = 0;
  std::vector<int64_t> slot, kept, sums, carry;  // per node; -1: none
  std::vector<const ConstantSlot*> constant;
  std::vector<int64_t> free_slots;

  int64_t Allocate(int64_t n) {
    const int64_t offset = bytes;
    bytes += (n + 63) / 64 * 64;
    return offset;
  }
};

// Writes one program.
class StepWriter {
 public:
  StepWriter(const LaneGraph& graph, FusedConfig& config, RowMemory& memory, bool per_row)
      : g_(graph),
        c_(config),
        t_(*config.table),
        m_(memory),
        per_row_(per_row),
        across_(config.layout.across) {
    uses_.assign(graph.nodes.size(), 0);
    temp_.assign(graph.nodes.size(), -1);
    need_.assign(graph.nodes.size(), -1);
    writes_.assign(graph.nodes.size(), false);
    reads_.assign(graph.nodes.size(), false);
  }

  // Sets which values this pass writes to row buffers, and which it reads from there.
  void KeepIn(const std::vector<int>& pass_of_node, int pass) {
    for (size_t i = 0; i < pass_of_node.size(); ++i) {
      writes_[i] = pass_of_node[i] == pass;
      reads_[i] = pass_of_node[i] >= 0 && pass_of_node[i] < pass;
    }
  }
  // Announces a use of the node. All uses must be announced before the first Evaluate.
  void Use(int node);
  // Puts the node's value in the accumulator, for one of its uses.
  void Evaluate(int node);
  void Finish(int node) { Release(node); }
  // Whether the node's value can be read from memory.
  bool IsInMemory(int node) const;

  void Accumulate(int node);
  void Init(int reduce, bool carried);
  void StoreOutput(int tensor, DType dtype, int node);
  void Fold(int reduce);

  const std::vector<size_t>& stored() const { return whole_; }
  std::vector<Instr> Tile(bool stream) const;
  std::vector<Instr> Vector() const;

 private:
  bool IsHalf(Lane lane) const { return g_.wide && !IsWide(lane); }
  // Returns the address of the node's value, which must be in memory.
  Address At(int node) const;
  Address Slot(int64_t offset) const { return {kScratch, 0, offset}; }
  // Returns the address of the tensor's first element in the row, for all elements of a program.
  Address TensorOrigin(int tensor) const {
    return {kFirstTensor + static_cast<uint32_t>(tensor), 0, 0};
  }
  // Returns the address of the tensor's element that a program is at.
  Address TensorElement(int tensor) const {
    Address address = TensorOrigin(tensor);
    if (HasStep(tensor))
      address.step = static_cast<uint32_t>(base::At(c_.layout.tensors, tensor).itemsize);
    return address;
  }
  // Whether the address of the tensor advances with the elements of the program. In a block of
  // rows, values per row are one tile, whose address is fixed.
  bool HasStep(int tensor) const {
    const TensorView& view = base::At(c_.layout.tensors, tensor);
    return view.kind == TensorView::kStream && (across_ ? !view.per_row : !per_row_);
  }
  bool IsStream(int node) const;
  // Whether no other input of the step has just read the elements at the address.
  bool IsFar(const Address& a) const {
    return a.base >= kFirstTensor && !c_.layout.tensors[a.base - kFirstTensor].follows;
  }

  int SlotsNeeded(int node);
  void Spill(int node);
  void Release(int node);
  void EmitOperation(int node);
  bool TryEmitScaled(const LaneNode& n);
  bool TryEmitSelectByComparison(const LaneNode& n);
  bool IsOnlyCompared(int predicate, const LaneNode& select) const;
  int FactorInMemory(const LaneNode& n, int k) const;
  void EmitReduction(int node);
  void EmitInput(int node);
  void EmitPart(const LaneNode& n);
  void StoreParts(int tensor, int node);
  void EmitIota(int node);
  void EmitRandomBits(int node);
  bool IsNumber(int node) const;
  bool IsReadAsNumber(const LaneNode& n, int k) const;
  void EmitBinary(const LaneNode& n, int k);
  void EmitBlockOf(const LaneNode& n, int k);
  int64_t SlotOfTwin(const LaneNode& n);
  void EmitSelect(const LaneNode& n, int k);
  int PlaceOperands(const LaneNode& n);
  void Emit(const KernelPair& kernel, Address a = {}, Address b = {}, Address c = {}) {
    steps_.push_back({kernel, a, b, nullptr, IsFar(a) ? uint64_t{0} : uint64_t{1}, c});
  }
  void EmitBlock(BlockFn block, Address a = {}, Address b = {}, uint64_t info = 0) {
    steps_.push_back({t_.block, a, b, block, info});
  }

  const LaneGraph& g_;
  FusedConfig& c_;
  const KernelTable& t_;
  RowMemory& m_;
  const bool per_row_, across_;
  std::vector<PendingInstr> steps_;
  std::vector<int> uses_, need_;
  std::vector<int64_t> temp_;
  std::vector<bool> writes_, reads_;  // per node: written to and read from row buffers
  std::vector<size_t> whole_;         // tensors stored by whole vectors
  int acc_ = -1;
};

}  // namespace tessera::kernels
