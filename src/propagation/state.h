// The state of a propagation: the sharding of every value, its users, and the ops that are left to
// visit. Shardings are interned: a value's sharding is a number, and a step that was taken before,
// anywhere in the graph, is looked up.
#pragma once
#include <absl/container/flat_hash_map.h>

#include <deque>

#include "base/at.h"
#include "propagation/propagate.h"
#include "propagation/steps.h"

namespace tessera::propagation::engine {

using ShardingId = int32_t;  // 0: none

class Shardings {
 public:
  Shardings() : list_(1) {}
  ShardingId Intern(TensorSharding sharding);
  // Returns null for 0.
  const TensorSharding* operator[](ShardingId i) const {
    return i == 0 ? nullptr : &base::At(list_, i);
  }
  bool has_axes(ShardingId i) const { return base::At(has_axes_, i); }
  std::vector<TensorSharding> list() const { return {list_.begin(), list_.end()}; }

 private:
  std::deque<TensorSharding> list_;
  std::vector<bool> has_axes_ = {false};
  absl::flat_hash_map<TensorSharding, ShardingId> ids_;
};

// Ops that are left to visit. The first ones come in program order. One that is added later comes
// next, unless it waits already. This order is Shardy's, and decides some conflicts.
class WorkList {
 public:
  void Fill(const std::vector<OpId>& ops, size_t num_ops);
  bool empty() const { return stack_.empty(); }
  OpId Pop();
  void Push(OpId op);

 private:
  std::vector<OpId> stack_;
  std::vector<bool> waits_;
};

class State {
 public:
  State(FlatGraph& graph, bool record);

  const FlatGraph& graph() const { return graph_; }
  Shardings& shardings() { return shardings_; }
  // Returns the value that owns v's sharding: for a target of an edge, the edge's owner.
  ValueId Owner(ValueId v) const { return base::At(owner_, v); }
  ShardingId Get(ValueId v) const { return base::At(sharding_, Owner(v)); }
  void Set(ValueId v, ShardingId s) { base::At(sharding_, Owner(v)) = s; }
  // A returned value, and the sharding of the function's result.
  struct Return {
    ValueId value;
    RuleId rule;
    ShardingId sharding;
  };
  std::vector<Return>& returns() { return returns_; }
  OpId return_op() const { return return_op_; }
  // Whether no operand of the op but scalars has another use.
  bool single_use(OpId op) const { return base::At(single_use_, op); }
  // Returns the ops that let axes through, in program order.
  const std::vector<OpId>& active() const { return active_; }
  // Returns the tensors of an op's rule: operands (an edge's sources), then results.
  absl::Span<const ValueId> Tensors(OpId op) const;
  // Queue the ops that may have to act because op `current` changed v.
  void Notify(ValueId v, OpId current, WorkList& work) const;
  void NotifyUsers(ValueId v, OpId current, WorkList& work) const;
  absl::Span<const ValueId> Group(ValueId v) const;

  // Set by the outer layers, for the record of changes.
  int8_t round = 0;
  int32_t priority = 0;
  bool recording = false;
  std::vector<Change> changes;

 private:
  void ListTensors();
  void CountUses();
  void ListUsers();

  const FlatGraph& graph_;
  Shardings shardings_;
  std::vector<ShardingId> sharding_;
  std::vector<Return> returns_;
  OpId return_op_ = -1;
  std::vector<ValueId> owner_;
  std::vector<OpId> maker_;  // by value; -1: none
  std::vector<OpId> active_;
  std::vector<bool> single_use_;
  std::vector<ValueId> tensors_;        // of all ops, in order
  std::vector<int32_t> tensors_begin_;  // by op: where its tensors begin
  std::vector<OpId> to_notify_;         // users of all values, each value's last use first
  std::vector<int32_t> notify_begin_;   // by value: where its users begin
  std::vector<int32_t> group_of_;       // by value; -1: none
};

}  // namespace tessera::propagation::engine
