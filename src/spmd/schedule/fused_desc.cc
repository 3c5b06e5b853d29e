// Gives each instruction of the group a node, and each operand a node before its first reader.
#include "spmd/schedule/fused_desc.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>

#include "ir/local_values.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

class FusedDescriber {
 public:
  FusedDescriber(const ir::Program& program, const FusedItem& group)
      : program_(program), group_(group) {
    desc_.dims = group.space;
    desc_.reduced = group.reduced;
  }

  plan::FusedDesc Run() {
    for (InstructionId i : group_.instructions) Add(InstructionAt(program_, i));
    for (ValueId v : group_.out) AddOutput(v);
    return std::move(desc_);
  }

 private:
  const base::Shape& shape(ValueId v) const { return program_.type(v)->shape(); }

  // Returns the strides of a tensor over the iteration space. They are 0 along dims of size 1 and
  // along dims that it lacks: a scalar lacks all, a row value may lack the reduced dims.
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
    const auto at = absl::c_find(group_.in, v);
    return at == group_.in.end() ? -1 : static_cast<int32_t>(at - group_.in.begin());
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
    const base::Shape& from = shape(parts[0].source);
    if (parts.size() == 1 && IsRepeat(parts[0], from, desc_.dims)) {
      input.operand = OperandOf(parts[0].source);
      input.strides = PartDesc(parts[0], from).strides;
      return AddInput(v, std::move(input));
    }
    for (const ReadPart& part : parts) {
      input.parts.push_back(PartDesc(part, shape(part.source)));
      input.parts.back().operand = OperandOf(part.source);
    }
    return AddInput(v, std::move(input));
  }

  // Returns the node of an operand, and adds it the first time.
  int32_t NodeOf(ValueId v) {
    if (const auto it = node_.find(v); it != node_.end()) return it->second;
    if (const auto it = group_.rematerialised.find(v); it != group_.rematerialised.end())
      return AddRematerialised(v, InstructionAt(program_, it->second));
    if (const auto it = group_.reads.find(v); it != group_.reads.end())
      return AddRead(v, it->second);
    return AddInput(v, {.dtype = {}, .strides = Strides(shape(v)), .operand = OperandOf(v)});
  }

  int32_t AddRematerialised(ValueId v, const Instruction& definition) {
    if (auto* iota = std::get_if<ir::AsIota>(&*definition.op->lowering))
      return AddIota(v, definition, *iota);
    return node_[v] = Push({.kind = plan::FusedNode::kConstant,
                            .dtype = program_.type(v)->dtype(),
                            .bits = ir::ConstantBits(definition)});
  }

  // `v` is the iota, or a view of it that adds or drops dims of size 1.
  int32_t AddIota(ValueId v, const Instruction& definition, const ir::AsIota& iota) {
    const ir::LocalTensor whole = ir::LocalTensorOf(program_, definition.results[0]);
    ir::AffineIndex index = iota.index(definition.params.get(), whole);
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
      AddRematerialised(result, instruction);
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
      node_[result] = node.args[0];  // a broadcast or a view of a row value
    }
  }

  void AddOutput(ValueId v) {
    desc_.outputs.push_back({program_.type(v)->dtype(), Strides(shape(v)), node_.at(v)});
  }

  const ir::Program& program_;
  const FusedItem& group_;
  plan::FusedDesc desc_;
  absl::flat_hash_map<ValueId, int32_t> node_;
};

}  // namespace

plan::FusedDesc DescribeFused(const ir::Program& program, const FusedItem& group) {
  return FusedDescriber(program, group).Run();
}

}  // namespace tessera::spmd
