// Joins the axes of an op's operands on its factors. Refuses axes that the factors' kinds do not
// allow.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "sharding/project.h"
#include "sharding/typing_case.h"

namespace tessera::sharding {
namespace {

const char* OrdinalOf(size_t i) {
  static constexpr const char* kOrdinals[] = {"first", "second", "third", "fourth", "fifth"};
  return i < std::size(kOrdinals) ? kOrdinals[i] : "next";
}

// The conflict of axes that no factor of their dim can hold: the size of the first one does not
// divide the rest of the factor to which it would go.
Conflict LostAxes(const TypingCase& c, int32_t operand, const Projection& p) {
  const FactorList& parts = c.map.operands[operand][p.lost_dim];
  auto size_of = [&](size_t k) { return c.map.factors[parts[k]].size; };
  size_t at = 0;
  while (at + 1 < parts.size() && SizeOf(p.axes[parts[at]]) == size_of(at)) ++at;
  std::string product;
  for (size_t k = 0; k < parts.size(); ++k)
    product += fmt::format("{}{}", k ? " x " : "", size_of(k));
  const AxisList& taken = p.axes[parts[at]];
  const int64_t shards = SizeOf(taken);
  const std::string over =
      taken.empty()
          ? ""
          : fmt::format(" over {} ({} / {})", AxesOrNothing(c.mesh, taken), size_of(at), shards);
  return {Conflict::kWhole,
          fmt::format("no dim of the new shape can hold axis {}, which shards dim {} of size {} = "
                      "{}: {} does not divide {}, the {} factor{}",
                      AxesOrNothing(c.mesh, p.lost), p.lost_dim,
                      (*c.operands[operand].shape)[p.lost_dim], product, p.lost[0].size,
                      size_of(at) / shards, OrdinalOf(at), over),
          operand};
}

// Whether a part of an axis may go to each factor of a dim. A product may have such a dim, of
// groups and of features within them. A reshape keeps axes whole, as in JAX.
AxisCut CutOf(const DimMap& map) {
  return map.traits.product ? AxisCut::kAllowed : AxisCut::kNever;
}

Conflict Disagreement(const TypingCase& c, const JoinedFactor& joined, int32_t f, int32_t other) {
  const Projection p =
      Project(c.map, c.map.operands[other], *c.operands[other].sharding, CutOf(c.map));
  return {Conflict::kDisagree,
          fmt::format("operands shard one dim differently: over {} and over {}",
                      AxesOrNothing(c.mesh, joined.axes), AxesOrNothing(c.mesh, p.axes[f])),
          joined.owner, other};
}

std::optional<Conflict> CheckReduceFactor(const TypingCase& c, const JoinedFactor& joined,
                                          int32_t f) {
  if (joined.users < 2) return {};
  if (joined.clash >= 0)
    return Conflict{Conflict::kAmbiguous, "the contracting dims are sharded differently",
                    joined.owner, joined.clash};
  int32_t second = joined.owner + 1;
  while (!HasFactor(c.map.operands[second], f)) ++second;
  return Conflict{Conflict::kAmbiguous,
                  fmt::format("the contracting dims are sharded over {} on both sides: say how "
                              "the result is sharded",
                              AxesOrNothing(c.mesh, joined.axes)),
                  joined.owner, second};
}

std::optional<Conflict> CheckFactor(const TypingCase& c, const JoinedFactor& joined, int32_t f) {
  const Factor& factor = c.map.factors[f];
  const std::string axes = AxesOrNothing(c.mesh, joined.axes);
  const bool looks_up = LooksUp(c.map, f);
  const bool scans = factor.kind == FactorKind::kScan;
  if ((factor.kind == FactorKind::kReplicate && !looks_up) ||
      (scans && c.results.size() > 1 && !joined.in_results))
    return Conflict{Conflict::kWhole,
                    fmt::format("the op needs this dim unsharded, but it is sharded over {}", axes),
                    joined.owner};
  if (c.out) return {};
  if (scans)
    return Conflict{Conflict::kAmbiguous,
                    fmt::format("the op runs along a dim that is sharded over {}: say how the "
                                "result is sharded",
                                axes),
                    joined.owner};
  if (looks_up)
    return Conflict{Conflict::kAmbiguous,
                    fmt::format("a dim that is looked up or updated is sharded over {}: say how "
                                "the result is sharded",
                                axes),
                    joined.owner};
  if (factor.kind == FactorKind::kReduce) return CheckReduceFactor(c, joined, f);
  if (joined.clash >= 0) return Disagreement(c, joined, f, joined.clash);
  if (factor.kind == FactorKind::kPermute || factor.kind == FactorKind::kAcross) {
    const FactorHolders holders = HoldersOf(c, f);
    if (holders.count > 1 && holders.unsharded >= 0)
      return Disagreement(c, joined, f, holders.unsharded);
    return {};
  }
  if (joined.in_results || factor.size <= 1) return {};
  return Conflict{Conflict::kWhole, fmt::format("no dim of the new shape can hold axis {}", axes),
                  joined.owner};
}

}  // namespace

std::string AxesOrNothing(const MeshDef* mesh, const AxisList& axes) {
  return axes.empty() ? "nothing" : PlainAxesText(*mesh, axes);
}

FactorHolders HoldersOf(const TypingCase& c, int32_t factor) {
  FactorHolders holders;
  for (size_t i = 0; i < c.operands.size(); ++i)
    for (size_t d = 0; d < c.map.operands[i].size(); ++d) {
      if (!absl::c_linear_search(c.map.operands[i][d], factor)) continue;
      ++holders.count;
      if (c.operands[i].sharding->dims[d].axes.empty()) holders.unsharded = static_cast<int32_t>(i);
    }
  return holders;
}

std::optional<Conflict> JoinOperands(const TypingCase& c, FactorJoin& join) {
  const auto num_factors = static_cast<int32_t>(c.map.factors.size());
  join.assign(num_factors, {});
  for (int32_t i = 0; i < std::ssize(c.operands); ++i) {
    const TensorSharding& s = *c.operands[i].sharding;
    if (s.dims_empty()) continue;
    const Projection p = Project(c.map, c.map.operands[i], s, CutOf(c.map));
    if (!p.lost.empty() && !c.out) return LostAxes(c, i, p);
    for (int32_t f = 0; f < num_factors; ++f) {
      if (p.axes[f].empty()) continue;
      JoinedFactor& joined = join[f];
      ++joined.users;
      if (joined.owner < 0) {
        joined.owner = i;
        joined.axes = p.axes[f];
      } else if (joined.axes != p.axes[f] && joined.clash < 0) {
        joined.clash = i;
      }
    }
  }
  const std::vector<bool> in_results = FactorsOf(c.map, c.map.results);
  for (int32_t f = 0; f < num_factors; ++f) join[f].in_results = in_results[f];
  for (int32_t f = 0; f < num_factors; ++f)
    if (join[f].owner >= 0)
      if (std::optional<Conflict> conflict = CheckFactor(c, join[f], f)) return conflict;
  return {};
}

}  // namespace tessera::sharding
