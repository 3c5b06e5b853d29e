#include <algorithm>

#include "sharding/local.h"
#include "sharding/partition.h"
#include "spmd/device_program.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

using sharding::StepKind;
using sharding::TensorSharding;

class Lowering {
 public:
  explicit Lowering(const ir::Program& from) : from_(from), loc_(Loc::Unknown()) {
    out_.program.mesh = from.mesh;
    out_.program.per_device = true;
    map_.assign(from.values.size(), -1);
  }

  DeviceProgram Run() {
    for (ir::ValueId v : from_.inputs) out_.program.inputs.push_back(Parameter(v));
    for (const ir::Capture& c : from_.captures) out_.program.captures.push_back({Parameter(c.value), c.array});
    for (const ir::Instruction& instruction : from_.instructions) {
      loc_ = instruction.loc;
      LowerInstruction(instruction);
    }
    for (ir::ValueId v : from_.outputs) out_.program.outputs.push_back(At(v));
    Simplify(out_);
    return std::move(out_);
  }

 private:
  ir::ValueId At(ir::ValueId v) const { return map_[static_cast<size_t>(v)]; }

  ir::ValueId AddValue(const Placement& p, DType dtype, Loc loc) {
    ir::ValueId v = out_.program.AddValue(
        ir::Type::Get(sharding::LocalShape(p.global, p.sharding), dtype), loc);
    out_.placements.push_back(p);
    return v;
  }
  ir::ValueId Parameter(ir::ValueId v) {
    const ir::Type* t = from_.type(v);
    Loc loc = from_.values[static_cast<size_t>(v)].loc;
    return map_[static_cast<size_t>(v)] = AddValue({t->shape(), t->sharding()}, t->dtype(), loc);
  }

  void LowerInstruction(const ir::Instruction& instruction) {
    const ir::OpDef& op = *instruction.op;
    std::vector<const ir::Type*> results;
    for (ir::ValueId v : instruction.results) results.push_back(from_.type(v));
    std::vector<ir::ValueId> operands;
    for (ir::ValueId v : instruction.operands) operands.push_back(At(v));
    std::vector<ir::ValueId> values;
    if (std::holds_alternative<ir::Move>(*op.lowering)) {
      values = {Reshard(operands[0], results[0]->sharding(), /*implied=*/false)};
    } else if (auto* expand = std::get_if<ir::Expand>(&*op.lowering)) {
      values = ExpandInto(expand->expand, instruction);
    } else {
      values = Partitioned(instruction, operands, results);
    }
    for (size_t i = 0; i < values.size(); ++i) map_[static_cast<size_t>(instruction.results[i])] = values[i];
  }

  // Lowers the ops that this one expands to, traced as a small program of their own.
  std::vector<ir::ValueId> ExpandInto(ir::ExpandFn expand, const ir::Instruction& instruction) {
    ir::Program inner;
    inner.mesh = from_.mesh;
    for (ir::ValueId v : instruction.operands) inner.inputs.push_back(inner.AddValue(from_.type(v), loc_));
    ir::Builder builder(inner, loc_);
    inner.outputs = expand(builder, instruction.params.get(), inner.inputs, from_.type(instruction.results[0]));
    Lowering sub(inner);
    std::swap(sub.out_, out_);
    for (size_t i = 0; i < inner.inputs.size(); ++i)
      sub.map_[static_cast<size_t>(inner.inputs[i])] = At(instruction.operands[i]);
    for (const ir::Instruction& step : inner.instructions) {
      sub.loc_ = loc_;
      sub.LowerInstruction(step);
    }
    std::swap(sub.out_, out_);
    std::vector<ir::ValueId> values;
    for (ir::ValueId v : inner.outputs) values.push_back(sub.At(v));
    return values;
  }

  std::vector<ir::ValueId> Partitioned(const ir::Instruction& instruction,
                                       const std::vector<ir::ValueId>& operands,
                                       const std::vector<const ir::Type*>& results) {
    sharding::DimMap map = ir::DimMapOf(*instruction.op, instruction.params.get(), OperandTypes(instruction), results);
    sharding::Partition p = Choose(instruction, map, operands, results);
    if (auto* kernel = std::get_if<ir::Kernel>(&*instruction.op->lowering))
      if (kernel->sharded && ReducesSharded(map, operands))
        return ExpandInto(kernel->sharded, instruction);
    CountFlops(*instruction.op, map, p);
    std::vector<ir::ValueId> ins, outs;
    for (size_t i = 0; i < operands.size(); ++i)
      ins.push_back(Reshard(operands[i], p.operands[i], /*implied=*/true));
    for (size_t i = 0; i < results.size(); ++i)
      outs.push_back(AddValue({results[i]->shape(), p.results[i]}, results[i]->dtype(), loc_));
    Emit(*instruction.op, instruction.params, ins, outs, {});
    for (size_t i = 0; i < results.size(); ++i)
      outs[i] = Reshard(outs[i], results[i]->sharding(), /*implied=*/true);
    return outs;
  }

  std::vector<const ir::Type*> OperandTypes(const ir::Instruction& instruction) const {
    std::vector<const ir::Type*> types;
    for (ir::ValueId v : instruction.operands) types.push_back(from_.type(v));
    return types;
  }

  sharding::Partition Choose(const ir::Instruction& instruction, const sharding::DimMap& map,
                             const std::vector<ir::ValueId>& operands,
                             const std::vector<const ir::Type*>& results) const {
    std::vector<sharding::PartitionTensor> ins, outs;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Placement& p = out_.placements[static_cast<size_t>(operands[i])];
      ins.push_back({&p.global, from_.type(instruction.operands[i])->dtype().size(), &p.sharding});
    }
    for (const ir::Type* t : results) outs.push_back({&t->shape(), t->dtype().size(), &t->sharding()});
    return sharding::ChoosePartition(map, ins, outs);
  }

  bool ReducesSharded(const sharding::DimMap& map, const std::vector<ir::ValueId>& operands) const {
    for (size_t i = 0; i < operands.size(); ++i)
      for (size_t d = 0; d < map.operands[i].size(); ++d)
        for (int32_t f : map.operands[i][d])
          if (map.factors[static_cast<size_t>(f)].kind == sharding::FactorKind::kReduce &&
              !out_.placements[static_cast<size_t>(operands[i])].sharding.dims[d].axes.empty())
            return true;
    return false;
  }

  void CountFlops(const ir::OpDef& op, const sharding::DimMap& map, const sharding::Partition& p) {
    double points = op.flops_per_point;
    for (size_t f = 0; f < map.factors.size() && points > 0; ++f)
      points *= static_cast<double>(map.factors[f].size) / static_cast<double>(sharding::SizeOf(p.factors[f]));
    out_.flops += points;
  }

  ir::ValueId Reshard(ir::ValueId v, const TensorSharding& to, bool implied) {
    const Placement from = out_.placements[static_cast<size_t>(v)];
    DType dtype = out_.program.type(v)->dtype();
    for (const sharding::ReshardStep& step : sharding::PlanReshard(from.global, dtype.size(), from.sharding, to)) {
      TensorSharding before = out_.placements[static_cast<size_t>(v)].sharding;
      ir::ValueId next = AddValue({from.global, step.after}, dtype, loc_);
      Emit(OpOf(step.kind), MoveParamsOf(from.global, dtype, before, step.after), {v}, {next},
           {implied, step.bytes, step.axes});
      v = next;
    }
    return v;
  }

  void Emit(const ir::OpDef& op, ir::ParamsPtr params, const std::vector<ir::ValueId>& ins,
            const std::vector<ir::ValueId>& outs, Note note) {
    out_.program.instructions.push_back(
        {&op, std::move(params), {ins.begin(), ins.end()}, {outs.begin(), outs.end()}, loc_});
    out_.notes.push_back(std::move(note));
  }

  const ir::Program& from_;
  DeviceProgram out_;
  std::vector<ir::ValueId> map_;  // from traced to device values
  Loc loc_;
};

}  // namespace

DeviceProgram Lower(const ir::Program& program) { return Lowering(program).Run(); }

}  // namespace tessera::spmd
