// The flat graph on which propagation works: values with shapes and shardings, ops with rules,
// data-flow edges and groups. Anyone can fill one: Tessera's programs do, and so can a foreign IR
// through tessera/propagation.h. Nothing here knows an op by its name.
#pragma once
#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/boxed.h"
#include "base/ids.h"
#include "base/shape.h"
#include "sharding/dim_map.h"
#include "tessera/propagation.h"

namespace tessera::propagation::engine {

using base::Shape;
using sharding::AxisList;
using sharding::AxisPart;
using sharding::DimMap;
using sharding::MeshDef;
using sharding::TensorSharding;
using MaybeSharding = base::Boxed<TensorSharding>;

using base::IdVector;
using base::Number;

// Values, ops and regions have the ids of tessera/propagation.h.
using propagation::OpId;
using propagation::RegionId;
using propagation::ValueId;
inline constexpr ValueId kNoValue{-1};
inline constexpr OpId kNoOp{-1};
inline constexpr RegionId kNoRegion{-1};
enum class RuleId : int32_t { kNone = -1 };
enum class EdgeId : int32_t { kNone = -1 };
enum class GroupId : int32_t { kNone = -1 };

struct FlatValue {
  Shape shape;
  // The sharding before propagation. For the result of a constraint, the sharding that the
  // constraint asks for. Nothing if every dim is open.
  MaybeSharding sharding;
  RegionId region = RegionId::kOutermost;  // that defines it, or whose argument it is
};

// A data-flow edge: all its targets share one sharding, which follows the sources. A source is a
// use: operand `index` of `op`, which is a region op or the end of a region.
struct OperandUse {
  OpId op = kNoOp;
  int32_t index = 0;
  friend bool operator==(const OperandUse&, const OperandUse&) = default;
  template <class H>
  friend H AbslHashValue(H h, const OperandUse& use) {
    return H::combine(std::move(h), use.op, use.index);
  }
};
struct Edge {
  std::vector<OperandUse> sources;
  std::vector<ValueId> other_targets;  // besides the owner, which is the result of the edge's op
  // For an edge across the border of a manual region: the sharding outside, with the manual
  // axes first in each dim. `inward`: the target is an argument of the region; otherwise a
  // result of its op.
  std::optional<TensorSharding> outer;
  AxisList manual;
  bool inward = true;
};

struct Op {
  enum Kind : uint8_t {
    kRule,        // propagates by `rule`
    kEdge,        // propagates between the sources of `edge` and its one result
    kConstraint,  // the identity; the sharding of its result is meant for its operand as well
    kBarrier,     // the identity, in direction `barrier` only
    kNone,        // nothing crosses it: it only uses its operands, or only defines its results
  } kind = kRule;
  RuleId rule = RuleId::kNone;  // for kRule; FlatGraph makes those of the other kinds
  absl::InlinedVector<ValueId, 3> operands;
  absl::InlinedVector<ValueId, 1> results;

  bool elementwise = false;
  bool constant = false;  // defines a value without operands: every user may have a copy
  // Whether the op is a constant if all of its operands are: elementwise, broadcast,
  // reshape, slice.
  bool foldable = false;
  // Whether the op repeats its operand along new dims. A repeated scalar is copied for each user.
  bool expands = false;
  // The direction in which the first rounds visit the op, before all other ops. See
  // RunOpPriorities in priorities.h.
  Direction first = Direction::kNone;
  Direction barrier = Direction::kBoth;
  EdgeId edge = EdgeId::kNone;  // of kEdge
  // The region that contains the op. The end and the edges of a region are in it, its op is not.
  RegionId region = RegionId::kOutermost;
  // Whether the op is the end of the function. FlatGraph::returns has the shardings of
  // its operands.
  bool is_return = false;
  OpId origin = kNoOp;  // the caller's op that this is or copies; none: an import step made it
};

// Ops of one kind on equal shapes share a rule. Every dim has factors.
struct Rule {
  DimMap map;
  // By tensor (operands, then results): the product of its factors' sizes.
  std::vector<double> sizes;
};

struct FlatGraph {
  IdVector<ValueId, FlatValue> values;
  IdVector<OpId, Op> ops;  // in program order; a region op precedes its regions
  IdVector<RuleId, Rule> rules;
  IdVector<EdgeId, Edge> edges;
  IdVector<GroupId, std::vector<ValueId>> groups;  // values that must be sharded alike
  // The shardings of the function's results, one per operand of the op with `is_return`.
  std::vector<MaybeSharding> returns;
  // The uses of a value in the order in which they are notified of a change. A value without an
  // entry notifies its last use first. Import steps fill this.
  absl::flat_hash_map<ValueId, std::vector<OperandUse>> use_order;
  // A region: the op that it belongs to, and the enclosing region. The outermost has neither.
  struct Region {
    OpId op = kNoOp;
    RegionId parent = kNoRegion;
  };
  IdVector<RegionId, Region> regions = IdVector<RegionId, Region>(1);

  ValueId AddValue(Shape shape, MaybeSharding sharding = {},
                   RegionId region = RegionId::kOutermost);
  // Adds a rule, or returns an equal one. Completes the map: a dim without factors gets
  // one of size 1.
  RuleId AddRule(DimMap map);
  // Returns the identity rule of `count` operands and one result of this shape.
  RuleId IdentityRule(const Shape& shape, int count);
  OpId Add(Op op);
  // Adds the op of an edge, whose result is `owner`, and returns its id. `rule` relates sources and
  // owner if they are not identical (an array and its slices).
  OpId AddEdge(Edge&& edge, ValueId owner, RegionId region, RuleId rule = RuleId::kNone);

 private:
  absl::flat_hash_map<size_t, std::vector<RuleId>> rule_ids_;  // by hash of the map
};

// Returns the value that a use reads.
inline ValueId UsedValue(const FlatGraph& graph, OperandUse use) {
  return graph.ops[use.op].operands[use.index];
}

// Calls f(value, use) for every operand of every op, the last one first.
template <class F>
void ForEachUseBackwards(const FlatGraph& graph, const F& f) {
  for (auto n = static_cast<int32_t>(graph.ops.size()); n-- > 0;) {
    const auto& operands = graph.ops[OpId{n}].operands;
    for (auto k = static_cast<int32_t>(operands.size()); k-- > 0;)
      f(operands[k], OperandUse{OpId{n}, k});
  }
}

// Returns the value that owns each value's sharding: for a target of an edge, the edge's owner.
IdVector<ValueId, ValueId> OwnersOf(const FlatGraph& graph);
// Returns the op that defines each value; kNoOp for arguments and for targets of edges that are
// not their owners.
IdVector<ValueId, OpId> DefiningOps(const FlatGraph& graph);

// Names of values and ops in messages and explanations.
struct Naming {
  std::function<std::string(ValueId)> value;  // "%3", "h"
  std::function<std::string(OpId)> op;        // of the caller's graph: "dot_general"
  std::function<std::string(OpId)> where;     // its line: "model.cc:12"; may be empty
  std::vector<std::string> rounds = {};       // names of op priority rounds; may be fewer
  // The origin of v's first sharding, if that is not a constraint. `maker` is the op that defines
  // v, and its line; empty for an argument. Null: "the declared sharding of v".
  std::function<std::string(ValueId v, const std::string& maker)> given = {};
  // Lines about a value of a manual region, as a device has it; none for other values. Null: the
  // graph has no such regions.
  std::function<std::vector<std::string>(ValueId)> block = {};
  // How users write an open dim; and whether they can write the priority of one.
  std::string open = "Open(...)";
  bool has_priorities = true;
};

}  // namespace tessera::propagation::engine
