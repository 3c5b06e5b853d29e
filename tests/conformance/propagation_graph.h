// A case of the propagation tables as the graph that propagation works on.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "case.h"
#include "propagation/graph.h"
#include "propagation_ops.h"

namespace tessera::conformance {

// An instruction with our rule and the recorded rule.
struct RuleOfInstruction {
  std::string name, op;
  sharding::DimMap ours;
  std::string recorded;  // empty: none
};

struct CaseGraph {
  propagation::engine::FlatGraph graph;
  const sharding::MeshDef* mesh = nullptr;
  std::map<std::string, propagation::ValueId> values;
  std::vector<std::string> args;
  std::vector<propagation::ValueId> returned;
  std::map<propagation::OpId, std::string> users;  // the name of an op's first result; "return"
  // The value that the function returns, by the name of the call's result. Shardy finally gives the
  // call the sharding of this value, but other dims may be open.
  std::map<std::string, propagation::ValueId> callee_results;
  std::vector<RuleOfInstruction> rules;
  // By the name of a shard_map: the ids of its operands' edges in FlatGraph::edges, and their
  // owners.
  struct Inward {
    propagation::engine::EdgeId edge;
    propagation::ValueId argument;
  };
  std::map<std::string, std::vector<Inward>> shard_maps;
};

// Whose rules the ops of a graph have.
enum class Rules { kRecorded, kOurs };

// Throws Unsupported for an op that is not known, and the errors of parsing.
CaseGraph BuildGraph(const Case& c, Rules rules);
// As BuildGraph, for the program that the library's functions trace. The names are those in the
// outermost function, and there are no `rules`.
CaseGraph FrontendGraph(const Case& c);

}  // namespace tessera::conformance
