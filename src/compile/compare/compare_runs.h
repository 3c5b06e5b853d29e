// Compares the values of two runs that watches kept.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "compile/checks/value_watch.h"
#include "tessera/first_difference.h"

namespace tessera::compile {

// The values of a run, in the order in which it made them.
struct RunValues {
  std::vector<WatchedValue> values;
  std::vector<MadeValue> made;
};

// The first values that differ: the positions in RunValues::made.
struct FirstPair {
  std::optional<std::pair<size_t, size_t>> differs;
  double excess = 0;  // how many times the tolerance the fingerprints differ by
  int64_t compared = 0, unmatched = 0;
};

// Finds the first value that two runs make differently. Values are matched by op, line and shape;
// those without a partner by op and shape; and then results of programs by their numbers.
// The search begins at `from` in RunValues::made of a.
FirstPair FindFirst(const RunValues& a, const RunValues& b, const DifferenceOptions& options,
                    size_t from = 0);

// Returns the moment at which a run made a value.
WatchTarget TargetOf(const RunValues& run, size_t made);

// Returns the difference of two values, as far as fingerprints tell.
FirstDifference Described(const RunValues& a, size_t made_a, const RunValues& b, size_t made_b);
// Finds the first element that differs among the values that both watches kept whole, and sets the
// fields that name it. Changes nothing and returns false if no element differs beyond the
// tolerance.
bool Locate(const ValueWatch& a, const ValueWatch& b, const DifferenceOptions& options,
            FirstDifference& difference);

}  // namespace tessera::compile
