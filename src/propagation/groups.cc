// Merges groups with a common member, and separates members with different shardings.
#include "propagation/groups.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <optional>

#include "propagation/rewrite.h"

namespace tessera::propagation::engine {
namespace {

// Merges groups that share a value into the first of them. Members stay in the order in which they
// are first named.
void MergeGroups(FlatGraph& graph) {
  absl::flat_hash_map<ValueId, GroupId> group_of;
  IdVector<GroupId, GroupId> leader;
  auto find = [&](GroupId g) {
    while (leader[g] != g) g = leader[g] = leader[leader[g]];
    return g;
  };
  std::vector<ValueId> named;
  for (GroupId g : graph.groups.ids()) {
    leader.Add(g);
    for (ValueId v : graph.groups[g]) {
      auto [it, added] = group_of.try_emplace(v, g);
      if (added) named.push_back(v);
      const GroupId mine = find(g), other = find(it->second);
      leader[std::max(mine, other)] = std::min(mine, other);
    }
  }
  IdVector<GroupId, std::vector<ValueId>> members(graph.groups.size());
  for (ValueId v : named) members[find(group_of[v])].push_back(v);
  graph.groups.clear();
  for (std::vector<ValueId>& group : members)
    if (!group.empty()) graph.groups.Add(std::move(group));
}

bool IsOpenAndEmpty(const TensorSharding& s) {
  return s.dims_empty() &&
         absl::c_all_of(s.dims, [](const sharding::DimAxes& d) { return d.open; });
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
        defining_op_(DefiningOps(graph)) {
    ForEachUseBackwards(graph, [&](ValueId v, OperandUse use) { uses_[v].push_back(use); });
  }

  void Separate(std::vector<ValueId>& group, const MeshDef* mesh) {
    for (ValueId& member : group) {
      Shape shape = graph_.values[member].shape;
      TensorSharding open = sharding::FullyOpen(mesh, static_cast<int>(shape.size()));
      Op added;
      added.kind = Op::kConstraint;
      added.elementwise = true;
      added.first = Direction::kBoth;
      added.operands = {member};
      added.rule = graph_.IdentityRule(shape, 1);
      ValueId result = graph_.AddValue(std::move(shape), std::move(open));
      added.results = {result};
      PrependReversed(TakeUses(member, result), graph_.use_order[result]);
      const OpId maker = defining_op_[member];
      if (maker == kNoOp) {
        rewrite_.InsertAtStart(graph_.values[member].region, std::move(added));
      } else {
        added.region = graph_.ops[maker].region;
        rewrite_.InsertAfter(maker, std::move(added));
      }
      member = result;
    }
  }
  void Apply() { rewrite_.Apply(); }

 private:
  // Turns the uses of v into uses of `instead`, and returns them.
  std::vector<OperandUse> TakeUses(ValueId v, ValueId instead) {
    std::vector<OperandUse> uses = std::move(uses_[v]);
    for (const OperandUse& use : uses) graph_.ops[use.op].operands[use.index] = instead;
    auto ordered = graph_.use_order.find(v);
    if (ordered == graph_.use_order.end()) return uses;
    uses = std::move(ordered->second);
    graph_.use_order.erase(ordered);
    return uses;
  }

  FlatGraph& graph_;
  Rewrite rewrite_;
  IdVector<ValueId, std::vector<OperandUse>> uses_;  // the last use first
  IdVector<ValueId, OpId> defining_op_;
};

}  // namespace

void JoinGroups(FlatGraph& graph, std::vector<std::string>& warnings) {
  if (graph.groups.empty()) return;
  MergeGroups(graph);
  const IdVector<ValueId, ValueId> owners = OwnersOf(graph);
  auto given = [&](ValueId v) -> MaybeSharding& { return graph.values[owners[v]].sharding; };
  std::optional<Separator> separator;
  for (std::vector<ValueId>& group : graph.groups) {
    const TensorSharding* common = nullptr;
    bool differ = false;
    for (ValueId v : group) {
      const MaybeSharding& s = given(v);
      if (!s || IsOpenAndEmpty(*s)) continue;
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
