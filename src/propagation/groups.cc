// Joins groups with a common member, and settles members that were given different shardings.
#include "propagation/groups.h"

#include <algorithm>

#include "base/at.h"
#include "propagation/rewrite.h"

namespace tessera::propagation::engine {
namespace {

// Groups that share a value become one, where the first of them was. Members are in the order in
// which they are first named.
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

// Whose sharding a value has: that of the owner of its edge.
std::vector<ValueId> OwnersOf(const FlatGraph& graph) {
  std::vector<ValueId> owners(graph.values.size());
  for (size_t v = 0; v < owners.size(); ++v) owners[v] = static_cast<ValueId>(v);
  for (const Op& op : graph.ops)
    if (op.kind == Op::kEdge)
      for (ValueId v : base::At(graph.edges, op.edge).other_targets)
        base::At(owners, v) = op.results[0];
  return owners;
}

// Returns the uses of v, which from now on are of `instead`.
std::vector<OperandUse> TakeUses(FlatGraph& graph, ValueId v, ValueId instead) {
  std::vector<OperandUse> uses;
  for (size_t i = graph.ops.size(); i-- > 0;)
    for (size_t k = graph.ops[i].operands.size(); k-- > 0;) {
      if (graph.ops[i].operands[k] != v) continue;
      uses.push_back({static_cast<OpId>(i), static_cast<int32_t>(k)});
      graph.ops[i].operands[k] = instead;
    }
  auto ordered = graph.use_order.find(v);
  if (ordered == graph.use_order.end()) return uses;
  uses = std::move(ordered->second);
  graph.use_order.erase(ordered);
  return uses;
}

// Users of every member see an open constraint, which takes its place in the group.
void Separate(FlatGraph& graph, std::vector<ValueId>& group, const MeshDef* mesh) {
  Rewrite rewrite(graph);
  for (ValueId& member : group) {
    Shape shape = base::At(graph.values, member).shape;
    TensorSharding open = sharding::Replicated(mesh, static_cast<int>(shape.size()));
    for (sharding::DimAxes& d : open.dims) d.open = true;
    Op added;
    added.kind = Op::kConstraint;
    added.elementwise = true;
    added.first = Direction::kBoth;
    added.operands = {member};
    added.rule = graph.IdentityRule(shape, 1);
    ValueId result = graph.AddValue(std::move(shape), std::move(open));
    added.results = {result};
    HandOn(TakeUses(graph, member, result), graph.use_order[result]);
    auto maker = std::find_if(graph.ops.begin(), graph.ops.end(), [&](const Op& op) {
      return std::count(op.results.begin(), op.results.end(), member) > 0;
    });
    if (maker == graph.ops.end()) {
      rewrite.AtStart(base::At(graph.values, member).region, std::move(added));
    } else {
      added.region = maker->region;
      rewrite.After(static_cast<OpId>(maker - graph.ops.begin()), std::move(added));
    }
    member = result;
  }
  rewrite.Apply();
}

}  // namespace

void JoinGroups(FlatGraph& graph, std::vector<std::string>& warnings) {
  if (graph.groups.empty()) return;
  Union(graph);
  const std::vector<ValueId> owners = OwnersOf(graph);
  auto given = [&](ValueId v) -> MaybeSharding& {
    return base::At(graph.values, base::At(owners, v)).sharding;
  };
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
      Separate(graph, group, common->mesh);
      continue;
    }
    TensorSharding all = *common;
    for (ValueId v : group) given(v) = all;
  }
}

}  // namespace tessera::propagation::engine
