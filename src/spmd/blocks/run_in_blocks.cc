// Makes loops of groups of instructions: operands that have the dim are cut along it, results put
// together again, and sums over it carried.
#include "spmd/blocks/run_in_blocks.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/at.h"
#include "ir/control_params.h"
#include "ir/uses.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "spmd/blocks/find_blocks.h"
#include "spmd/blocks/order.h"
#include "spmd/blocks/skip_masked.h"
#include "spmd/blocks/writer.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

constexpr int kNone = DimOfCall::kNone;

// With one more dim, which is whole on each device.
const ir::Type* WithDim(const ir::Type* place, int at, int64_t size) {
  base::Shape shape = place->shape();
  shape.insert(shape.begin() + at, size);
  sharding::TensorSharding s = place->sharding();
  const sharding::DimAxes whole;
  s.dims.insert(s.dims.begin() + at, whole);
  return ir::Type::Get(std::move(shape), place->dtype(), std::move(s));
}

// The same of products of so many elements. Returns whether there are some.
bool RunInBlocksOf(ir::Program& program, int64_t least);

// One loop. The program's instructions are read from `from`; what stands for them is added to it.
class LoopBuilder {
 public:
  LoopBuilder(ir::Program& p, const std::vector<Instruction>& from, const BlockGroup& group)
      : out_(p),
        in_(body_),
        from_(from),
        group_(group),
        loc_(from[group.calls.back().instruction].loc) {
    body_.mesh = p.mesh;
    body_.per_device = true;
  }

  void Build() {
    for (const BlockedCall& call : group_.calls) Clone(from_[call.instruction], call.dims);
    for (const BlockedCall& call : group_.calls) Return(from_[call.instruction], call.dims);
    if (sums_.empty() && parts_.empty()) return;
    body_.inputs = constants_.inputs;
    for (const auto* more : {&carries_, &slices_})
      body_.inputs.insert(body_.inputs.end(), more->inputs.begin(), more->inputs.end());
    body_.outputs = sums_;
    body_.outputs.insert(body_.outputs.end(), parts_.begin(), parts_.end());
    ir::RemoveInstructions(body_);
    RunInBlocksOf(body_, Limits().block + 1);
    EmitLoop();
  }

 private:
  int64_t Blocks() const { return group_.size / group_.block; }

  // ---- the body --------------------------------------------------------------------------------

  struct Given {
    std::vector<ValueId> outside, inputs;
  };

  ValueId Input(Given& given, ValueId outside, const ir::Type* place) {
    given.outside.push_back(outside);
    given.inputs.push_back(in_.Value(place, loc_));
    return given.inputs.back();
  }

  // The body's value for operand k of an instruction.
  ValueId Operand(ValueId v, int dim) {
    if (const auto it = made_.find(v); it != made_.end()) return it->second;
    const auto [it, is_new] = given_.try_emplace({v, dim}, -1);
    if (!is_new) return it->second;
    const ir::Type* place = out_.Place(v);
    if (dim == kNone)
      it->second = Input(constants_, v, place);
    else
      it->second = Input(slices_, Cut(v, dim), WithSize(place, dim, group_.block));
    return it->second;
  }

  // Returns v as blocks along the dim, one after the other.
  ValueId Cut(ValueId v, int dim) {
    const ir::Type* block = WithSize(out_.Place(v), dim, group_.block);
    const ValueId apart = out_.Reshape(v, WithDim(block, dim, Blocks()), loc_);
    return out_.MoveDim(apart, dim, 0, WithDim(block, 0, Blocks()), loc_);
  }
  ValueId Joined(ValueId stacked, int dim, const ir::Type* place) {
    const ir::Type* block = WithSize(place, dim, group_.block);
    const ValueId apart = out_.MoveDim(stacked, 0, dim, WithDim(block, dim, Blocks()), loc_);
    return out_.Reshape(apart, place, loc_);
  }

  void Clone(const Instruction& call, const DimOfCall& dims) {
    const ValueId v = call.results[0];
    const ir::Type* place = out_.Place(v);
    if (dims.result != kNone) place = WithSize(place, dims.result, group_.block);
    if (std::holds_alternative<ir::AsIota>(*call.op->lowering) && dims.result != kNone &&
        ir::As<ops::IotaParams>(call.params.get()).dim == std::vector<int64_t>{dims.result}) {
      made_[v] = Index(call, dims.result, place);
      return;
    }
    absl::InlinedVector<ValueId, 3> operands;
    for (size_t k = 0; k < call.operands.size(); ++k)
      operands.push_back(Operand(call.operands[k], dims.operands[k]));
    ir::Cost cost = *call.cost;
    const bool has_dim =
        dims.result != kNone ||
        std::any_of(dims.operands.begin(), dims.operands.end(), [](int d) { return d != kNone; });
    if (has_dim) {
      cost.flops = cost.flops / static_cast<double>(Blocks());
      cost.whole_flops = cost.whole_flops / static_cast<double>(Blocks());
    }
    made_[v] = in_.Emit(*call.op, call.params, operands, place, call.loc, std::move(cost));
  }

  // An index along the dim is cut like an operand, from one that counts along nothing else.
  ValueId Index(const Instruction& call, int dim, const ir::Type* block) {
    ops::IotaParams counted;
    counted.dim.push_back(0);
    ops::BroadcastParams repeated;
    repeated.dims.push_back(dim);
    const ir::Type* place = out_.Place(call.results[0]);
    sharding::TensorSharding s = place->sharding();
    s.dims = {base::At(s.dims, dim)};
    const ir::Type* line =
        ir::Type::Get({base::At(place->shape(), dim)}, place->dtype(), std::move(s));
    const ValueId index = out_.Emit(ops::kIota, ir::MakeParams(counted), {}, line, call.loc);
    const ValueId part = Operand(index, 0);
    return in_.Emit(ops::kBroadcastInDim, ir::MakeParams(repeated), {part}, block, call.loc);
  }

  // ---- what leaves it --------------------------------------------------------------------------

  void Return(const Instruction& call, const DimOfCall& dims) {
    const ValueId v = call.results[0];
    if (!dims.returns) return;
    const ir::Type* place = out_.Place(v);
    const ValueId made = made_.at(v);
    if (!dims.sums) {
      parts_.push_back(made);
      results_.push_back({v, dims.result});
      return;
    }
    // Small floats are added up in f32.
    const DType dtype =
        place->dtype().is_floating() && place->dtype().size() < 4 ? f32 : place->dtype();
    const ir::Type* sum = place->WithDType(dtype);
    const ValueId carried = Input(carries_, out_.Zeros(sum, loc_), sum);
    sums_.push_back(in_.Emit(ops::Elementwise(plan::ScalarOp::kAdd), nullptr,
                             {carried, in_.Convert(made, dtype, loc_)}, sum, loc_));
    summed_.push_back(v);
  }

  void EmitLoop() {
    std::vector<ValueId> operands = constants_.outside, results;
    for (const auto* more : {&carries_, &slices_})
      operands.insert(operands.end(), more->outside.begin(), more->outside.end());
    for (ValueId v : carries_.inputs) results.push_back(out_.Value(in_.Place(v), loc_));
    for (ValueId v : parts_)
      results.push_back(out_.Value(WithDim(in_.Place(v), 0, Blocks()), loc_));
    const ir::ScanParams params{.constants = static_cast<int64_t>(constants_.inputs.size()),
                                .carries = static_cast<int64_t>(carries_.inputs.size()),
                                .length = Blocks()};
    out_.program().instructions.push_back(
        {.op = &ops::kScan,
         .params = ir::MakeParams(params),
         .operands = {operands.begin(), operands.end()},
         .results = {results.begin(), results.end()},
         .loc = loc_,
         .regions = {std::make_shared<const ir::Program>(std::move(body_))},
         .cost = Costing({})});
    for (size_t k = 0; k < summed_.size(); ++k)
      Define(summed_[k], out_.Convert(results[k], out_.Place(summed_[k])->dtype(), loc_));
    for (size_t k = 0; k < results_.size(); ++k) {
      const auto [v, dim] = results_[k];
      Define(v, Joined(results[summed_.size() + k], dim, out_.Place(v)));
    }
  }

  // What the loop made is the value that its instruction made before.
  void Define(ValueId v, ValueId made) {
    for (size_t i = out_.program().instructions.size(); i-- > 0;) {
      for (ValueId& result : out_.program().instructions[i].results) {
        if (result != made) continue;
        result = v;
        return;
      }
    }
  }

  ir::Program body_;
  Writer out_, in_;
  const std::vector<Instruction>& from_;
  const BlockGroup& group_;
  const Loc loc_;
  Given constants_, carries_, slices_;
  absl::flat_hash_map<ValueId, ValueId> made_;                   // of the group, in the body
  absl::flat_hash_map<std::pair<ValueId, int>, ValueId> given_;  // of the outside, by value and dim
  std::vector<ValueId> sums_, parts_;                            // of the body
  std::vector<ValueId> summed_;                                  // of the program
  std::vector<std::pair<ValueId, int>> results_;                 // of the program, with the dim
};

void Apply(ir::Program& p, const std::vector<BlockGroup>& groups) {
  std::vector<Instruction> from = std::move(p.instructions);
  p.instructions.clear();
  std::vector<bool> replaced(from.size()), shared(from.size());
  std::vector<const BlockGroup*> ends_at(from.size());
  for (const BlockGroup& group : groups) {
    for (const BlockedCall& call : group.calls) {
      replaced[call.instruction] = true;
      shared[call.instruction] = shared[call.instruction] || call.is_shared;
    }
    ends_at[group.calls.back().instruction] = &group;
  }
  for (size_t i = 0; i < from.size(); ++i) {
    if (shared[i])
      p.instructions.push_back(from[i]);
    else if (!replaced[i])
      p.instructions.push_back(std::move(from[i]));
    if (ends_at[i]) LoopBuilder(p, from, *ends_at[i]).Build();
  }
  Order(p);
  ir::RemoveDead(p);
}

bool RunInBlocksOf(ir::Program& program, int64_t least) {
  std::set<ValueId> tried;
  for (bool any = false;; any = true) {
    const std::vector<BlockGroup> groups = FindBlocks(program, least, tried);
    if (groups.empty()) return any;
    Apply(program, groups);
  }
}

}  // namespace

void RunInBlocks(ir::Program& device) {
  if (!ir::HasEffects(device) && RunInBlocksOf(device, Limits().least)) SkipMasked(device);
}

}  // namespace tessera::spmd
