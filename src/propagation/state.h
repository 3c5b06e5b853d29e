// The state of a propagation: the sharding of every value, its users, and the ops that are left to
// visit. Shardings are interned: a value's sharding is a number, and a step that was taken before,
// anywhere in the graph, is looked up.
#pragma once
#include <absl/container/node_hash_map.h>
#include <absl/types/span.h>

#include "propagation/propagate.h"
#include "propagation/steps.h"

namespace tessera::propagation::engine {

// Interned shardings.
class Shardings {
 public:
  ShardingId Intern(TensorSharding sharding);
  // Returns null for kNone.
  const TensorSharding* operator[](ShardingId s) const { return list_[s]; }
  bool has_axes(ShardingId s) const { return has_axes_[s]; }
  // Returns the shardings by id, with an empty one for kNone.
  IdVector<ShardingId, TensorSharding> list() const;

 private:
  IdVector<ShardingId, const TensorSharding*> list_ = {nullptr};  // keys of ids_
  IdVector<ShardingId, bool> has_axes_ = {false};
  absl::node_hash_map<TensorSharding, ShardingId> ids_;
};

// A list for each id, all in one vector.
template <class Id, class T>
class ListPerId {
 public:
  // Adds to the list of the next id, which Close completes.
  void Add(T item) { items_.push_back(item); }
  void Close() { begin_.push_back(items_.size()); }
  absl::Span<const T> operator[](Id id) const {
    const auto i = static_cast<size_t>(Number(id));
    return absl::MakeConstSpan(items_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }

 private:
  std::vector<T> items_;
  std::vector<size_t> begin_ = {0};
};

// Ops that are left to visit. Initially they are in program order. An op that is added later is
// visited next, unless it is already waiting. This order is Shardy's, and decides some conflicts.
class WorkList {
 public:
  void Fill(const std::vector<OpId>& ops, size_t num_ops);
  bool empty() const { return stack_.empty(); }
  OpId Pop();
  void Push(OpId op);

 private:
  std::vector<OpId> stack_;
  IdVector<OpId, bool> waits_;
};

class State {
 public:
  State(FlatGraph& graph, bool record);

  const FlatGraph& graph() const { return graph_; }
  Shardings& shardings() { return shardings_; }
  // Returns the value that owns v's sharding: for a target of an edge, the edge's owner.
  ValueId Owner(ValueId v) const { return owner_[v]; }
  ShardingId Get(ValueId v) const { return sharding_[Owner(v)]; }
  void Set(ValueId v, ShardingId s) { sharding_[Owner(v)] = s; }
  // A returned value, and the sharding of the function's result.
  struct Return {
    ValueId value;
    RuleId rule;
    ShardingId sharding;
  };
  std::vector<Return>& returns() { return returns_; }
  OpId return_op() const { return return_op_; }
  // Whether no operand of the op but scalars has another use.
  bool single_use(OpId op) const { return single_use_[op]; }
  // Returns the ops that let axes through, in program order.
  const std::vector<OpId>& active() const { return active_; }
  // Returns the tensors of an op's rule: operands (an edge's sources), then results.
  absl::Span<const ValueId> Tensors(OpId op) const { return tensors_[op]; }
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
  IdVector<ValueId, ShardingId> sharding_;
  std::vector<Return> returns_;
  OpId return_op_ = kNoOp;
  IdVector<ValueId, ValueId> owner_;
  IdVector<ValueId, OpId> defining_op_;
  std::vector<OpId> active_;
  IdVector<OpId, bool> single_use_;
  ListPerId<OpId, ValueId> tensors_;
  ListPerId<ValueId, OpId> users_;  // the last use first
  IdVector<ValueId, GroupId> group_of_;
};

}  // namespace tessera::propagation::engine
