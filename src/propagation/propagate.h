// Propagation over a graph, and its result.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "propagation/graph.h"

namespace tessera::propagation::engine {

// One round of op priorities: the direction in which a factor of an op may carry axes.
// `single_use`: no operand but scalars has another use. The directions of several rounds add up.
using Round =
    std::function<Direction(const Op& op, const sharding::Factor& factor, bool single_use)>;

struct EngineOptions {
  Stage stop_after = Stage::kUserPriority;
  std::vector<Round> rounds;  // empty: DefaultRounds()
  bool record = false;  // fill EngineResult::changes and EngineResult::input, for explanations
  bool import = true;   // split constants, apply constraints, join groups
  const Naming* names = nullptr;  // for errors; null: numbers
};

// The distinct shardings of a propagation, by number.
enum class ShardingId : int32_t { kNone = 0 };

// A change of one value's sharding.
struct Change {
  OpId op;        // the op that carried it; none: the turn of a user priority
  ValueId value;  // the changed value
  ShardingId before, after;
  int8_t round;      // number of the op priority round
  int32_t priority;  // the user priority
  Stage strategy;    // kBasic or kAggressive
};

struct EngineResult {
  FlatGraph graph;  // after import: with copies of constants, and with constraints applied
  IdVector<ShardingId, TensorSharding> shardings;  // kNone has an entry, which stands for none
  IdVector<ValueId, ShardingId> of_value;
  std::vector<MaybeSharding> returns;
  // The copy of a constant that an operand of the caller's op uses.
  struct ConstantCopy {
    ValueId original;
    OpId user;        // id in the caller's graph
    int32_t operand;  // of `user`
    ValueId copy;     // in `graph`
    ValueId made;     // the result of the user's own copy, if the user was copied; else none
  };
  std::vector<ConstantCopy> copies;
  std::vector<Change> changes;
  std::vector<std::string> warnings;
  // The graph and options that were propagated, for trying edits (EngineOptions::record).
  struct Input {
    FlatGraph graph;
    EngineOptions options;
  };
  std::shared_ptr<const Input> input;

  // Returns null if the value has no sharding.
  const TensorSharding* sharding(ValueId v) const {
    const ShardingId s = of_value[v];
    return s == ShardingId::kNone ? nullptr : &shardings[s];
  }
};

// Returns the sharding of every value. The ids of the caller's values keep their meaning in
// `EngineResult::graph`. Throws ShardingError for a graph that Verify refuses.
EngineResult Propagate(FlatGraph graph, const EngineOptions& options = {});

}  // namespace tessera::propagation::engine
