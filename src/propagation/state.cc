// Interned shardings, the work list, and the users of each value.
#include "propagation/state.h"

#include <algorithm>

#include "base/at.h"

namespace tessera::propagation::engine {

ShardingId Shardings::Intern(TensorSharding sharding) {
  auto [it, added] = ids_.try_emplace(std::move(sharding), static_cast<ShardingId>(list_.size()));
  if (added) {
    list_.push_back(it->first);
    has_axes_.push_back(!it->first.dims_empty());
  }
  return it->second;
}

void WorkList::Fill(const std::vector<OpId>& ops, size_t num_ops) {
  stack_.assign(ops.rbegin(), ops.rend());
  waits_.assign(num_ops, false);
  for (OpId op : ops) base::At(waits_, op) = true;
}

OpId WorkList::Pop() {
  OpId op = stack_.back();
  stack_.pop_back();
  base::At(waits_, op) = false;
  return op;
}

void WorkList::Push(OpId op) {
  if (base::At(waits_, op)) return;
  base::At(waits_, op) = true;
  stack_.push_back(op);
}

State::State(FlatGraph& graph, bool record)
    : recording(record),
      graph_(graph),
      sharding_(graph.values.size(), 0),
      owner_(graph.values.size()),
      maker_(graph.values.size(), -1) {
  for (size_t v = 0; v < owner_.size(); ++v) owner_[v] = static_cast<ValueId>(v);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    for (ValueId v : op.results) base::At(maker_, v) = static_cast<OpId>(i);
    if (op.kind != Op::kNone && op.rule >= 0) active_.push_back(static_cast<OpId>(i));
    if (op.is_return) return_op_ = static_cast<OpId>(i);
    if (op.kind != Op::kEdge) continue;
    for (ValueId v : base::At(graph.edges, op.edge).other_targets)
      base::At(owner_, v) = op.results[0];
  }
  for (size_t v = 0; v < graph.values.size(); ++v)
    if (graph.values[v].sharding)
      Set(static_cast<ValueId>(v), shardings_.Intern(*graph.values[v].sharding));
  for (size_t r = 0; r < graph.returns.size(); ++r) {
    ValueId v = base::At(graph.ops, return_op_).operands[r];
    RuleId rule = graph.IdentityRule(base::At(graph.values, v).shape, 1);
    returns_.push_back({v, rule, graph.returns[r] ? shardings_.Intern(*graph.returns[r]) : 0});
  }
  group_of_.assign(graph.values.size(), -1);
  for (size_t g = 0; g < graph.groups.size(); ++g)
    for (ValueId v : graph.groups[g])
      if (Owner(v) == v) base::At(group_of_, v) = static_cast<int32_t>(g);
  ListTensors();
  CountUses();
  ListUsers();
}

void State::ListTensors() {
  for (const Op& op : graph_.ops) {
    tensors_begin_.push_back(static_cast<int32_t>(tensors_.size()));
    if (op.kind == Op::kEdge) {
      for (OperandUse use : base::At(graph_.edges, op.edge).sources)
        tensors_.push_back(base::At(base::At(graph_.ops, use.op).operands, use.index));
    } else {
      tensors_.insert(tensors_.end(), op.operands.begin(), op.operands.end());
    }
    tensors_.insert(tensors_.end(), op.results.begin(), op.results.end());
  }
  tensors_begin_.push_back(static_cast<int32_t>(tensors_.size()));
}

void State::CountUses() {
  std::vector<int32_t> uses(graph_.values.size(), 0);
  for (const Op& op : graph_.ops)
    for (ValueId v : op.operands) ++base::At(uses, v);
  // Membership of a group is a use, as if by an op that declares it.
  for (const std::vector<ValueId>& group : graph_.groups)
    for (ValueId v : group) ++base::At(uses, v);
  for (const Op& op : graph_.ops)
    single_use_.push_back(std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
      return base::At(uses, v) == 1 || base::At(graph_.values, v).shape.empty();
    }));
}

void State::ListUsers() {
  // A use that is a source of an edge stands for the edge.
  absl::flat_hash_map<std::pair<OpId, int32_t>, OpId> edges;
  for (size_t i = 0; i < graph_.ops.size(); ++i)
    if (graph_.ops[i].kind == Op::kEdge)
      for (OperandUse use : base::At(graph_.edges, graph_.ops[i].edge).sources)
        edges[{use.op, use.index}] = static_cast<OpId>(i);
  std::vector<std::vector<OpId>> users(graph_.values.size());
  auto add = [&](ValueId v, OperandUse use) {
    OpId user = use.op;
    if (base::At(graph_.ops, user).kind == Op::kNone) {
      auto it = edges.find({use.op, use.index});
      if (it == edges.end()) return;
      user = it->second;
    }
    std::vector<OpId>& list = base::At(users, v);
    if (list.empty() || list.back() != user) list.push_back(user);
  };
  for (size_t i = graph_.ops.size(); i-- > 0;)
    for (size_t k = graph_.ops[i].operands.size(); k-- > 0;)
      if (ValueId v = graph_.ops[i].operands[k]; !graph_.use_order.contains(v))
        add(v, {static_cast<OpId>(i), static_cast<int32_t>(k)});
  for (const auto& [v, uses] : graph_.use_order)
    for (OperandUse use : uses) add(v, use);
  for (const std::vector<OpId>& list : users) {
    notify_begin_.push_back(static_cast<int32_t>(to_notify_.size()));
    to_notify_.insert(to_notify_.end(), list.begin(), list.end());
  }
  notify_begin_.push_back(static_cast<int32_t>(to_notify_.size()));
}

absl::Span<const ValueId> State::Tensors(OpId op) const {
  auto begin = base::Size(base::At(tensors_begin_, op)),
       end = base::Size(base::At(tensors_begin_, op + 1));
  return absl::MakeConstSpan(tensors_).subspan(begin, end - begin);
}

absl::Span<const ValueId> State::Group(ValueId v) const {
  int32_t g = base::At(group_of_, v);
  if (g < 0) return {};
  return base::At(graph_.groups, g);
}

void State::NotifyUsers(ValueId v, OpId current, WorkList& work) const {
  for (int32_t i = base::At(notify_begin_, v); i < base::At(notify_begin_, v + 1); ++i)
    if (OpId op = base::At(to_notify_, i); op != current) work.Push(op);
}

void State::Notify(ValueId v, OpId current, WorkList& work) const {
  ValueId owner = Owner(v);
  OpId maker = base::At(maker_, owner);
  const Op* made_by = maker >= 0 ? &base::At(graph_.ops, maker) : nullptr;
  if (made_by && made_by->kind == Op::kEdge)
    for (ValueId t : base::At(graph_.edges, made_by->edge).other_targets)
      NotifyUsers(t, current, work);
  if (made_by && made_by->kind != Op::kNone && maker != current) work.Push(maker);
  NotifyUsers(owner, current, work);
}

}  // namespace tessera::propagation::engine
