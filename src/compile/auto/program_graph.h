// The graph of a program with its regions, as propagation reads it.
#pragma once
#include <utility>
#include <vector>

#include "base/ids.h"
#include "ir/program.h"
#include "propagation/graph.h"

namespace tessera::compile {

struct ProgramGraph {
  propagation::engine::FlatGraph graph;
  // The origin of each op of the graph, as it was built.
  struct OpInfo {
    const ir::Instruction* instruction = nullptr;  // null: the end of a region, a data-flow edge
    bool ends_region = false;
    const ir::Instruction* edge_of = nullptr;  // the loop or branch of a data-flow edge
    propagation::RegionId region = {};         // that the instruction is in
  };
  base::IdVector<propagation::OpId, OpInfo> ops;
  // Per region of the graph; entry 0 is the program itself.
  struct RegionInfo {
    const ir::Program* program = nullptr;
    // Per value of the program. An input of a branch is the value outside.
    base::IdVector<ir::ValueId, propagation::ValueId> values;
    propagation::RegionId parent = propagation::engine::kNoRegion;
    int32_t number = 0;                                 // among the regions of its op
    propagation::OpId op = propagation::engine::kNoOp;  // as it was built
    // The regions of its instructions, in their order.
    std::vector<propagation::RegionId> inner = {};
  };
  base::IdVector<propagation::RegionId, RegionInfo> regions;
  // A value that enters or leaves a region: the use that passes it, and the owner of its
  // data-flow edge.
  struct RegionBorder {
    propagation::engine::OperandUse use;
    propagation::ValueId owner = propagation::engine::kNoValue;
    bool stacked = false;        // the owner is a slice of the used value, or
    bool stacked_owner = false;  // the used value is a slice of the owner
  };
  std::vector<RegionBorder> borders;
  // Given shardings of the results. A closed dim is closed at the program's border as well, where
  // FlatGraph::returns leaves all dims open.
  std::vector<propagation::engine::MaybeSharding> results;
};

// Traits of an op that propagation reads in addition to its DimMap.
struct OpTraits {
  bool constant, elementwise, foldable, expands;
  propagation::Direction first;
};
OpTraits TraitsOf(const ir::OpDef& op, ir::Types operands, ir::Types results);

// Whether the instruction runs one of its regions, once. Its operands after the first one are the
// inputs of the regions.
bool IsBranch(const ir::Instruction& i);

// Puts an instruction's operands in the order that they have in the graph, or back.
template <class Operands>
void ReorderForTies(const ir::Instruction& i, Operands& operands) {
  if (i.op->swaps_last) std::swap(operands.back(), operands[operands.size() - 2]);
}

// Explicit axes that a type names are the major axes of their dim. A value is never sharded over
// Explicit axes that its type does not name. Values of the program keep their ids.
ProgramGraph GraphOf(const ir::Program& program);

}  // namespace tessera::compile
