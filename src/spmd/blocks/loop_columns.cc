// Columns through the dim maps of a loop's body.
#include "spmd/blocks/loop_columns.h"

#include "ir/infer.h"
#include "ops/ops.h"
#include "plan/fused.h"
#include "spmd/blocks/block_types.h"

namespace tessera::spmd {

using ir::Instruction;
using ir::ValueId;
using plan::ScalarOp;
using sharding::DimFactors;
using sharding::DimMap;
using sharding::FactorKind;

namespace {

bool MayFollow(const Instruction& i) {
  const ir::OpDef& op = *i.op;
  if (!i.regions.empty() || op.opaque || op.effect != ir::Effect::kNone || i.results.size() != 1 ||
      !std::holds_alternative<ir::DimMapFn>(*op.dims))
    return false;
  const ir::Lowering& lowering = *op.lowering;
  return std::holds_alternative<ir::AsKernel>(lowering) ||
         std::holds_alternative<ir::AsElementwise>(lowering) ||
         std::holds_alternative<ir::AsReduction>(lowering) ||
         std::holds_alternative<ir::AsBroadcast>(lowering) ||
         std::holds_alternative<ir::AsView>(lowering);
}

}  // namespace

const ScalarOp* ByElement(const Instruction& i) {
  const auto* by_element = std::get_if<ir::AsElementwise>(&*i.op->lowering);
  return by_element ? &by_element->op : nullptr;
}

LoopColumns::LoopColumns(const ir::Program& body)
    : p_(body), dim_(body.values.size(), kNoDim), made_by_(body.values.size(), -1) {
  for (size_t i = 0; i < body.instructions.size(); ++i)
    for (ValueId v : body.instructions[i].results) base::At(made_by_, v) = static_cast<int32_t>(i);
}

bool LoopColumns::FollowFrom(ValueId mask, int dim) {
  dim_.assign(dim_.size(), kNoDim);
  count_ = p_.type(mask)->shape()[base::Size(dim)];
  base::At(dim_, mask) = dim;
  for (bool more = true; more;) {
    more = false;
    for (const Instruction& i : p_.instructions)
      if (Touches(i) && !Follow(i, more)) return false;
  }
  return std::none_of(p_.outputs.begin(), p_.outputs.end(), [&](ValueId v) { return Has(v); });
}

std::optional<bool> LoopColumns::State(ValueId v, const ValueBounds& bounds, Columns at) const {
  const Instruction* made = Maker(v);
  if (!made) return {};
  if (made->op == &ops::kBroadcastInDim || made->op == &ops::kReshape)
    return State(made->operands[0], bounds, at);
  const ScalarOp* op = ByElement(*made);
  if (!op) return {};
  if (*op == ScalarOp::kNot || *op == ScalarOp::kAnd || *op == ScalarOp::kOr)
    return StateOf(*op, *made, bounds, at);
  if (!plan::FactsOf(*op).compares) return {};
  const std::optional<IndexBounds>&x = base::At(bounds, made->operands[0]),
        &y = base::At(bounds, made->operands[1]);
  if (!x || !y) return {};
  return Compared(*op, *x, *y, p_.type(v)->shape(), dim(v), at.begin, at.end);
}

std::optional<bool> LoopColumns::StateOf(ScalarOp op, const Instruction& made,
                                         const ValueBounds& bounds, Columns at) const {
  std::optional<bool> x = State(made.operands[0], bounds, at);
  if (op == ScalarOp::kNot) return x ? std::optional(!*x) : x;
  const std::optional<bool> y = State(made.operands[1], bounds, at);
  const bool decides = op == ScalarOp::kOr;
  if ((x && *x == decides) || (y && *y == decides)) return decides;
  return x && y ? std::optional(!decides) : std::nullopt;
}

bool LoopColumns::Follow(const Instruction& i, bool& more) {
  if (!MayFollow(i)) return false;
  absl::InlinedVector<const ir::Type*, 3> operands, results{p_.type(i.results[0])};
  for (ValueId v : i.operands) operands.push_back(p_.type(v));
  const DimMap map = ir::DimMapOf(*i.op, i.params.get(), operands, results);
  int32_t factor = -1;
  const auto learn = [&](ValueId v, const DimFactors& dims) {
    if (!Has(v)) return true;
    const int32_t f = FactorOf(dims, dim(v));
    if (f < 0 || (factor >= 0 && f != factor)) return false;
    factor = f;
    return true;
  };
  const auto tell = [&](ValueId v, const DimFactors& dims) {
    if (IsMixed(dims, factor)) return false;
    const int d = DimOf(dims, factor);
    if (d == kNoDim || p_.type(v)->shape()[base::Size(d)] != count_) return !Has(v);
    if (Has(v)) return dim(v) == d;
    base::At(dim_, v) = d;
    return more = true;
  };
  bool fits = learn(i.results[0], map.results[0]);
  for (size_t k = 0; k < i.operands.size(); ++k)
    fits = fits && learn(i.operands[k], map.operands[k]);
  fits = fits && tell(i.results[0], map.results[0]);
  for (size_t k = 0; k < i.operands.size(); ++k)
    fits = fits && tell(i.operands[k], map.operands[k]);
  return fits && MayCut(i, base::At(map.factors, factor));
}

bool LoopColumns::MayCut(const Instruction& i, const sharding::Factor& factor) const {
  if (Has(i.results[0])) {
    DimOfCall dims;
    for (ValueId v : i.operands) dims.operands.push_back(dim(v));
    dims.result = dim(i.results[0]);
    return factor.kind == FactorKind::kPass && TakesBlocks(p_, i, dims, 1);
  }
  if (const auto* reduces = std::get_if<ir::AsReduction>(&*i.op->lowering))
    return reduces->reduction == Reduction::kSum || reduces->reduction == Reduction::kMax ||
           reduces->reduction == Reduction::kMin;
  return factor.kind == FactorKind::kReduce && factor.reduction == Reduction::kSum &&
         i.op->flops_per_point > 0 && i.operands.size() == 2;
}

}  // namespace tessera::spmd
