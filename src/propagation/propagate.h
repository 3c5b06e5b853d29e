// Propagation over a graph, and what it gives back.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "propagation/graph.h"

namespace tessera::propagation::engine {

// One round of op priorities: in which direction the factors of an op may carry axes. `single_use`:
// every operand that is not a scalar has no other use. Rounds add up.
using Round =
    std::function<Direction(const Op& op, const sharding::Factor& factor, bool single_use)>;

struct EngineOptions {
  Stage stop_after = Stage::kUserPriority;
  std::vector<Round> rounds;      // empty: DefaultRounds()
  bool record = false;            // EngineResult::changes and EngineResult::input, for explanations
  bool import = true;             // split constants, apply constraints, join groups
  const Naming* names = nullptr;  // for errors; null: ops and values are called by their numbers
};

// What changed one value's sharding.
struct Change {
  OpId op;                // that carried it; -1: a user priority, whose turn it was
  ValueId value;          // changed
  int32_t before, after;  // indices into EngineResult::shardings
  int8_t round;           // of op priorities
  int32_t priority;       // of user priorities
  Stage strategy;         // kBasic or kAggressive
};

struct EngineResult {
  FlatGraph graph;  // after import: with the copies of constants, and constraints applied
  std::vector<TensorSharding> shardings;  // the distinct ones; entry 0: none
  std::vector<int32_t> of_value;          // per value of `graph`: index into `shardings`
  std::vector<MaybeSharding> returns;
  // Which copy an operand of the caller's op got, where it is not the value itself.
  struct ConstantCopy {
    ValueId original;
    OpId user;        // id in the caller's graph
    int32_t operand;  // of `user`
    ValueId copy;     // in `graph`
    ValueId made;     // by `user`, where that is a copy itself: which one; else -1
  };
  std::vector<ConstantCopy> copies;
  std::vector<Change> changes;
  std::vector<std::string> warnings;
  // What was propagated and how, to try edits (EngineOptions::record).
  struct Input {
    FlatGraph graph;
    EngineOptions options;
  };
  std::shared_ptr<const Input> input;

  // Nothing if the value has no sharding.
  const TensorSharding* sharding(ValueId v) const {
    int32_t i = base::At(of_value, v);
    return i == 0 ? nullptr : &base::At(shardings, i);
  }
};

// Returns the sharding of every value. The ids of the caller's values keep their meaning in
// `EngineResult::graph`. Throws ShardingError for a graph that Verify refuses.
EngineResult Propagate(FlatGraph graph, const EngineOptions& options = {});

}  // namespace tessera::propagation::engine
