// The steps of choosing a partition: the facts about the factors, then the candidates, then the
// partition and the cost of each (partition.cc).
#pragma once
#include <vector>

#include "sharding/partition.h"

namespace tessera::sharding {

struct FactorUse {
  bool in_operands = false, in_results = false;
  bool exchanged = false;  // a permute factor along which devices may exchange elements
  bool alone = true;       // never one of several factors of a dim
  bool may_shard = false;
  bool may_pad = false;  // its shards may be padded
};

// The op whose partition is chosen.
struct PartitionCase {
  PartitionCase(const DimMap& map, const std::vector<PartitionTensor>& operands,
                const std::vector<PartitionTensor>& results);

  const DimMap& map;
  const std::vector<PartitionTensor>&operands, &results;
  const MeshDef* mesh = nullptr;
  std::vector<FactorUse> factors;
};

struct Candidates {
  std::vector<FactorAxes> choices;  // empty if no tensor is sharded
  // The axes that shard a factor alike in all operands that have it.
  AxisList agreed;
};
Candidates FindCandidates(const PartitionCase& c);

// Clears the axes of factors that some tensor cannot hold contiguously, until every tensor can hold
// all of them.
void DropUnholdableAxes(const DimMap& map, FactorAxes& axes);

}  // namespace tessera::sharding
