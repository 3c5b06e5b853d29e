#include <algorithm>

#include "propagation/import.h"

namespace tessera::propagation::engine {
namespace {

void Union(Graph& graph) {
  std::vector<std::vector<ValueId>> joined;
  for (std::vector<ValueId>& group : graph.groups) {
    std::vector<ValueId> merged = std::move(group);
    for (std::vector<ValueId>& other : joined) {
      bool shares = std::any_of(other.begin(), other.end(), [&](ValueId v) {
        return std::count(merged.begin(), merged.end(), v) > 0;
      });
      if (!shares) continue;
      merged.insert(merged.begin(), other.begin(), other.end());
      other.clear();
    }
    joined.push_back(std::move(merged));
  }
  graph.groups.clear();
  for (std::vector<ValueId>& group : joined) {
    std::sort(group.begin(), group.end());
    group.erase(std::unique(group.begin(), group.end()), group.end());
    if (!group.empty()) graph.groups.push_back(std::move(group));
  }
}

bool SaysNothing(const TensorSharding& s) {
  return s.dims_empty() && std::all_of(s.dims.begin(), s.dims.end(),
                                       [](const sharding::DimAxes& d) { return d.open; });
}

// Later users of every member see an open constraint, which takes its place in the group.
void Separate(Graph& graph, std::vector<ValueId>& group, const MeshDef* mesh) {
  Rewrite rewrite(graph);
  for (ValueId& member : group) {
    TensorSharding open = sharding::Replicated(
        mesh, static_cast<int>(graph.values[static_cast<size_t>(member)].shape.size()));
    for (sharding::DimAxes& d : open.dims) d.open = true;
    Op added;
    added.kind = Op::kConstraint;
    added.elementwise = true;
    added.first = Direction::kBoth;
    added.operands = {member};
    Shape shape = graph.values[static_cast<size_t>(member)].shape;
    added.rule = graph.IdentityRule(shape, 1);
    ValueId result = graph.AddValue(std::move(shape), std::move(open));
    added.results = {result};
    OpId maker = -1;
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      for (ValueId& v : graph.ops[i].operands)
        if (v == member) v = result;
      if (std::count(graph.ops[i].results.begin(), graph.ops[i].results.end(), member))
        maker = static_cast<OpId>(i);
    }
    if (maker >= 0) {
      added.region = graph.ops[static_cast<size_t>(maker)].region;
      rewrite.After(maker, std::move(added));
    } else {
      rewrite.Before(0, std::move(added));
    }
    member = result;
  }
  rewrite.Apply();
}

}  // namespace

void JoinGroups(Graph& graph, std::vector<std::string>& warnings) {
  Union(graph);
  for (std::vector<ValueId>& group : graph.groups) {
    const TensorSharding* common = nullptr;
    bool differ = false;
    for (ValueId v : group) {
      const MaybeSharding& s = graph.values[static_cast<size_t>(v)].sharding;
      if (!s || SaysNothing(*s)) continue;
      if (!common) common = &*s;
      differ |= *common != *s;
    }
    if (!common) continue;
    if (differ) {
      warnings.push_back(
          "the members of a group are given different shardings: their users see an open "
          "constraint instead");
      Separate(graph, group, common->mesh);
      continue;
    }
    TensorSharding all = *common;
    for (ValueId v : group) graph.values[static_cast<size_t>(v)].sharding = all;
  }
}

}  // namespace tessera::propagation::engine
