// Follows the columns through the factors of the body's instructions until no further value is
// found to have them.
#include "spmd/blocks/loop_columns.h"

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

bool HasFactorsToFollow(const Instruction& i) {
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

const ScalarOp* ScalarOpOf(const Instruction& i) {
  const auto* elementwise = std::get_if<ir::AsElementwise>(&*i.op->lowering);
  return elementwise ? &elementwise->op : nullptr;
}

LoopColumns::LoopColumns(const Instruction& scan)
    : p_(*scan.regions[0]),
      params_(ir::As<ir::ScanParams>(scan.params.get())),
      definitions_(DefinitionsOf(p_)),
      dim_(p_.values.size(), kNoDim) {}

bool LoopColumns::FollowFrom(ValueId mask, int dim) {
  dim_.assign(dim_.size(), kNoDim);
  count_ = p_.type(mask)->shape()[base::Size(dim)];
  dim_[mask] = dim;
  for (bool more = true; more;) {
    more = false;
    for (const Instruction& i : p_.instructions)
      if (Touches(i) && !Follow(i, more)) return false;
  }
  for (int64_t k = 0; k < std::ssize(p_.outputs); ++k) {
    const bool carried = k < params_.carries;
    if (HasColumns(base::At(p_.outputs, k)) && !(carried && AddedTo(k))) return false;
    if (carried && HasColumns(base::At(p_.inputs, params_.constants + k)) && !AddedTo(k))
      return false;
  }
  return true;
}

std::optional<ValueId> LoopColumns::AddedTo(int64_t k) const {
  const ValueId carry = base::At(p_.inputs, params_.constants + k);
  const Instruction* sum = DefinitionOf(base::At(p_.outputs, k));
  const ScalarOp* op = sum ? ScalarOpOf(*sum) : nullptr;
  if (!op || *op != ScalarOp::kAdd) return {};
  int64_t reads = absl::c_count(p_.outputs, carry);
  for (const Instruction& i : p_.instructions) reads += absl::c_count(i.operands, carry);
  if (reads != 1 || absl::c_count(p_.outputs, sum->results[0]) != 1) return {};
  if (sum->operands[0] == carry) return sum->operands[1];
  if (sum->operands[1] == carry) return sum->operands[0];
  return {};
}

std::optional<bool> LoopColumns::KnownBool(ValueId v, const ValueBounds& bounds, Columns at) const {
  const Instruction* i = DefinitionOf(v);
  if (!i) return {};
  if (std::holds_alternative<ir::AsBroadcast>(*i->op->lowering) || IsView(*i))
    return KnownBool(i->operands[0], bounds, at);
  const ScalarOp* op = ScalarOpOf(*i);
  if (!op) return {};
  if (*op == ScalarOp::kNot || *op == ScalarOp::kAnd || *op == ScalarOp::kOr)
    return KnownLogic(*op, *i, bounds, at);
  if (!plan::FactsOf(*op).compares) return {};
  const MaybeBounds &x = bounds[i->operands[0]], &y = bounds[i->operands[1]];
  if (!x || !y) return {};
  return CompareBounds(*op, *x, *y, p_.type(v)->shape(), dim(v), at.begin, at.end);
}

std::optional<bool> LoopColumns::KnownLogic(ScalarOp op, const Instruction& i,
                                            const ValueBounds& bounds, Columns at) const {
  const std::optional<bool> x = KnownBool(i.operands[0], bounds, at);
  if (op == ScalarOp::kNot) return x ? std::optional(!*x) : x;
  const std::optional<bool> y = KnownBool(i.operands[1], bounds, at);
  const bool decides = op == ScalarOp::kOr;
  if ((x && *x == decides) || (y && *y == decides)) return decides;
  return x && y ? std::optional(!decides) : std::nullopt;
}

bool LoopColumns::Follow(const Instruction& i, bool& more) {
  if (!HasFactorsToFollow(i)) return false;
  const DimMap map = DimMapOf(p_, i);
  int32_t factor = -1;
  // Finds the factor of the columns; false if two values disagree.
  const auto learn = [&](ValueId v, const DimFactors& dims) {
    if (!HasColumns(v)) return true;
    const int32_t f = FactorOf(dims, dim(v));
    if (f < 0 || (factor >= 0 && f != factor)) return false;
    factor = f;
    return true;
  };
  // Finds the columns of v by their factor; false if v has them elsewhere.
  const auto tell = [&](ValueId v, const DimFactors& dims) {
    if (IsMixed(dims, factor)) return false;
    const int d = DimOf(dims, factor);
    if (d == kNoDim || p_.type(v)->shape()[base::Size(d)] != count_) return !HasColumns(v);
    if (HasColumns(v)) return dim(v) == d;
    dim_[v] = d;
    return more = true;
  };
  bool fits = learn(i.results[0], map.results[0]);
  for (size_t k = 0; k < i.operands.size(); ++k)
    fits = fits && learn(i.operands[k], map.operands[k]);
  fits = fits && tell(i.results[0], map.results[0]);
  for (size_t k = 0; k < i.operands.size(); ++k)
    fits = fits && tell(i.operands[k], map.operands[k]);
  return fits && CanRunOnSome(i, base::At(map.factors, factor));
}

// Whether the instruction can run on some of the columns: by element, or as a reduction or product
// over them.
bool LoopColumns::CanRunOnSome(const Instruction& i, const sharding::Factor& factor) const {
  if (HasColumns(i.results[0])) {
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
