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
  // The axes that are manual in a region or in one around it.
  base::IdVector<RegionId, engine::AxisList> manual{{}};
  base::IdVector<ValueId, NameAndPlace> values;
  base::IdVector<OpId, NameAndPlace> ops;  // edges are ops as well
  base::IdVector<OpId, int> priorities;    // -1: none
  // Texts that were read before: graphs repeat few texts many times.
  absl::flat_hash_map<std::string, engine::TensorSharding> shardings;
  absl::flat_hash_map<std::string, engine::RuleId> rules;  // by text and shapes
};

// Refuse ids that the graph does not have.
void CheckValues(const Graph::Impl& impl, const char* op, const std::vector<ValueId>& values,
                 const std::string& where);
void CheckRegion(const Graph::Impl& impl, const char* op, RegionId region,
                 const std::string& where);
// Returns the sharding of a text. Throws RuntimeError that names `where`, then the
// place in the text.
const engine::TensorSharding& ShardingOf(Graph::Impl& impl, const std::string& text,
                                         const std::string& where);
std::string WhereOf(const std::string& given, Loc loc);

}  // namespace tessera::propagation
