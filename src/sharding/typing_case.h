// The steps of the typing rule. Each returns the conflict that stops it, or fills in the data that
// the next steps use. See docs/typing.md.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sharding/explicit_rule.h"

namespace tessera::sharding {

// One application of the rule.
struct TypingCase {
  const DimMap& map;
  std::vector<RuleOperand> operands;
  const Shapes& results;
  const TensorSharding* out;  // the out_sharding; null if there is none
  const AxisList& mapped;
  const MeshDef* mesh = nullptr;  // of all operands; null if none has one
};

// The operands' axes on one factor.
struct JoinedFactor {
  AxisList axes;       // of the first operand that shards it
  int32_t owner = -1;  // that operand
  int32_t clash = -1;  // an operand that shards it over other axes
  int users = 0;       // operands that shard it
  bool in_results = false;
};
using FactorJoin = std::vector<JoinedFactor>;

// Joins the operands' axes factor by factor, and checks each factor by its kind (C4 to C6).
std::optional<Conflict> JoinOperands(const TypingCase& c, FactorJoin& join);

// Derives the unreduced and reduced axes of the results from those of the operands (C8 and C9).
// The results have their dims already.
std::optional<Conflict> SetReductions(const TypingCase& c, const FactorJoin& join,
                                      std::vector<TensorSharding>& results);

// The operand dims with one factor.
struct FactorHolders {
  int count = 0;
  int32_t unsharded = -1;  // an operand that has the factor unsharded
};
FactorHolders HoldersOf(const TypingCase& c, int32_t factor);

// Returns the text of axes in messages: "nothing", x or (x,y).
std::string AxesOrNothing(const MeshDef* mesh, const AxisList& axes);

}  // namespace tessera::sharding
