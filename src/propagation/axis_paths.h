// Follows the axes of values back to their origins, through the changes of a recorded propagation.
#pragma once
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "propagation/factors.h"
#include "propagation/history.h"

namespace tessera::propagation::engine {

// How an axis came to a dim of a value.
struct AxisPath {
  std::vector<std::string> steps;  // ops that carried it, the first one first
  std::vector<ValueId> values;     // values that had it before, the last one first
  std::string given;               // the origin, as text
  int32_t priority = 0;
  OpId constraint = kNoOp;  // that gave it, if it was one
  size_t dim = 0;           // of the constraint

  std::string OriginText() const;
};

// Returns the name of an op, and its line: "dot_general at model.cc:12".
std::string OpText(const History& history, const Naming& names, OpId op);

class AxisPaths {
 public:
  // Both must outlive this.
  AxisPaths(const History& history, const Naming& names) : history_(history), names_(names) {}

  // Returns how dim d of v got axis a, which it has at the end. The steps in the middle of a long
  // path are left out.
  AxisPath Find(ValueId v, size_t d, AxisPart a);
  // Returns a path without steps: the origin of axis a, which dim d of v had from the start.
  AxisPath Start(ValueId v, size_t d, AxisPart a) const;

 private:
  enum class StepId : int32_t { kNone = -1 };
  enum class OriginId : int32_t {};

  // The tensor from which an op carried an axis.
  struct Source {
    ValueId value;
    size_t dim;
    const char* direction;
  };
  // One step of a path, and its continuation towards the origin. Paths share their beginnings, so
  // that explaining all values follows each step once.
  struct PathStep {
    size_t change, dim;  // the change that brought the axis, and the dim
    Source source;
    StepId before = StepId::kNone;
    OriginId origin = {};
    size_t length = 1;              // of the path up to this step
    std::vector<StepId> head = {};  // the path's first steps
  };

  std::pair<StepId, OriginId> Follow(ValueId v, size_t d, AxisPart a);
  StepId Add(PathStep step, AxisPart a);
  AxisPath OriginOf(ValueId v, size_t d, AxisPart a, std::optional<size_t> change) const;
  std::optional<Source> SourceOf(size_t change, size_t d, AxisPart a) const;
  void Append(StepId id, AxisPath& path) const;
  std::string RoundText(const Change& change) const;

  const History& history_;
  const Naming& names_;
  IdVector<StepId, PathStep> steps_;
  IdVector<OriginId, AxisPath> origins_;
  absl::flat_hash_map<std::tuple<size_t, size_t, AxisPart>, StepId> step_of_;  // by change and dim
};

}  // namespace tessera::propagation::engine
