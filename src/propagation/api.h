// What stands behind the public Graph.
#pragma once
#include <absl/container/flat_hash_map.h>

#include "propagation/graph.h"

namespace tessera::propagation {

struct Graph::Impl {
  explicit Impl(const sharding::MeshDef* def) : mesh(def) {}

  struct Named {
    std::string name, where;
  };
  const sharding::MeshDef* mesh;  // without modes
  engine::Graph graph;
  std::vector<Named> values, ops;  // edges are ops as well
  std::vector<int> priorities;     // per op; -1: none
  // What was read before: graphs repeat few texts many times.
  absl::flat_hash_map<std::string, engine::TensorSharding> shardings;
  absl::flat_hash_map<std::string, engine::RuleId> rules;  // by text and shapes
};

}  // namespace tessera::propagation
