// The nodes of a fused group, one per instruction, as the fused kernel takes them.
#include "spmd/schedule/fused_desc.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "base/at.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

class Fuser {
 public:
  Fuser(const ir::Program& program, const Item& item) : program_(program), item_(item) {
    desc_.dims = item.space;
    desc_.reduced = item.reduced;
  }

  plan::FusedDesc Run() {
    for (int32_t i : item_.instructions) Add(base::At(program_.instructions, i));
    for (ValueId v : item_.out) AddOutput(v);
    return std::move(desc_);
  }

 private:
  const base::Shape& shape(ValueId v) const { return program_.type(v)->shape(); }

  // Strides of a tensor over the iteration space: dims of size 1 and dims it lacks repeat. One with
  // fewer dims is a scalar, or a row value without the reduced dims.
  std::vector<int64_t> Strides(const base::Shape& s) const {
    std::vector<int64_t> strides(desc_.dims.size(), 0);
    int64_t stride = 1;
    for (size_t d = s.size(); d-- > 0;) {
      if (s[d] != 1) strides[d] = stride;
      stride *= s[d];
    }
    return strides;
  }

  int32_t Push(plan::FusedNode node) {
    desc_.nodes.push_back(node);
    return static_cast<int32_t>(desc_.nodes.size()) - 1;
  }

  int32_t OperandOf(ValueId v) const {
    const auto at = std::find(item_.in.begin(), item_.in.end(), v);
    return at == item_.in.end() ? -1 : static_cast<int32_t>(at - item_.in.begin());
  }

  int32_t AddInput(ValueId v, plan::FusedDesc::Tensor input) {
    input.dtype = program_.type(v)->dtype();
    desc_.inputs.push_back(std::move(input));
    return node_[v] = Push({.kind = plan::FusedNode::kInput,
                            .dtype = program_.type(v)->dtype(),
                            .input = static_cast<int32_t>(desc_.inputs.size()) - 1});
  }

  int32_t AddRead(ValueId v, const ReadParts& parts) {
    plan::FusedDesc::Tensor input;
    input.strides.assign(desc_.dims.size(), 0);
    if (program_.type(v)->elements() == 1 && parts.size() == 1) {
      input.operand = OperandOf(parts[0].source);
      input.element = PartDesc(parts[0], shape(parts[0].source)).offset;
      return AddInput(v, std::move(input));
    }
    for (const ReadPart& part : parts) {
      input.parts.push_back(PartDesc(part, shape(part.source)));
      input.parts.back().operand = OperandOf(part.source);
    }
    return AddInput(v, std::move(input));
  }

  // Returns the node of an operand, which becomes one where it is first used.
  int32_t NodeOf(ValueId v) {
    if (const auto it = node_.find(v); it != node_.end()) return it->second;
    if (const auto it = item_.made_here.find(v); it != item_.made_here.end())
      return AddMade(v, base::At(program_.instructions, it->second));
    if (const auto it = item_.reads.find(v); it != item_.reads.end()) return AddRead(v, it->second);
    return AddInput(v, {.dtype = {}, .strides = Strides(shape(v)), .operand = OperandOf(v)});
  }

  int32_t AddMade(ValueId v, const Instruction& maker) {
    if (auto* iota = std::get_if<ir::AsIota>(&*maker.op->lowering)) return AddIota(v, maker, *iota);
    return node_[v] = Push({.kind = plan::FusedNode::kConstant,
                            .dtype = program_.type(v)->dtype(),
                            .bits = ConstantBits(maker)});
  }

  // `v` is the index, or a view of it with dims of size 1 more or less.
  int32_t AddIota(ValueId v, const Instruction& maker, const ir::AsIota& iota) {
    const ir::LocalTensor whole = LocalOf(program_, maker.results[0]);
    ir::AffineIndex index = iota.index(maker.params.get(), whole);
    std::vector<int64_t> strides(desc_.dims.size(), 0);
    size_t from = 0;
    for (size_t d = 0; d < shape(v).size(); ++d) {
      if (shape(v)[d] == 1) continue;
      while (whole.shape[from] == 1) ++from;
      strides[d] = index.strides[from++];
    }
    desc_.iotas.push_back({std::move(strides), std::move(index.offsets)});
    return node_[v] = Push({.kind = plan::FusedNode::kIota,
                            .dtype = program_.type(v)->dtype(),
                            .iota = static_cast<int32_t>(desc_.iotas.size()) - 1});
  }

  void Add(const Instruction& instruction) {
    ValueId result = instruction.results[0];
    const ir::Lowering& lowering = *instruction.op->lowering;
    DType dtype = program_.type(result)->dtype();
    if (instruction.operands.empty()) {
      AddMade(result, instruction);
      return;
    }
    plan::FusedNode node{.dtype = dtype};
    for (size_t k = 0; k < instruction.operands.size(); ++k)
      node.args[k] = NodeOf(instruction.operands[k]);
    if (auto* e = std::get_if<ir::AsElementwise>(&lowering)) {
      node.kind = plan::FusedNode::kScalar;
      node.op = e->op;
      node_[result] = Push(node);
    } else if (auto* r = std::get_if<ir::AsReduction>(&lowering)) {
      node.kind = plan::FusedNode::kReduce;
      node.reduction = r->reduction;
      node_[result] = Push(node);
    } else {
      node_[result] = node.args[0];  // a broadcast row value or a view of one
    }
  }

  void AddOutput(ValueId v) {
    desc_.outputs.push_back({program_.type(v)->dtype(), Strides(shape(v)), node_.at(v)});
  }

  const ir::Program& program_;
  const Item& item_;
  plan::FusedDesc desc_;
  absl::flat_hash_map<ValueId, int32_t> node_;
};

}  // namespace

plan::FusedDesc Fuse(const ir::Program& program, const Item& item) {
  return Fuser(program, item).Run();
}

ir::LocalTensor LocalOf(const ir::Program& device, ValueId v) {
  const ir::Type *local = device.type(v), *placed = device.place(v);
  return {local->dtype(), local->shape(), placed->shape(), &placed->sharding()};
}

uint64_t ConstantBits(const ir::Instruction& instruction) {
  return std::get<ir::AsConstant>(*instruction.op->lowering).bits(instruction.params.get());
}

}  // namespace tessera::spmd
