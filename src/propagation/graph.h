// The flat graph that propagation works on: values with shapes and shardings, ops with a rule,
// data-flow edges, groups. Anyone can fill one: Tessera's programs do, and so can a foreign IR
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

#include "base/at.h"
#include "base/boxed.h"
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

using ValueId = int32_t;
using OpId = int32_t;
using RuleId = int32_t;

struct FlatValue {
  Shape shape;
  // What it is given before propagation; a constraint gives it to its result. Nothing: every dim
  // open.
  MaybeSharding sharding;
  int32_t region = 0;  // of an argument of a region: which one
};

// A data-flow edge: all its targets have one sharding, and it follows that of the sources. Sources
// are uses: operand `index` of `op` (a region op, or the end of a region).
struct OperandUse {
  OpId op = -1;
  int32_t index = 0;
  friend bool operator==(const OperandUse&, const OperandUse&) = default;
};
struct Edge {
  std::vector<OperandUse> sources;
  std::vector<ValueId> other_targets;  // beside the owner, which is the result of the edge's op
  // Into or out of a manual region: what the value is on the outside, manual axes first in each
  // dim. `inward`: the target is an argument of the region; otherwise a result of its op.
  std::optional<TensorSharding> outer;
  AxisList manual;
  bool inward = true;
};

struct Op {
  enum Kind : uint8_t {
    kRule,        // propagates by `rule`
    kEdge,        // by the identity between the sources of `edge` and its one result
    kConstraint,  // by the identity; its result's sharding is meant for its operand as well
    kBarrier,     // by the identity, in `barrier` direction only
    kNone,        // nothing crosses it: it only uses its operands, or only makes its results
  } kind = kRule;
  RuleId rule = -1;  // of kRule; the identity of the others is made by FlatGraph::Add
  absl::InlinedVector<ValueId, 3> operands;
  absl::InlinedVector<ValueId, 1> results;

  bool elementwise = false;
  bool constant = false;  // makes a value of no operands: every user may have a copy
  bool foldable =
      false;  // a constant if all its operands are: elementwise, broadcast, reshape, slice
  bool expands =
      false;  // repeats its operand along new dims; of a rank-0 operand it is copied per user
  // In which direction the op is visited first, before all ops are (see OpPriorities).
  Direction first = Direction::kNone;
  Direction barrier = Direction::kBoth;
  int32_t edge = -1;  // index into FlatGraph::edges
  // In which region: ends and edges of a region belong to it, its op does not. 0: the outermost.
  int32_t region = 0;
  bool is_return = false;  // the function's end: FlatGraph::returns belongs to its operands
  OpId origin = -1;  // the caller's op that this is, or is a copy of; -1: made by an import step
};

// Rules are shared: ops of one kind on equal shapes have one. Every dim has factors.
struct Rule {
  DimMap map;
  // Per tensor (operands, then results): the product of its factors' sizes.
  std::vector<double> sizes;
};

struct FlatGraph {
  std::vector<FlatValue> values;
  std::vector<Op> ops;  // program order, a region op before its regions, its edges after them
  std::vector<Rule> rules;
  std::vector<Edge> edges;
  std::vector<std::vector<ValueId>> groups;  // values that must be sharded alike
  // The shardings given to the function's results, one per operand of the op with `is_return`.
  std::vector<MaybeSharding> returns;
  // Of values whose users are told of a change in another order than their own, the last one first:
  // this order. Made by import steps.
  absl::flat_hash_map<ValueId, std::vector<OperandUse>> use_order;
  // Regions: the op that they belong to, and the enclosing region. Entry 0 is the outermost.
  struct Region {
    OpId op = -1;
    int32_t parent = -1;
  };
  std::vector<Region> regions = std::vector<Region>(1);

  ValueId AddValue(Shape shape, MaybeSharding sharding = {}, int32_t region = 0);
  // Completes the map: a dim without factors gets one of size 1 of its own. Equal maps are one
  // rule.
  RuleId AddRule(DimMap map);
  // The identity over `count` operands and one result of this shape.
  RuleId IdentityRule(const Shape& shape, int count);
  OpId Add(Op op);
  // Returns the id of an edge's op, whose result is `owner`. `rule`: between sources and owner,
  // where it is not the identity (the slices of an array).
  OpId AddEdge(Edge&& edge, ValueId owner, int32_t region, RuleId rule = -1);

 private:
  absl::flat_hash_map<size_t, std::vector<RuleId>> rule_ids_;  // by hash of the map
};

// What things are called in messages and explanations.
struct Naming {
  std::function<std::string(ValueId)> value;  // "%3", "h"
  std::function<std::string(OpId)> op;        // of the caller's graph: "dot_general"
  std::function<std::string(OpId)> where;     // its line: "model.cc:12"; may be empty
  std::vector<std::string> rounds = {};       // of op priorities; may be shorter than they are many
  // What gave v its first sharding, if no constraint did. `maker`: the op that makes v and its
  // line; empty for an argument. Null: "the declared sharding of v".
  std::function<std::string(ValueId v, const std::string& maker)> given = {};
};

}  // namespace tessera::propagation::engine
