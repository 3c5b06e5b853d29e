// The graph that propagation works on, of a program with its regions.
#pragma once
#include <utility>
#include <vector>

#include "base/ids.h"
#include "ir/program.h"
#include "propagation/graph.h"

namespace tessera::compile {

struct ProgramGraph {
  propagation::engine::FlatGraph graph;
  // What stands behind each op of the graph, as it was built.
  struct OpInfo {
    const ir::Instruction* instruction = nullptr;  // null: the end of a region, a data-flow edge
    bool ends_region = false;
    const ir::Instruction* edge_of = nullptr;  // of a data-flow edge: the loop or branch
    propagation::RegionId region = {};         // that the instruction is in
  };
  base::IdVector<propagation::OpId, OpInfo> ops;
  // Per region of the graph; entry 0 is the program itself.
  struct RegionInfo {
    const ir::Program* program = nullptr;
    // Per value of the program. The inputs of a branch are the values of the outside themselves.
    base::IdVector<ir::ValueId, propagation::ValueId> values;
    propagation::RegionId parent = propagation::engine::kNoRegion;
    int32_t number = 0;                                 // among the regions of its op
    propagation::OpId op = propagation::engine::kNoOp;  // as it was built
    // The regions of its instructions, in their order.
    std::vector<propagation::RegionId> inner = {};
  };
  base::IdVector<propagation::RegionId, RegionInfo> regions;
  // What the border of a region asks of a value that enters or leaves it: the owner of its edge.
  struct RegionBorder {
    propagation::engine::OperandUse use;
    propagation::ValueId owner = propagation::engine::kNoValue;
    bool stacked = false;        // the owner is a slice of the used value, or
    bool stacked_owner = false;  // the used value is a slice of the owner
  };
  std::vector<RegionBorder> borders;
  // What the values that the program returns are given. A dim that this closes is closed at the
  // program's border as well, where FlatGraph::returns leaves all dims open.
  std::vector<propagation::engine::MaybeSharding> results;
};

// What propagation wants to know of an op beside its dimension map.
struct OpTraits {
  bool constant, elementwise, foldable, expands;
  propagation::Direction first;
};
OpTraits TraitsOf(const ir::OpDef& op, ir::Types operands, ir::Types results);

// Whether the instruction runs one of its regions, once. Its operands after the first one are what
// the regions use of the outside.
bool IsBranch(const ir::Instruction& i);

// Puts an instruction's operands in the order that they have in the graph, or back.
template <class Operands>
void ReorderForTies(const ir::Instruction& i, Operands& operands) {
  if (i.op->swaps_last) std::swap(operands.back(), operands[operands.size() - 2]);
}

// Explicit axes that a type names are the beginning of each dim, and those it does not name stay
// out of the value. The program's own values keep their ids.
ProgramGraph GraphOf(const ir::Program& program);

}  // namespace tessera::compile
