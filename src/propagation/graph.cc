// Adds values, ops, edges and rules to a graph. Equal rules are stored once.
#include "propagation/graph.h"

#include <absl/hash/hash.h>

namespace tessera::propagation::engine {
namespace {

bool Same(const DimMap& a, const DimMap& b) {
  return a.factors == b.factors && a.operands == b.operands && a.results == b.results;
}

}  // namespace

ValueId FlatGraph::AddValue(Shape shape, MaybeSharding sharding, RegionId region) {
  return values.Add({std::move(shape), std::move(sharding), region});
}

RuleId FlatGraph::AddRule(DimMap map) {
  Rule rule;
  map = sharding::Completed(std::move(map));
  std::vector<RuleId>& known = rule_ids_[absl::HashOf(map.factors, map.operands, map.results)];
  for (RuleId id : known)
    if (Same(rules[id].map, map)) return id;
  auto size = [&](const std::vector<sharding::DimFactors>& tensors) {
    for (const sharding::DimFactors& dims : tensors) {
      double product = 1;
      for (const sharding::FactorList& dim : dims)
        for (int32_t f : dim) product *= static_cast<double>(map.factors[f].size);
      rule.sizes.push_back(product);
    }
  };
  size(map.operands);
  size(map.results);
  rule.map = std::move(map);
  known.push_back(rules.Add(std::move(rule)));
  return known.back();
}

RuleId FlatGraph::IdentityRule(const Shape& shape, int count) {
  DimMap map;
  sharding::DimFactors dims;
  for (int64_t n : shape) dims.push_back({map.AddFactor({.size = n})});
  map.operands.assign(count, dims);
  map.results = {dims};
  return AddRule(std::move(map));
}

OpId FlatGraph::Add(Op op) {
  bool identity = op.kind == Op::kConstraint || op.kind == Op::kBarrier;
  if (identity && !op.results.empty()) {  // Verify refuses it otherwise
    op.elementwise = true;
    op.rule = IdentityRule(values[op.results[0]].shape, 1);
  }
  if (op.elementwise) op.first = Direction::kBoth;
  return ops.Add(std::move(op));
}

OpId FlatGraph::AddEdge(Edge&& edge, ValueId owner, RegionId region, RuleId rule) {
  if (rule == RuleId::kNone)
    rule = IdentityRule(values[owner].shape, static_cast<int>(edge.sources.size()));
  const OpId id = ops.next_id();
  ops.resize(ops.size() + 1);
  Op& op = ops[id];
  op.kind = Op::kEdge;
  op.rule = rule;
  op.results = {owner};
  op.first = Direction::kBoth;
  op.region = region;
  op.edge = edges.Add(std::move(edge));
  return id;
}

IdVector<ValueId, ValueId> OwnersOf(const FlatGraph& graph) {
  IdVector<ValueId, ValueId> owners;
  owners.reserve(graph.values.size());
  for (ValueId v : graph.values.ids()) owners.Add(v);
  for (const Op& op : graph.ops)
    if (op.kind == Op::kEdge)
      for (ValueId v : graph.edges[op.edge].other_targets) owners[v] = op.results[0];
  return owners;
}

IdVector<ValueId, OpId> DefiningOps(const FlatGraph& graph) {
  IdVector<ValueId, OpId> makers(graph.values.size(), kNoOp);
  for (OpId id : graph.ops.ids())
    for (ValueId v : graph.ops[id].results) makers[v] = id;
  return makers;
}

}  // namespace tessera::propagation::engine
