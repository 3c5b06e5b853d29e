// Merges groups with a common member, and separates members with different shardings.
#include "propagation/groups.h"

#include <algorithm>
#include <optional>

#include "base/at.h"
#include "propagation/rewrite.h"

namespace tessera::propagation::engine {
namespace {

// Merges groups that share a value into the first of them. Members stay in the order in which they
// are first named.
void Union(FlatGraph& graph) {
  absl::flat_hash_map<ValueId, size_t> group_of;
  std::vector<size_t> leader(graph.groups.size());
  auto find = [&](size_t g) {
    while (leader[g] != g) g = leader[g] = leader[leader[g]];
    return g;
  };
  std::vector<ValueId> named;
  for (size_t g = 0; g < graph.groups.size(); ++g) {
    leader[g] = g;
    for (ValueId v : graph.groups[g]) {
      auto [it, added] = group_of.try_emplace(v, g);
      if (added) named.push_back(v);
      size_t mine = find(g), other = find(it->second);
      leader[std::max(mine, other)] = std::min(mine, other);
    }
    graph.groups[g].clear();
  }
  for (ValueId v : named) graph.groups[find(group_of[v])].push_back(v);
  std::erase_if(graph.groups, [](const std::vector<ValueId>& g) { return g.empty(); });
}

bool SaysNothing(const TensorSharding& s) {
  return s.dims_empty() && std::all_of(s.dims.begin(), s.dims.end(),
                                       [](const sharding::DimAxes& d) { return d.open; });
}

// Returns the value that owns each value's sharding: for a target of an edge, the edge's owner.
std::vector<ValueId> OwnersOf(const FlatGraph& graph) {
  std::vector<ValueId> owners(graph.values.size());
  for (size_t v = 0; v < owners.size(); ++v) owners[v] = static_cast<ValueId>(v);
  for (const Op& op : graph.ops)
    if (op.kind == Op::kEdge)
      for (ValueId v : base::At(graph.edges, op.edge).other_targets)
        base::At(owners, v) = op.results[0];
  return owners;
}

// Separates groups whose members have different shardings: the users of each member see an open
// constraint, which takes the member's place in the group. It handles all groups at once, because
// finding definitions and uses takes a walk over the ops.
class Separator {
 public:
  explicit Separator(FlatGraph& graph)
      : graph_(graph),
        rewrite_(graph),
        uses_(graph.values.size()),
        maker_(graph.values.size(), -1) {
    for (size_t i = graph.ops.size(); i-- > 0;) {
      const Op& op = graph.ops[i];
      for (size_t k = op.operands.size(); k-- > 0;)
        base::At(uses_, op.operands[k]).push_back({static_cast<OpId>(i), static_cast<int32_t>(k)});
      for (ValueId v : op.results) base::At(maker_, v) = static_cast<OpId>(i);
    }
  }

  void Separate(std::vector<ValueId>& group, const MeshDef* mesh) {
    for (ValueId& member : group) {
      Shape shape = base::At(graph_.values, member).shape;
      TensorSharding open = sharding::Replicated(mesh, static_cast<int>(shape.size()));
      for (sharding::DimAxes& d : open.dims) d.open = true;
      Op added;
      added.kind = Op::kConstraint;
      added.elementwise = true;
      added.first = Direction::kBoth;
      added.operands = {member};
      added.rule = graph_.IdentityRule(shape, 1);
      ValueId result = graph_.AddValue(std::move(shape), std::move(open));
      added.results = {result};
      HandOn(TakeUses(member, result), graph_.use_order[result]);
      const OpId maker = base::At(maker_, member);
      if (maker < 0) {
        rewrite_.AtStart(base::At(graph_.values, member).region, std::move(added));
      } else {
        added.region = base::At(graph_.ops, maker).region;
        rewrite_.After(maker, std::move(added));
      }
      member = result;
    }
  }
  void Apply() { rewrite_.Apply(); }

 private:
  // Turns the uses of v into uses of `instead`, and returns them.
  std::vector<OperandUse> TakeUses(ValueId v, ValueId instead) {
    std::vector<OperandUse> uses = std::move(base::At(uses_, v));
    for (const OperandUse& use : uses)
      base::At(base::At(graph_.ops, use.op).operands, use.index) = instead;
    auto ordered = graph_.use_order.find(v);
    if (ordered == graph_.use_order.end()) return uses;
    uses = std::move(ordered->second);
    graph_.use_order.erase(ordered);
    return uses;
  }

  FlatGraph& graph_;
  Rewrite rewrite_;
  std::vector<std::vector<OperandUse>> uses_;  // by value, the last use first
  std::vector<OpId> maker_;                    // by value; -1: none
};

}  // namespace

void JoinGroups(FlatGraph& graph, std::vector<std::string>& warnings) {
  if (graph.groups.empty()) return;
  Union(graph);
  const std::vector<ValueId> owners = OwnersOf(graph);
  auto given = [&](ValueId v) -> MaybeSharding& {
    return base::At(graph.values, base::At(owners, v)).sharding;
  };
  std::optional<Separator> separator;
  for (std::vector<ValueId>& group : graph.groups) {
    const TensorSharding* common = nullptr;
    bool differ = false;
    for (ValueId v : group) {
      const MaybeSharding& s = given(v);
      if (!s || SaysNothing(*s)) continue;
      if (!common) common = &*s;
      differ |= *common != *s;
    }
    if (!common) continue;
    if (differ) {
      warnings.push_back(
          "members of a group have different shardings; their users get an open constraint "
          "instead");
      if (!separator) separator.emplace(graph);
      separator->Separate(group, common->mesh);
      continue;
    }
    TensorSharding all = *common;
    for (ValueId v : group) given(v) = all;
  }
  if (separator) separator->Apply();
}

}  // namespace tessera::propagation::engine
