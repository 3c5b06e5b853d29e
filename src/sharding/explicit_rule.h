// The one typing rule: what sharding the results of an op have, or why it is ambiguous.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sharding/dim_map.h"

namespace tessera::sharding {

struct RuleOperand {
  const TensorSharding* sharding;  // names Explicit axes; its sets also Manual ones
  const Shape* shape;
  bool floating = true;
};

// Why a rule refuses. The checks are the same for every op, so that C3 means one thing.
struct Conflict {
  enum Check {
    kTwice = 3,      // a mesh axis would shard two dims of the result
    kDisagree = 4,   // operands shard one factor differently
    kAmbiguous = 5,  // sharded where it is reduced: out_sharding must say what comes out
    kWhole = 6,      // sharded where the op needs all of it
    kUneven = 7,     // the new size does not divide
    kUnreduced = 8,  // what is unreduced does not fit
    kReduced = 9,    // what is reduced does not fit
    kMesh = 10,      // operands of different meshes
  } check;
  std::string reason;
  int32_t first = -1, second = -1;               // the operands concerned
  std::optional<TensorSharding> illegal_result;  // of kTwice
};

struct RuleResult {
  std::vector<TensorSharding> results;
  std::optional<Conflict> conflict;
};

// Applies the rule. Operands without a mesh join any. `out_sharding`, if given, replaces what the
// dims would say and silences their conflicts; its unreduced axes must be those that shard a reduce
// factor on all operands that have it, or that an operand is unreduced over already. `mapped`: the
// operands are those of one lane of many, which lie over these axes.
// See docs/typing.md, case by case.
RuleResult ExplicitRule(const DimMap& map, const std::vector<RuleOperand>& operands,
                        const Shapes& results, const TensorSharding* out_sharding,
                        const AxisList& mapped = {});

}  // namespace tessera::sharding
