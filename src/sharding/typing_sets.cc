// Derives the unreduced and reduced axes of an op's results, and fits them to an out_sharding.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "sharding/typing_case.h"

namespace tessera::sharding {
namespace {

struct ReductionSets {
  AxisList unreduced, reduced;
  Reduction kind = Reduction::kSum;  // of `unreduced`
};

Conflict AxisClash(const TypingCase& c, Conflict::Check check, AxisPart a, const char* set) {
  return {check, fmt::format("axis {} shards one operand and is {} in another",
                             PlainAxisText(*c.mesh, a), set)};
}

bool Contracts(const TypingCase& c) {
  for (int32_t f = 0; f < std::ssize(c.map.factors); ++f)
    if (c.map.factors[f].kind == FactorKind::kReduce && HoldersOf(c, f).count > 1) return true;
  return false;
}

bool Reduces(const DimMap& map) {
  return absl::c_any_of(map.factors, [](const Factor& f) { return f.kind == FactorKind::kReduce; });
}

bool IsMember(const LinearGroup& group, int32_t operand) {
  return absl::c_linear_search(group.operands, operand);
}

bool IsLinearIn(const TypingCase& c, int32_t operand) {
  return absl::c_any_of(c.map.linear,
                        [&](const LinearGroup& g) { return g.kinds.sum && IsMember(g, operand); });
}

// Whether the reduced axes of the results depend on the operand.
bool TakesPart(const TypingCase& c, int32_t operand) {
  return c.map.traits.custom ? c.operands[operand].floating
                             : !absl::c_linear_search(c.map.traits.selectors, operand);
}

// Whether the op sums the operand over dims that are sharded over all of the axes: the sums are
// then partial over them.
bool SumsOverUnreduced(const TypingCase& c, int32_t operand, const ReductionSets& sets) {
  AxisList left = sets.unreduced;
  const DimFactors& dims = c.map.operands[operand];
  for (size_t d = 0; d < dims.size(); ++d)
    for (int32_t f : dims[d])
      if (c.map.factors[f].kind == FactorKind::kReduce && c.map.factors[f].reduction == sets.kind)
        left = Difference(left, c.operands[operand].sharding->dims[d].axes);
  return left.empty();
}

// Returns the axes that shard a result dim which another operand has, and the mapped axes over
// which another operand is not reduced.
AxisList ShardedByOthers(const TypingCase& c, const std::vector<TensorSharding>& results,
                         int32_t operand) {
  std::vector<DimFactors> others = c.map.operands;
  others.erase(others.begin() + operand);
  const std::vector<bool> in_others = FactorsOf(c.map, others);
  AxisList axes;
  for (size_t r = 0; r < c.map.results.size(); ++r)
    for (size_t d = 0; d < c.map.results[r].size(); ++d)
      for (int32_t f : c.map.results[r][d])
        if (in_others[f]) AddTo(axes, results[r].dims[d].axes);
  for (int32_t k = 0; k < std::ssize(c.operands); ++k)
    if (k != operand && TakesPart(c, k) && !c.operands[k].shape->empty())
      AddTo(axes, Difference(c.mapped, c.operands[k].sharding->reduced));
  return axes;
}

// Returns the axes over which the operand is reduced. Where the op is linear in it, this leaves out
// the axes over which another operand shards the result: there every device uses the same values
// with its own shard of the other, so the operand's cotangent has a term per device. It is
// unreduced, as it must be.
AxisList ReducedIn(const TypingCase& c, const std::vector<TensorSharding>& results,
                   int32_t operand) {
  const AxisList& own = c.operands[operand].sharding->reduced;
  if (own.empty() || !IsLinearIn(c, operand)) return own;
  return Difference(own, ShardedByOthers(c, results, operand));
}

// Checks operand i against `first`, which is unreduced: an operand of its group must be unreduced
// over the same axes, any other must be reduced over them.
std::optional<Conflict> CheckWithUnreduced(const TypingCase& c,
                                           const std::vector<TensorSharding>& results,
                                           const LinearGroup& group, const ReductionSets& sets,
                                           int32_t first, int32_t i) {
  const RuleOperand& operand = c.operands[i];
  const AxisList& own = operand.sharding->unreduced;
  const std::string over = AxesOrNothing(c.mesh, sets.unreduced);
  if (IsMember(group, i)) {
    if (own == sets.unreduced && operand.sharding->kind == sets.kind) return {};
    if (own.empty() && i == FillOf(c.map)) return {};
    if (c.out && own.empty() && SumsOverUnreduced(c, i, sets)) return {};
    return Conflict{
        Conflict::kUnreduced,
        fmt::format("operands must be unreduced over the same axes: one is over {}, the other "
                    "over {}",
                    over, AxesOrNothing(c.mesh, own)),
        first, i};
  }
  if (!own.empty())
    return Conflict{Conflict::kUnreduced,
                    "both operands are unreduced, but the op is linear in one at a time", first, i};
  // A scalar without sets is the same on every device.
  if (operand.shape->empty() && operand.sharding->reduced.empty()) return {};
  if (!TakesPart(c, i) || ReducedIn(c, results, i) == sets.unreduced) return {};
  return Conflict{
      Conflict::kUnreduced,
      fmt::format("if one operand is unreduced over {0}, the other must be reduced over {0}", over),
      first, i};
}

std::optional<Conflict> DeriveUnreduced(const TypingCase& c,
                                        const std::vector<TensorSharding>& results,
                                        ReductionSets& sets) {
  const auto found = absl::c_find_if(
      c.operands, [](const RuleOperand& o) { return !o.sharding->unreduced.empty(); });
  if (found == c.operands.end()) return {};
  const auto first = static_cast<int32_t>(found - c.operands.begin());
  sets.unreduced = found->sharding->unreduced;
  sets.kind = found->sharding->kind;
  const LinearGroup* group = nullptr;
  for (const LinearGroup& g : c.map.linear)
    if (IsMember(g, first)) group = &g;
  if (!group || !group->kinds.has(sets.kind))
    return Conflict{
        Conflict::kUnreduced,
        fmt::format("the operand is unreduced over {}, and this op does not commute with its "
                    "reduction",
                    AxesOrNothing(c.mesh, sets.unreduced)),
        first};
  for (int32_t i = 0; i < std::ssize(c.operands); ++i)
    if (auto conflict = CheckWithUnreduced(c, results, *group, sets, first, i)) return conflict;
  return {};
}

// Refuses reduced axes of operand i that other operands shard, if the op is not linear in i.
std::optional<Conflict> CheckReducedOperand(const TypingCase& c,
                                            const std::vector<TensorSharding>& results, int32_t i) {
  const AxisList& own = c.operands[i].sharding->reduced;
  if (own.empty()) return {};
  const AxisList sharded = ShardedByOthers(c, results, i);
  const bool linear = IsLinearIn(c, i);
  for (AxisPart a : own) {
    const auto clashes = [&](AxisPart b) { return linear ? !CanCoexist(a, b) : Collide(a, b); };
    if (!absl::c_any_of(sharded, clashes)) continue;
    Conflict conflict = AxisClash(c, Conflict::kReduced, a, "reduced");
    if (!linear) conflict.reason += ", in which the op is not linear";
    conflict.first = i;
    return conflict;
  }
  return {};
}

std::optional<Conflict> DeriveReduced(const TypingCase& c,
                                      const std::vector<TensorSharding>& results,
                                      ReductionSets& sets) {
  if (c.map.traits.product || Contracts(c)) return {};
  const auto count = static_cast<int32_t>(c.operands.size());
  int32_t first = -1;
  for (int32_t i = 0; i < count; ++i) {
    if (!TakesPart(c, i)) continue;
    if (auto conflict = CheckReducedOperand(c, results, i)) return conflict;
    const AxisList own = ReducedIn(c, results, i);
    if (own.empty()) continue;
    if (first >= 0 && own != sets.reduced)
      return Conflict{
          Conflict::kReduced,
          fmt::format(
              "operands must be reduced over the same axes: one is over {}, the other over {}",
              AxesOrNothing(c.mesh, sets.reduced), AxesOrNothing(c.mesh, own)),
          first, i};
    if (first < 0) first = i;
    sets.reduced = own;
  }
  sets.reduced = Difference(sets.reduced, sets.unreduced);
  if (sets.reduced.empty()) return {};
  for (int32_t i = 0; i < count; ++i)
    if (TakesPart(c, i) && !c.operands[i].shape->empty() && ReducedIn(c, results, i).empty())
      return Conflict{
          Conflict::kReduced,
          fmt::format("if one operand is reduced over {0}, the other must be reduced over {0} too",
                      AxesOrNothing(c.mesh, sets.reduced)),
          first, i};
  return {};
}

// Fits the sets of an op that reduces nothing: an out_sharding must have the operand's own.
std::optional<Conflict> FitEqualSets(const TypingCase& c, const ReductionSets& sets) {
  if (c.out->unreduced != sets.unreduced || (!sets.unreduced.empty() && c.out->kind != sets.kind))
    return Conflict{
        Conflict::kUnreduced,
        fmt::format("out_sharding must be unreduced over the same axes as the operand: {}",
                    AxesOrNothing(c.mesh, sets.unreduced))};
  if (c.out->reduced != sets.reduced)
    return Conflict{
        Conflict::kReduced,
        fmt::format("out_sharding must be reduced over the same axes as the operand: {}",
                    AxesOrNothing(c.mesh, sets.reduced))};
  return {};
}

// Takes the unreduced axes of the out_sharding, each of which must shard a reduce factor or be
// unreduced in an operand. Without any, or with exactly those of the operands, the op leaves no sum
// partial.
std::optional<Conflict> FitPartialSums(const TypingCase& c, const FactorJoin& join,
                                       ReductionSets& sets) {
  if (c.out->unreduced.empty() || (c.out->unreduced == sets.unreduced && c.out->kind == sets.kind))
    return {};
  const bool contracts = Contracts(c);
  AxisList allowed = sets.unreduced;
  std::optional<Reduction> reduction;
  for (int32_t f = 0; f < std::ssize(join); ++f) {
    const Factor& factor = c.map.factors[f];
    if (factor.kind != FactorKind::kReduce || join[f].owner < 0) continue;
    if (join[f].clash >= 0 || (contracts && join[f].users < HoldersOf(c, f).count))
      return Conflict{
          Conflict::kUnreduced,
          "for an unreduced result the contracting dims must be sharded alike on both sides"};
    for (AxisPart a : join[f].axes)
      if (!OverlapsAny(sets.unreduced, a)) allowed.push_back(a);
    reduction = factor.reduction;
  }
  SortAndMerge(allowed);
  const bool inside =
      absl::c_all_of(c.out->unreduced, [&](AxisPart a) { return ContainsAxis(allowed, a); });
  if (!inside || (contracts && allowed != c.out->unreduced))
    return Conflict{
        Conflict::kUnreduced,
        fmt::format("out_sharding is unreduced over {}, but the reduced dims are sharded over {}",
                    AxesOrNothing(c.mesh, c.out->unreduced), AxesOrNothing(c.mesh, allowed))};
  if ((reduction && *reduction != c.out->kind) ||
      (!sets.unreduced.empty() && sets.kind != c.out->kind))
    return Conflict{Conflict::kUnreduced,
                    "out_sharding is unreduced by a different reduction than this op's"};
  sets.unreduced = c.out->unreduced;
  sets.kind = c.out->kind;
  return {};
}

std::optional<Conflict> FitOutSharding(const TypingCase& c, const FactorJoin& join,
                                       ReductionSets& sets) {
  if (!c.out) return {};
  return c.map.traits.product || Reduces(c.map) ? FitPartialSums(c, join, sets)
                                                : FitEqualSets(c, sets);
}

}  // namespace

std::optional<Conflict> SetReductions(const TypingCase& c, const FactorJoin& join,
                                      std::vector<TensorSharding>& results) {
  ReductionSets sets;
  if (auto conflict = DeriveUnreduced(c, results, sets)) return conflict;
  if (auto conflict = DeriveReduced(c, results, sets)) return conflict;
  if (auto conflict = FitOutSharding(c, join, sets)) return conflict;
  for (TensorSharding& s : results) {
    s.unreduced = sets.unreduced;
    s.reduced = sets.reduced;
    s.kind = sets.unreduced.empty() ? Reduction::kSum : sets.kind;
    for (const DimAxes& d : s.dims)
      for (AxisPart a : d.axes) {
        if (CollidesWithAny(s.unreduced, a))
          return AxisClash(c, Conflict::kUnreduced, a, "unreduced");
        if (CollidesWithAny(s.reduced, a)) return AxisClash(c, Conflict::kReduced, a, "reduced");
      }
  }
  return {};
}

}  // namespace tessera::sharding
