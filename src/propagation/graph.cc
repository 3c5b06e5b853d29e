// Adds values, ops, edges and rules to a graph. Equal rules are stored once.
#include "propagation/graph.h"

#include <absl/hash/hash.h>

#include "base/at.h"

namespace tessera::propagation::engine {
namespace {

bool Same(const DimMap& a, const DimMap& b) {
  return a.factors == b.factors && a.operands == b.operands && a.results == b.results;
}

}  // namespace

ValueId FlatGraph::AddValue(Shape shape, MaybeSharding sharding, int32_t region) {
  values.push_back({std::move(shape), std::move(sharding), region});
  return static_cast<ValueId>(values.size()) - 1;
}

RuleId FlatGraph::AddRule(DimMap map) {
  Rule rule;
  map = sharding::Completed(std::move(map));
  std::vector<RuleId>& known = rule_ids_[absl::HashOf(map.factors, map.operands, map.results)];
  for (RuleId id : known)
    if (Same(base::At(rules, id).map, map)) return id;
  auto size = [&](const std::vector<sharding::DimFactors>& tensors) {
    for (const sharding::DimFactors& dims : tensors) {
      double product = 1;
      for (const sharding::FactorList& dim : dims)
        for (int32_t f : dim) product *= static_cast<double>(base::At(map.factors, f).size);
      rule.sizes.push_back(product);
    }
  };
  size(map.operands);
  size(map.results);
  rule.map = std::move(map);
  rules.push_back(std::move(rule));
  known.push_back(static_cast<RuleId>(rules.size()) - 1);
  return known.back();
}

RuleId FlatGraph::IdentityRule(const Shape& shape, int count) {
  DimMap map;
  sharding::DimFactors dims;
  for (int64_t n : shape) dims.push_back({map.AddFactor({.size = n})});
  map.operands.assign(base::Size(count), dims);
  map.results = {dims};
  return AddRule(std::move(map));
}

OpId FlatGraph::Add(Op op) {
  bool identity = op.kind == Op::kConstraint || op.kind == Op::kBarrier;
  if (identity && !op.results.empty()) {  // Verify refuses it otherwise
    op.elementwise = true;
    op.rule = IdentityRule(base::At(values, op.results[0]).shape, 1);
  }
  if (op.elementwise) op.first = Direction::kBoth;
  ops.push_back(std::move(op));
  return static_cast<OpId>(ops.size()) - 1;
}

OpId FlatGraph::AddEdge(Edge&& edge, ValueId owner, int32_t region, RuleId rule) {
  if (rule < 0)
    rule = IdentityRule(base::At(values, owner).shape, static_cast<int>(edge.sources.size()));
  Op& op = ops.emplace_back();
  op.kind = Op::kEdge;
  op.rule = rule;
  op.results = {owner};
  op.first = Direction::kBoth;
  op.region = region;
  op.edge = static_cast<int32_t>(edges.size());
  edges.push_back(std::move(edge));
  return static_cast<OpId>(ops.size()) - 1;
}

}  // namespace tessera::propagation::engine
