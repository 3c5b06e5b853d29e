// Interned shardings, the work list, and the users of each value.
#include "propagation/state.h"

#include <absl/algorithm/container.h>

namespace tessera::propagation::engine {

ShardingId Shardings::Intern(TensorSharding sharding) {
  auto [it, added] = ids_.try_emplace(std::move(sharding), list_.next_id());
  if (added) {
    list_.Add(&it->first);
    has_axes_.Add(!it->first.dims_empty());
  }
  return it->second;
}

IdVector<ShardingId, TensorSharding> Shardings::list() const {
  IdVector<ShardingId, TensorSharding> list;
  list.reserve(list_.size());
  for (const TensorSharding* s : list_) list.Add(s ? *s : TensorSharding());
  return list;
}

void WorkList::Fill(const std::vector<OpId>& ops, size_t num_ops) {
  stack_.assign(ops.rbegin(), ops.rend());
  waits_.assign(num_ops, false);
  for (OpId op : ops) waits_[op] = true;
}

OpId WorkList::Pop() {
  OpId op = stack_.back();
  stack_.pop_back();
  waits_[op] = false;
  return op;
}

void WorkList::Push(OpId op) {
  if (waits_[op]) return;
  waits_[op] = true;
  stack_.push_back(op);
}

State::State(FlatGraph& graph, bool record)
    : recording(record),
      graph_(graph),
      sharding_(graph.values.size(), ShardingId::kNone),
      owner_(OwnersOf(graph)),
      defining_op_(DefiningOps(graph)),
      group_of_(graph.values.size(), GroupId::kNone) {
  for (OpId id : graph.ops.ids()) {
    const Op& op = graph.ops[id];
    if (op.kind != Op::kNone && op.rule != RuleId::kNone) active_.push_back(id);
    if (op.is_return) return_op_ = id;
  }
  for (ValueId v : graph.values.ids())
    if (graph.values[v].sharding) Set(v, shardings_.Intern(*graph.values[v].sharding));
  for (size_t r = 0; r < graph.returns.size(); ++r) {
    const ValueId v = graph.ops[return_op_].operands[r];
    const RuleId rule = graph.IdentityRule(graph.values[v].shape, 1);
    const MaybeSharding& given = graph.returns[r];
    returns_.push_back({v, rule, given ? shardings_.Intern(*given) : ShardingId::kNone});
  }
  for (GroupId g : graph.groups.ids())
    for (ValueId v : graph.groups[g])
      if (Owner(v) == v) group_of_[v] = g;
  ListTensors();
  CountUses();
  ListUsers();
}

void State::ListTensors() {
  for (const Op& op : graph_.ops) {
    if (op.kind == Op::kEdge)
      for (OperandUse use : graph_.edges[op.edge].sources) tensors_.Add(UsedValue(graph_, use));
    else
      for (ValueId v : op.operands) tensors_.Add(v);
    for (ValueId v : op.results) tensors_.Add(v);
    tensors_.Close();
  }
}

void State::CountUses() {
  IdVector<ValueId, int32_t> uses(graph_.values.size(), 0);
  for (const Op& op : graph_.ops)
    for (ValueId v : op.operands) ++uses[v];
  // Membership of a group is a use, as if by an op that declares it.
  for (const std::vector<ValueId>& group : graph_.groups)
    for (ValueId v : group) ++uses[v];
  for (const Op& op : graph_.ops)
    single_use_.Add(absl::c_all_of(
        op.operands, [&](ValueId v) { return uses[v] == 1 || graph_.values[v].shape.empty(); }));
}

void State::ListUsers() {
  // A use that is a source of an edge stands for the edge.
  absl::flat_hash_map<OperandUse, OpId> edges;
  for (OpId id : graph_.ops.ids())
    if (graph_.ops[id].kind == Op::kEdge)
      for (OperandUse use : graph_.edges[graph_.ops[id].edge].sources) edges[use] = id;
  IdVector<ValueId, std::vector<OpId>> users(graph_.values.size());
  auto add = [&](ValueId v, OperandUse use) {
    OpId user = use.op;
    if (graph_.ops[user].kind == Op::kNone) {
      auto edge = edges.find(use);
      if (edge == edges.end()) return;
      user = edge->second;
    }
    std::vector<OpId>& list = users[v];
    if (list.empty() || list.back() != user) list.push_back(user);
  };
  ForEachUseBackwards(graph_, [&](ValueId v, OperandUse use) {
    if (!graph_.use_order.contains(v)) add(v, use);
  });
  for (const auto& [v, uses] : graph_.use_order)
    for (OperandUse use : uses) add(v, use);
  for (const std::vector<OpId>& list : users) {
    for (OpId user : list) users_.Add(user);
    users_.Close();
  }
}

absl::Span<const ValueId> State::Group(ValueId v) const {
  const GroupId g = group_of_[v];
  if (g == GroupId::kNone) return {};
  return graph_.groups[g];
}

void State::NotifyUsers(ValueId v, OpId current, WorkList& work) const {
  for (OpId op : users_[v])
    if (op != current) work.Push(op);
}

void State::Notify(ValueId v, OpId current, WorkList& work) const {
  const ValueId owner = Owner(v);
  const OpId maker = defining_op_[owner];
  const Op* made_by = maker == kNoOp ? nullptr : &graph_.ops[maker];
  if (made_by && made_by->kind == Op::kEdge)
    for (ValueId t : graph_.edges[made_by->edge].other_targets) NotifyUsers(t, current, work);
  if (made_by && made_by->kind != Op::kNone && maker != current) work.Push(maker);
  NotifyUsers(owner, current, work);
}

}  // namespace tessera::propagation::engine
