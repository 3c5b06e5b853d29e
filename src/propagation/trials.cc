// Runs propagation again with edited constraints, at most a fixed number of times.
#include "propagation/trials.h"

#include <absl/algorithm/container.h>

#include "propagation/history.h"

namespace tessera::propagation::engine {
namespace {

constexpr size_t kMostTrials = 32;

}  // namespace

Trials::Answer Trials::Gets(ValueId v, size_t d, AxisPart x, std::vector<Edit> edits) {
  absl::c_sort(edits);
  auto tried = tried_.find(edits);
  if (tried == tried_.end()) {
    if (!input_ || tried_.size() == kMostTrials) return kUnknown;
    Outcome outcome = Propagated(edits);
    tried = tried_.emplace(std::move(edits), std::move(outcome)).first;
  }
  const auto& [shardings, of_value] = tried->second;
  if (!of_value.Has(v)) return kUnknown;
  const ShardingId s = of_value[v];
  return s != ShardingId::kNone && Holds(shardings[s].dims[d].axes, x) ? kYes : kNo;
}

Trials::Outcome Trials::Propagated(const std::vector<Edit>& edits) const {
  FlatGraph graph = input_->graph;
  for (const Edit& edit : edits) {
    sharding::DimAxes& dim = graph.values[edit.value].sharding->dims[edit.dim];
    if (edit.priority == Edit::kOpen)
      dim.open = true;
    else
      dim.priority = edit.priority;
  }
  EngineResult result = Propagate(std::move(graph), input_->options);
  return {std::move(result.shardings), std::move(result.of_value)};
}

}  // namespace tessera::propagation::engine
