// The typing rule of all ops: the shardings of the results, or why they are ambiguous.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sharding/dim_map.h"

namespace tessera::sharding {

struct RuleOperand {
  const TensorSharding* sharding;  // its dims name Explicit axes, its sets also Manual ones
  const Shape* shape;
  bool floating = true;
};

// Why the rule refuses. A check means the same for every op.
struct Conflict {
  enum Check {
    kTwice = 3,      // a mesh axis would shard two dims of the result
    kDisagree = 4,   // operands shard one factor differently
    kAmbiguous = 5,  // a reduced dim is sharded: out_sharding must say how the result is sharded
    kWhole = 6,      // a dim is sharded that the op needs unsharded
    kUneven = 7,     // the axes do not divide the new size
    kUnreduced = 8,  // unreduced axes do not fit
    kReduced = 9,    // reduced axes do not fit
    kMesh = 10,      // operands are on different meshes
  } check;
  std::string reason;
  int32_t first = -1, second = -1;                    // the operands in conflict
  std::optional<TensorSharding> illegal_result = {};  // for kTwice
};

struct RuleResult {
  std::vector<TensorSharding> results;
  std::optional<Conflict> conflict;
};

// Applies the rule; docs/typing.md goes through the cases. An operand without a mesh joins any
// mesh. `out_sharding` replaces the dims that the rule would derive, and silences their conflicts.
// Each of its unreduced axes must shard a reduce factor on all operands that have it, or be
// unreduced in an operand already. `mapped` is for the ops of one batch element of a mapped
// function: the axes over which the batch dim is laid out.
RuleResult ExplicitRule(const DimMap& map, const std::vector<RuleOperand>& operands,
                        const Shapes& results, const TensorSharding* out_sharding,
                        const AxisList& mapped = {});

}  // namespace tessera::sharding
