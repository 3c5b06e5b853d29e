// Runs a whole propagation: prepares the graph, runs the layers, and collects the result.
#include "propagation/propagate.h"

#include <algorithm>

#include "propagation/constants.h"
#include "propagation/constraints.h"
#include "propagation/groups.h"
#include "propagation/manual.h"
#include "propagation/priorities.h"
#include "propagation/rewrite.h"
#include "propagation/verify.h"

namespace tessera::propagation::engine {
namespace {

void DropPriorities(MaybeSharding& s) {
  if (!s) return;
  for (sharding::DimAxes& d : s->dims) d.priority = -1;
}

// Gives the owners of edges the shardings that the borders of their regions state.
void StartEdges(FlatGraph& graph) {
  for (const Op& op : graph.ops) {
    if (op.kind != Op::kEdge) continue;
    const Edge& edge = graph.edges[op.edge];
    if (!edge.outer) continue;
    graph.values[op.results[0]].sharding =
        edge.inward ? WithoutAxes(*edge.outer, edge.manual) : *edge.outer;
  }
}

void Run(State& state, const EngineOptions& options, absl::Span<const Round> rounds) {
  Round both = [](const Op&, const sharding::Factor&, bool) { return Direction::kBoth; };
  switch (options.stop_after) {
    case Stage::kBasic:
      return FixPoint(state, Stage::kBasic).Run({&both, 1});
    case Stage::kAggressive:
      return FixPoint(state, Stage::kAggressive).Run({&both, 1});
    case Stage::kOpPriority:
      return RunOpPriorities(state, rounds);
    case Stage::kUserPriority:
      return RunUserPriorities(state, rounds);
  }
}

}  // namespace

EngineResult Propagate(FlatGraph graph, const EngineOptions& options) {
  Verify(graph, options.names);
  EngineResult result;
  if (options.record) {
    EngineOptions again = options;
    again.record = false;
    again.names = nullptr;
    result.input =
        std::make_shared<const EngineResult::Input>(EngineResult::Input{graph, std::move(again)});
  }
  for (OpId id : graph.ops.ids()) graph.ops[id].origin = id;
  if (options.import) SplitConstants(graph, result.copies);
  StartEdges(graph);
  if (options.import) {
    OrderUses(graph);
    ApplyConstraints(graph);
    JoinGroups(graph, result.warnings);
  }
  if (options.stop_after != Stage::kUserPriority) {
    for (FlatValue& v : graph.values) DropPriorities(v.sharding);
    for (MaybeSharding& r : graph.returns) DropPriorities(r);
  }
  State state(graph, options.record);
  std::vector<Round> rounds = options.rounds.empty() ? DefaultRounds() : options.rounds;
  Run(state, options, rounds);
  result.shardings = state.shardings().list();
  result.of_value.reserve(graph.values.size());
  for (ValueId v : graph.values.ids()) result.of_value.Add(state.Get(v));
  for (const State::Return& r : state.returns()) {
    const TensorSharding* s = state.shardings()[r.sharding];
    result.returns.push_back(s ? std::optional(*s) : std::nullopt);
  }
  result.changes = std::move(state.changes);
  result.graph = std::move(graph);
  return result;
}

}  // namespace tessera::propagation::engine
