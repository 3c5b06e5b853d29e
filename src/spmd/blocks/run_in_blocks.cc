// Turns groups of instructions into loops. The loop slices operands that have the dim, stacks
// results that have it, and carries sums over it.
#include "spmd/blocks/run_in_blocks.h"

#include <absl/container/flat_hash_map.h>

#include <utility>

#include "ir/control_params.h"
#include "ir/uses.h"
#include "spmd/blocks/block_types.h"
#include "spmd/blocks/find_blocks.h"
#include "spmd/blocks/order.h"
#include "spmd/blocks/writer.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

// Replaces products of at least `limits.least` elements. Returns whether there are any.
bool ReplaceProducts(ir::Program& program, const BlockLimits& limits);

// Returns the place with one more dim, unsharded.
const ir::Type* WithDim(const ir::Type* place, int at, int64_t size) {
  base::Shape shape = place->shape();
  shape.insert(shape.begin() + at, size);
  sharding::TensorSharding s = place->sharding();
  const sharding::DimAxes whole;
  s.dims.insert(s.dims.begin() + at, whole);
  return ir::Type::Get(std::move(shape), place->dtype(), std::move(s));
}

// Returns the cost of one of so many blocks.
ir::Cost CostOfBlock(ir::Cost cost, int64_t blocks) {
  cost.flops = cost.flops / static_cast<double>(blocks);
  cost.whole_flops = cost.whole_flops / static_cast<double>(blocks);
  return cost;
}

// Builds one loop. It replaces instructions of `from`; `p` gets the loop.
class LoopBuilder {
 public:
  LoopBuilder(ir::Program& p, const base::IdVector<InstructionId, Instruction>& from,
              const BlockGroup& group, const BlockLimits& limits)
      : out_(p),
        in_(body_),
        from_(from),
        group_(group),
        limits_(limits),
        loc_(InstructionOf(group.calls.back()).loc) {
    body_.mesh = p.mesh;
    body_.per_device = true;
  }

  void Build() {
    for (const BlockedCall& call : group_.calls) Copy(InstructionOf(call), call.dims);
    for (const BlockedCall& call : group_.calls)
      if (call.dims.returns) AddResult(InstructionOf(call), call.dims);
    if (sums_.empty() && stacks_.empty()) return;
    body_.inputs = constants_.inputs;
    for (const auto* more : {&carries_, &slices_})
      body_.inputs.insert(body_.inputs.end(), more->inputs.begin(), more->inputs.end());
    for (const Sum& sum : sums_) body_.outputs.push_back(sum.inside);
    for (const Stack& stack : stacks_) body_.outputs.push_back(stack.inside);
    ir::RemoveDeadOutsideRegions(body_);
    BlockLimits inner = limits_;
    inner.least = limits_.block + 1;
    ReplaceProducts(body_, inner);
    AddLoop();
  }

 private:
  // Operands of the loop, and the inputs of the body that receive them.
  struct LoopOperands {
    std::vector<ValueId> outside, inputs;
  };
  // A result of the loop: the body's value, and the program's value that it defines.
  struct Sum {
    ValueId inside, outside;
  };
  struct Stack {
    ValueId inside, outside;
    int dim;  // of `outside`
  };

  const Instruction& InstructionOf(const BlockedCall& call) const {
    return from_[call.instruction];
  }
  int64_t blocks() const { return group_.size / group_.block; }
  const ir::Type* PlaceOfBlock(const ir::Type* place, int dim) const {
    return dim == kNoDim ? place : WithSize(place, dim, group_.block);
  }

  // ---- the body --------------------------------------------------------------------------------

  ValueId AddOperand(LoopOperands& operands, ValueId outside, const ir::Type* place) {
    operands.outside.push_back(outside);
    operands.inputs.push_back(in_.AddValue(place, loc_));
    return operands.inputs.back();
  }

  // Returns the body's value for an operand: a block along `dim`, or all of it for kNoDim.
  ValueId OperandOf(ValueId v, int dim) {
    if (const auto it = copies_.find(v); it != copies_.end()) return it->second;
    const auto [it, is_new] = operands_.try_emplace({v, dim}, kNoValue);
    if (!is_new) return it->second;
    const ir::Type* place = PlaceOfBlock(out_.Place(v), dim);
    it->second = dim == kNoDim ? AddOperand(constants_, v, place)
                               : AddOperand(slices_, SplitIntoBlocks(v, dim), place);
    return it->second;
  }

  // Returns v with a leading dim that counts blocks of `dim`.
  ValueId SplitIntoBlocks(ValueId v, int dim) {
    const ir::Type* block = PlaceOfBlock(out_.Place(v), dim);
    const ValueId split = out_.Reshape(v, WithDim(block, dim, blocks()), loc_);
    return out_.MoveDim(split, dim, 0, WithDim(block, 0, blocks()), loc_);
  }
  ValueId JoinBlocks(ValueId stacked, int dim, const ir::Type* place) {
    const ir::Type* block = PlaceOfBlock(place, dim);
    const ValueId split = out_.MoveDim(stacked, 0, dim, WithDim(block, dim, blocks()), loc_);
    return out_.Reshape(split, place, loc_);
  }

  void Copy(const Instruction& call, const DimOfCall& dims) {
    const ValueId v = call.results[0];
    const ir::Type* place = PlaceOfBlock(out_.Place(v), dims.result);
    if (dims.result != kNoDim && std::holds_alternative<ir::AsIota>(*call.op->lowering) &&
        base::At(IotaSteps(out_.program(), call), dims.result) != 0) {
      copies_[v] = CopyIota(call, dims.result, place);
      return;
    }
    absl::InlinedVector<ValueId, 3> operands;
    for (size_t k = 0; k < call.operands.size(); ++k)
      operands.push_back(OperandOf(call.operands[k], dims.operands[k]));
    ir::Cost cost = dims.HasDim() ? CostOfBlock(*call.cost, blocks()) : *call.cost;
    copies_[v] = in_.Emit(*call.op, call.params, operands, place, call.loc, std::move(cost));
  }

  // An iota along the dim starts elsewhere in every block. The body reads a block of a 1-d iota
  // outside of the loop, and broadcasts it.
  ValueId CopyIota(const Instruction& call, int dim, const ir::Type* block) {
    ops::IotaParams along;
    along.dim.push_back(0);
    ops::BroadcastParams broadcast;
    broadcast.dims.push_back(dim);
    const ir::Type* place = out_.Place(call.results[0]);
    sharding::TensorSharding s = place->sharding();
    s.dims = {base::At(s.dims, dim)};
    const ir::Type* line =
        ir::Type::Get({base::At(place->shape(), dim)}, place->dtype(), std::move(s));
    const ValueId iota = out_.Emit(ops::kIota, ir::MakeParams(along), {}, line, call.loc);
    const ValueId part = OperandOf(iota, 0);
    return in_.Emit(ops::kBroadcastInDim, ir::MakeParams(broadcast), {part}, block, call.loc);
  }

  // ---- results of the loop ---------------------------------------------------------------------

  void AddResult(const Instruction& call, const DimOfCall& dims) {
    const ValueId v = call.results[0], copy = copies_.at(v);
    if (!dims.sums) {
      stacks_.push_back({copy, v, dims.result});
      return;
    }
    // Floats below 32 bits are summed in f32.
    const ir::Type* place = out_.Place(v);
    const bool widens = place->dtype().is_floating() && place->dtype().size() < 4;
    const ir::Type* sum = place->WithDType(widens ? f32 : place->dtype());
    const ValueId carried = AddOperand(carries_, out_.Zeros(sum, loc_), sum);
    const ValueId added = in_.Emit(ops::Elementwise(plan::ScalarOp::kAdd), nullptr,
                                   {carried, in_.Convert(copy, sum->dtype(), loc_)}, sum, loc_);
    sums_.push_back({added, v});
  }

  void AddLoop() {
    std::vector<ValueId> operands = constants_.outside, results;
    for (const auto* more : {&carries_, &slices_})
      operands.insert(operands.end(), more->outside.begin(), more->outside.end());
    for (ValueId v : carries_.inputs) results.push_back(out_.AddValue(in_.Place(v), loc_));
    for (const Stack& stack : stacks_)
      results.push_back(out_.AddValue(WithDim(in_.Place(stack.inside), 0, blocks()), loc_));
    const ir::ScanParams params{.constants = static_cast<int64_t>(constants_.inputs.size()),
                                .carries = static_cast<int64_t>(carries_.inputs.size()),
                                .length = blocks()};
    out_.program().instructions.push_back(
        {.op = &ops::kScan,
         .params = ir::MakeParams(params),
         .operands = {operands.begin(), operands.end()},
         .results = {results.begin(), results.end()},
         .loc = loc_,
         .regions = {std::make_shared<const ir::Program>(std::move(body_))},
         .cost = std::make_shared<const ir::Cost>()});
    for (size_t k = 0; k < sums_.size(); ++k) {
      const DType dtype = out_.Place(sums_[k].outside)->dtype();
      Rename(out_.Convert(results[k], dtype, loc_), sums_[k].outside);
    }
    for (size_t k = 0; k < stacks_.size(); ++k) {
      const auto& [inside, outside, dim] = stacks_[k];
      Rename(JoinBlocks(results[sums_.size() + k], dim, out_.Place(outside)), outside);
    }
  }

  // Makes the instruction that defines `from` define `to` in its place.
  void Rename(ValueId from, ValueId to) {
    std::vector<Instruction>& instructions = out_.program().instructions;
    for (size_t i = instructions.size(); i-- > 0;) {
      for (ValueId& result : instructions[i].results) {
        if (result != from) continue;
        result = to;
        return;
      }
    }
  }

  ir::Program body_;
  Writer out_, in_;  // outside of the loop, and in its body
  const base::IdVector<InstructionId, Instruction>& from_;
  const BlockGroup& group_;
  const BlockLimits& limits_;
  const Loc loc_;
  LoopOperands constants_, carries_, slices_;
  absl::flat_hash_map<ValueId, ValueId> copies_;  // results of the group, in the body
  absl::flat_hash_map<std::pair<ValueId, int>, ValueId> operands_;  // by value and dim of blocks
  std::vector<Sum> sums_;
  std::vector<Stack> stacks_;
};

// Replaces every group by a loop after the group's last instruction.
void ReplaceGroups(ir::Program& p, const std::vector<BlockGroup>& groups,
                   const BlockLimits& limits) {
  base::IdVector<InstructionId, Instruction> from(std::exchange(p.instructions, {}));
  base::IdVector<InstructionId, bool> replaced(from.size()), shared(from.size());
  base::IdVector<InstructionId, const BlockGroup*> ends_at(from.size());
  for (const BlockGroup& group : groups) {
    for (const BlockedCall& call : group.calls) {
      replaced[call.instruction] = true;
      shared[call.instruction] = shared[call.instruction] || call.is_shared;
    }
    ends_at[group.calls.back().instruction] = &group;
  }
  for (InstructionId i : ends_at.ids()) {
    if (shared[i])
      p.instructions.push_back(from[i]);
    else if (!replaced[i])
      p.instructions.push_back(std::move(from[i]));
    if (ends_at[i]) LoopBuilder(p, from, *ends_at[i], limits).Build();
  }
  Order(p);
  ir::RemoveDead(p);
}

bool ReplaceProducts(ir::Program& program, const BlockLimits& limits) {
  std::set<ValueId> tried;
  for (bool any = false;; any = true) {
    const std::vector<BlockGroup> groups = FindBlocks(program, limits, tried);
    if (groups.empty()) return any;
    ReplaceGroups(program, groups, limits);
  }
}

}  // namespace

bool RunInBlocks(ir::Program& device, const BlockLimits& limits) {
  return ReplaceProducts(device, limits);
}

}  // namespace tessera::spmd
