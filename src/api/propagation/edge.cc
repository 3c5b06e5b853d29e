// The regions of the public graph, and the edges that cross their borders.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/propagation/graph.h"
#include "base/error.h"
#include "propagation/refuse.h"

namespace tessera::propagation {
namespace {

using engine::AxisList;
using engine::AxisPart;
using engine::TensorSharding;

engine::OperandUse CheckedUse(const Graph::Impl& impl, Use use, const std::string& where) {
  const auto& ops = impl.graph.ops;
  bool known = ops.Has(use.op) && use.operand >= 0 &&
               use.operand < static_cast<int>(ops[use.op].operands.size());
  if (!known)
    Refuse("edge", 14, where,
           fmt::format("there is no operand {} of op {}", use.operand, Number(use.op)));
  return {use.op, use.operand};
}

// Throws RuntimeError unless the manual axes come first in each dim, and divide the outer size into
// parts of the inner size.
void CheckOuter(const Graph::Impl& impl, const engine::Edge& edge, const base::Shape& inside,
                const base::Shape& outside, const std::string& where) {
  if (edge.outer->dims.size() != outside.size() || inside.size() != outside.size())
    Refuse("edge", 2, where,
           fmt::format("the outer sharding has rank {}, but the values have ranks {} and {}",
                       edge.outer->dims.size(), outside.size(), inside.size()));
  for (size_t d = 0; d < outside.size(); ++d) {
    int64_t parts = 1;
    bool led = true;
    for (AxisPart a : edge.outer->dims[d].axes) {
      if (!sharding::OverlapsAny(edge.manual, a)) {
        led = false;
        continue;
      }
      if (!led)
        Refuse("edge", 28, where,
               fmt::format("the manual axis {} must come first in dim {}", AxisText(*impl.mesh, a),
                           d));
      parts *= a.size;
    }
    if (inside[d] * parts != outside[d])
      Refuse("edge", 29, where,
             fmt::format(
                 "dim {} has {} elements inside and {} outside, which does not fit its {} parts", d,
                 inside[d], outside[d], parts));
  }
}

// Sets the direction in which an edge crosses the border of a manual region, and the manual axes.
void SetBorder(const Graph::Impl& impl, engine::Edge& edge, ValueId owner,
               const std::string& where) {
  const engine::FlatGraph& graph = impl.graph;
  const engine::Op& source = graph.ops[edge.sources[0].op];
  const RegionId from = source.region, to = graph.values[owner].region;
  edge.inward = graph.regions[to].parent == from;
  bool outward = graph.regions[from].parent == to;
  if (edge.sources.size() != 1 || edge.inward == outward)
    Refuse("edge", 30, where,
           "only an edge with one source, between a region and the one around it, has an outer "
           "sharding");
  const RegionId inner = edge.inward ? to : from, around = edge.inward ? from : to;
  edge.manual = Difference(impl.manual[inner], impl.manual[around]);
  const base::Shape &source_shape = graph.values[source.operands[edge.sources[0].index]].shape,
                    &owner_shape = graph.values[owner].shape;
  CheckOuter(impl, edge, edge.inward ? owner_shape : source_shape,
             edge.inward ? source_shape : owner_shape, where);
  // The value is replicated over manual axes that the outer sharding does not name, and stays so.
  AxisList named = edge.outer->unreduced;
  for (const sharding::DimAxes& d : edge.outer->dims)
    named.insert(named.end(), d.axes.begin(), d.axes.end());
  named.insert(named.end(), edge.outer->replicated.begin(), edge.outer->replicated.end());
  for (AxisPart a : Difference(edge.manual, named)) edge.outer->replicated.push_back(a);
  SortAndMerge(edge.outer->replicated);
}

}  // namespace

RegionId Graph::region(OpId op, std::vector<std::string> manual, Loc loc) {
  std::string where = base::Where(loc);
  const auto& ops = impl_->graph.ops;
  if (!ops.Has(op)) Refuse("region", 14, where, fmt::format("there is no op {}", Number(op)));
  const RegionId parent = ops[op].region;
  AxisList axes = impl_->manual[parent];
  for (const std::string& name : manual) {
    int axis = impl_->mesh->Find(name);
    if (axis < 0) Refuse("region", 25, where, fmt::format("unknown axis name: \"{}\"", name));
    AxisPart a = sharding::WholeAxis(*impl_->mesh, axis);
    if (sharding::OverlapsAny(axes, a))
      Refuse("region", 26, where, fmt::format("\"{}\" is already manual", name));
    if (a.size > 1) axes.push_back(a);
  }
  SortAndMerge(axes);
  impl_->manual.Add(std::move(axes));
  return impl_->graph.regions.Add({op, parent});
}

void Graph::edge(EdgeOptions options, Loc loc) {
  std::string where = WhereOf(options.where, loc);
  CheckValues(*impl_, "edge", options.targets, where);
  CheckValues(*impl_, "edge", {options.owner}, where);
  engine::Edge edge;
  for (Use use : options.sources) edge.sources.push_back(CheckedUse(*impl_, use, where));
  if (!options.outer.empty()) {
    edge.outer = ShardingOf(*impl_, options.outer, where);
    if (edge.sources.empty()) Refuse("edge", 11, where, "the edge has no source");
    SetBorder(*impl_, edge, options.owner, where);
  }
  // The edges of a loop define its results, so the op no longer does. All targets of an edge have
  // one sharding.
  auto targets = std::move(options.targets);
  targets.push_back(options.owner);
  for (engine::Op& op : impl_->graph.ops) {
    if (op.kind != engine::Op::kNone) continue;
    auto taken = [&](ValueId v) { return absl::c_linear_search(targets, v); };
    op.results.erase(std::remove_if(op.results.begin(), op.results.end(), taken), op.results.end());
  }
  for (ValueId v : targets)
    if (v != options.owner) edge.other_targets.push_back(v);
  const RegionId region = impl_->graph.values[options.owner].region;
  impl_->graph.AddEdge(std::move(edge), options.owner, region);
  impl_->ops.Add(
      {"the data-flow edge to " + impl_->values[options.owner].name, std::move(options.where)});
  impl_->priorities.Add(-1);
}

}  // namespace tessera::propagation
