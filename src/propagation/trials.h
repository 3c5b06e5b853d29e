// Tries edits of constraints by propagating again.
#pragma once
#include <map>
#include <vector>

#include "propagation/propagate.h"

namespace tessera::propagation::engine {

// An edit of a constraint: dim `dim` of its result `value` gets a priority, or is opened.
struct Edit {
  static constexpr int32_t kOpen = -1;
  ValueId value;
  size_t dim;
  int32_t priority;                                             // kOpen: opens the dim instead
  friend auto operator<=>(const Edit&, const Edit&) = default;  // NOLINT(modernize-use-nullptr)
};

// The outcomes of edits. Equal edits are propagated once, and their number is limited, so that many
// explanations of one graph stay linear in its size.
class Trials {
 public:
  // The result must have been recorded, and must outlive this.
  explicit Trials(const EngineResult& result) : input_(result.input.get()) {}

  enum Answer : uint8_t { kNo, kYes, kUnknown };
  // Whether dim d of v has axis x after the edits.
  Answer Gets(ValueId v, size_t d, AxisPart x, std::vector<Edit> edits);

 private:
  struct Outcome {
    IdVector<ShardingId, TensorSharding> shardings;
    IdVector<ValueId, ShardingId> of_value;
  };
  Outcome Propagated(const std::vector<Edit>& edits) const;

  const EngineResult::Input* input_;
  std::map<std::vector<Edit>, Outcome> tried_;
};

}  // namespace tessera::propagation::engine
