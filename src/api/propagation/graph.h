// The implementation of the public Graph.
#pragma once
#include <absl/container/flat_hash_map.h>

#include "propagation/graph.h"

namespace tessera::propagation {

using base::Number;

struct Graph::Impl {
  explicit Impl(const sharding::MeshDef* def) : mesh(def) {}

  struct NameAndPlace {
    std::string name, where;
  };
  const sharding::MeshDef* mesh;  // without modes
  engine::FlatGraph graph;
  // Per region: its manual axes and those of the regions around it.
  base::IdVector<RegionId, engine::AxisList> manual{{}};
  base::IdVector<ValueId, NameAndPlace> values;
  base::IdVector<OpId, NameAndPlace> ops;  // edges count as ops
  base::IdVector<OpId, int> priorities;    // per op; -1 if it has none
  // Caches of parsed texts, because graphs repeat few texts many times.
  absl::flat_hash_map<std::string, engine::TensorSharding> shardings;
  absl::flat_hash_map<std::string, engine::RuleId> rules;  // by text and shapes
};

// Throw RuntimeError for ids that are not in the graph.
void CheckValues(const Graph::Impl& impl, const char* op, const std::vector<ValueId>& values,
                 const std::string& where);
void CheckRegion(const Graph::Impl& impl, const char* op, RegionId region,
                 const std::string& where);
// Parses a sharding. Throws RuntimeError that shows `where`, then the position in the text.
const engine::TensorSharding& ShardingOf(Graph::Impl& impl, const std::string& text,
                                         const std::string& where);
std::string WhereOf(const std::string& given, Loc loc);

}  // namespace tessera::propagation
