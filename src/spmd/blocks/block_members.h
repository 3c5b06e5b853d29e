// The instructions that run in blocks of one dim of a product, and the loops that they need.
#pragma once
#include "spmd/blocks/block_group.h"
#include "spmd/blocks/wide_values.h"

namespace tessera::spmd {

// Members are the instructions that define or read wide values, and elementwise instructions,
// reductions and the like between them that have the dim.
struct BlockMembers {
  int dim = kNoDim;                                        // of the product
  std::vector<InstructionId> order;                        // members in program order
  absl::flat_hash_map<InstructionId, DimOfCall> calls;     // of members
  base::IdVector<InstructionId, bool> is_member, is_core;  // core: defines or reads a wide value

  bool Sums(InstructionId i) const { return calls.at(i).sums; }
};

// Returns the members for blocks of dim `dim` of the product. Returns nothing if an instruction
// that reads a wide value cannot run in blocks of the dim.
std::optional<BlockMembers> FindMembers(ProductFacts& facts, const WideValues& wide, int dim);

// Whether the instruction defines a wide value that does not depend on a product, such as a mask.
// Every loop that reads the value rematerialises it.
bool IsLight(const ProductFacts& facts, const WideValues& wide, InstructionId i);

// A loop cannot read a value that is computed, outside of the loop, from its own results. Members
// of level 0 run in the first loop. Members that need the results of level 0 from outside of its
// loop run in the loop of level 1, etc.
struct BlockLevels {
  InstructionId first;           // the first member that is not light
  std::vector<int32_t> numbers;  // of all instructions from `first` to the last member
  int32_t last = 0;              // the highest level

  int32_t Of(InstructionId i) const {
    return i < first ? 0 : base::At(numbers, base::Number(i) - base::Number(first));
  }
};

// Returns the levels; none if there are too many. Drops members from which no member of their level
// computes a wide value.
std::optional<BlockLevels> AssignLevels(const ProductFacts& facts, const WideValues& wide,
                                        BlockMembers& members);

}  // namespace tessera::spmd
