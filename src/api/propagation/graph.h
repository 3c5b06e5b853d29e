// The implementation of the public Graph.
#pragma once
#include <absl/container/flat_hash_map.h>

#include "propagation/graph.h"

namespace tessera::propagation {

struct Graph::Impl {
  explicit Impl(const sharding::MeshDef* def) : mesh(def) {}

  struct NameAndPlace {
    std::string name, where;
  };
  const sharding::MeshDef* mesh;  // without modes
  engine::FlatGraph graph;
  // By region of the graph: the axes that are manual in it or in a region around it.
  std::vector<engine::AxisList> manual = std::vector<engine::AxisList>(1);
  std::vector<NameAndPlace> values, ops;  // edges are ops as well
  std::vector<int> priorities;            // by op; -1: none
  // Texts that were read before: graphs repeat few texts many times.
  absl::flat_hash_map<std::string, engine::TensorSharding> shardings;
  absl::flat_hash_map<std::string, engine::RuleId> rules;  // by text and shapes
};

inline int32_t Number(ValueId v) { return static_cast<int32_t>(v); }
inline int32_t Number(OpId op) { return static_cast<int32_t>(op); }
inline int32_t Number(RegionId region) { return static_cast<int32_t>(region); }

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
