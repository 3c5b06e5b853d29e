// The nodes of a fused group, one per instruction, as the fused kernel takes them.
#include "spmd/fuse.h"

#include <absl/container/flat_hash_map.h>

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
    for (ValueId v : item_.in) AddInput(v);
    for (int32_t i : item_.instructions) Add(base::At(program_.instructions, i));
    for (ValueId v : item_.out) AddOutput(v);
    return std::move(desc_);
  }

 private:
  const ir::Shape& shape(ValueId v) const { return program_.type(v)->shape(); }

  // Strides of a tensor over the iteration space: dims of size 1 and dims it lacks repeat. One with
  // fewer dims is a scalar, or a row value without the reduced dims.
  std::vector<int64_t> Strides(const ir::Shape& s) const {
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

  void AddInput(ValueId v) {
    desc_.inputs.push_back({program_.type(v)->dtype(), Strides(shape(v)), -1});
    node_[v] = Push({.kind = plan::FusedNode::kInput,
                     .dtype = program_.type(v)->dtype(),
                     .input = static_cast<int32_t>(desc_.inputs.size()) - 1});
  }

  // Returns the node of an operand; what needs no other value, or a view of that, becomes one where
  // it is first used.
  int32_t NodeOf(ValueId v) {
    auto it = node_.find(v);
    if (it != node_.end()) return it->second;
    return AddMade(v, base::At(program_.instructions, item_.made_here.at(v)));
  }

  int32_t AddMade(ValueId v, const Instruction& maker) {
    if (auto* iota = std::get_if<ir::IotaLike>(&*maker.op->lowering))
      return AddIota(v, maker, *iota);
    return node_[v] = Push({.kind = plan::FusedNode::kConstant,
                            .dtype = program_.type(v)->dtype(),
                            .bits = ConstantBits(maker)});
  }

  // `v` is the index, or a view of it with dims of size 1 more or less.
  int32_t AddIota(ValueId v, const Instruction& maker, const ir::IotaLike& iota) {
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
    if (auto* e = std::get_if<ir::Elementwise>(&lowering)) {
      node.kind = plan::FusedNode::kScalar;
      node.op = e->op;
      node_[result] = Push(node);
    } else if (auto* r = std::get_if<ir::Reduce>(&lowering)) {
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
  return std::get<ir::Constant>(*instruction.op->lowering).bits(instruction.params.get());
}

}  // namespace tessera::spmd
